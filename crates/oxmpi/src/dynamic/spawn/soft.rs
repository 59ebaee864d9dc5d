//! The info key `soft`: acceptable numbers of processes.

use oxmpi_abi::constants::MPI_ERR_INFO_VALUE;
use oxmpi_abi::{Result, bail};

/// A set of numbers, described by a list of Fortran triplets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Soft {
    triplets: Vec<Triplet>,
}

/// `low`, `low + step`, … up to `high`, which is one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Triplet {
    low: i64,
    high: i64,
    step: i64,
}

impl Soft {
    pub fn parse(text: &str) -> Result<Soft> {
        let triplets = text.split(',').map(|triplet| Triplet::parse(triplet.trim(), text)).collect::<Result<_>>()?;
        Ok(Soft { triplets })
    }

    /// Only this number.
    pub fn just(number: usize) -> Soft {
        let number = number as i64;
        Soft { triplets: vec![Triplet { low: number, high: number, step: 1 }] }
    }

    /// The largest number of the set that is not above this one.
    pub fn largest(&self, most: usize) -> Option<usize> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let best = self.triplets.iter().filter_map(|triplet| triplet.largest(most)).max()?;
        usize::try_from(best).ok()
    }
}

impl Triplet {
    fn parse(text: &str, all: &str) -> Result<Triplet> {
        let numbers: Option<Vec<i64>> =
            text.split(':').map(|number| number.trim().parse::<i32>().ok().map(i64::from)).collect();
        let (first, last, step) = match numbers.as_deref() {
            Some(&[first]) => (first, first, 1),
            Some(&[first, last]) => (first, last, 1),
            Some(&[first, last, step]) => (first, last, step),
            _ => bail!(
                MPI_ERR_INFO_VALUE,
                "the value of the info key \"soft\" is \"{all}\", in which \"{text}\" is none of a, a:b and a:b:c"
            ),
        };
        if step == 0 || (last > first && step < 0) || (last < first && step > 0) {
            bail!(
                MPI_ERR_INFO_VALUE,
                "the value of the info key \"soft\" is \"{all}\", in which \"{text}\" does not lead from {first} to {last}"
            );
        }
        let end = first + (last - first) / step * step;
        Ok(Triplet { low: first.min(end), high: first.max(end), step: step.abs() })
    }

    fn largest(&self, most: i64) -> Option<i64> {
        let top = self.high.min(most);
        (top >= self.low).then(|| self.low + (top - self.low) / self.step * self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up_to(text: &str, most: usize) -> Vec<usize> {
        let soft = Soft::parse(text).unwrap();
        (0..=most).filter(|&n| soft.largest(n) == Some(n)).collect()
    }

    #[test]
    fn the_standards_examples() {
        assert_eq!(up_to("3:6", 9), [3, 4, 5, 6]);
        assert_eq!(up_to("0:4", 4), [0, 1, 2, 3, 4]);
        assert_eq!(up_to("1,2,4,8,16", 9), [1, 2, 4, 8]);
        assert_eq!(up_to("2:10000:2", 7), [2, 4, 6]);
        assert_eq!(up_to("2:10:2,7", 20), [2, 4, 6, 7, 8, 10]);
    }

    #[test]
    fn the_other_way_round_and_beyond_the_ends() {
        assert_eq!(up_to("9:2:-3", 20), [3, 6, 9]);
        assert_eq!(up_to("-5:4:3", 20), [1, 4]);
        assert_eq!(up_to(" 1 : 3 , 5 ", 20), [1, 2, 3, 5]);
        assert_eq!(Soft::parse("5:7").unwrap().largest(4), None);
        assert_eq!(Soft::parse("-3").unwrap().largest(4), None);
        assert_eq!(Soft::just(3).largest(usize::MAX), Some(3));
        assert_eq!(Soft::just(3).largest(2), None);
    }

    #[test]
    fn invalid_sets_are_refused() {
        for text in ["", "x", "1:", "1:2:3:4", "1,,2", "3:1", "1:3:-1", "1:3:0", "99999999999"] {
            assert_eq!(Soft::parse(text).unwrap_err().class(), MPI_ERR_INFO_VALUE, "{text}");
        }
    }
}
