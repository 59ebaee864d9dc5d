//! Balanced grids: a number as a product of so many factors that are as close to each other as
//! possible.
//!
//! "Close" means: the difference of the largest and the smallest is minimal; among those the
//! smallest is as large as possible, then the second smallest, and so on. So every question has one
//! answer.

use oxmpi_abi::constants::*;
use oxmpi_abi::{Result, bail};

/// Fills in the dimensions that are zero, so that the product of all is `nodes`; those that it sets do not increase.
pub fn fill(nodes: i32, dims: &mut [i32]) -> Result<()> {
    if nodes < 1 {
        bail!(MPI_ERR_ARG, "the number of nodes is {nodes}; a grid has at least one");
    }
    let mut rest = nodes;
    for (dimension, &length) in dims.iter().enumerate() {
        if length < 0 {
            bail!(MPI_ERR_DIMS, "dims[{dimension}] is {length}, which is negative");
        }
        if length > 0 {
            if rest % length != 0 {
                bail!(MPI_ERR_DIMS, "{nodes} nodes are not a multiple of the dimensions that are given, {dims:?}");
            }
            rest /= length;
        }
    }
    let free = dims.iter().filter(|&&length| length == 0).count();
    if free == 0 && rest != 1 {
        bail!(MPI_ERR_DIMS, "all dimensions are given, {dims:?}, and their product is not {nodes}");
    }
    let mut factors = balanced(rest as u32, free).into_iter();
    for length in dims.iter_mut().filter(|length| **length == 0) {
        *length = factors.next().unwrap_or(1) as i32;
    }
    Ok(())
}

/// At most `count` factors of a number, in nonincreasing order; those that are left out are ones.
fn balanced(number: u32, count: usize) -> Vec<u32> {
    let primes = prime_factors(number);
    // More factors than primes are ones anyway.
    let count = count.min(primes.len());
    let mut search = Search { divisors: divisors(&primes), chosen: Vec::new(), best: Vec::new(), spread: u64::MAX };
    if count > 0 {
        search.split(number, count);
    }
    search.best.reverse();
    search.best
}

/// Tries factors from the smallest to the largest, and large values first: of equally good answers,
/// the right one is found first.
struct Search {
    divisors: Vec<u32>,
    /// Factors so far, ascending.
    chosen: Vec<u32>,
    best: Vec<u32>,
    /// The difference of the best answer so far.
    spread: u64,
}

impl Search {
    /// Splits a number into `count` more factors, none smaller than those that are chosen.
    fn split(&mut self, number: u32, count: usize) {
        let least = self.chosen.last().copied().unwrap_or(1);
        if count == 1 {
            let spread = u64::from(number - self.chosen.first().copied().unwrap_or(number));
            if number >= least && spread < self.spread {
                self.spread = spread;
                self.best.clone_from(&self.chosen);
                self.best.push(number);
            }
            return;
        }
        let power = |base: u64, exponent: usize| base.saturating_pow(exponent as u32);
        let end = self.divisors.partition_point(|&d| power(d.into(), count) <= number.into());
        for place in (0..end).rev() {
            let divisor = self.divisors[place];
            if divisor < least {
                break;
            }
            if !number.is_multiple_of(divisor) {
                continue;
            }
            let (first, rest) = (self.chosen.first().copied().unwrap_or(divisor), number / divisor);
            // All other factors are at most this large, or the answer is no better; smaller
            // divisors leave more to them.
            let limit = u64::from(first).saturating_add(self.spread - 1);
            if power(limit, count - 1) < rest.into() {
                break;
            }
            self.chosen.push(divisor);
            self.split(rest, count - 1);
            self.chosen.pop();
            if self.spread == 0 {
                break;
            }
        }
    }
}

/// In ascending order, each as often as it occurs.
fn prime_factors(mut number: u32) -> Vec<u32> {
    let mut primes = Vec::new();
    let mut candidate = 2;
    while u64::from(candidate) * u64::from(candidate) <= u64::from(number) {
        while number.is_multiple_of(candidate) {
            primes.push(candidate);
            number /= candidate;
        }
        candidate += 1;
    }
    if number > 1 {
        primes.push(number);
    }
    primes
}

/// All divisors of the product, in ascending order.
fn divisors(primes: &[u32]) -> Vec<u32> {
    let mut divisors = vec![1];
    for same in primes.chunk_by(|a, b| a == b) {
        let without = divisors.len();
        for index in 0..without * same.len() {
            divisors.push(divisors[index] * same[0]);
        }
    }
    divisors.sort_unstable();
    divisors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(nodes: i32, dims: &[i32]) -> Result<Vec<i32>> {
        let mut dims = dims.to_vec();
        fill(nodes, &mut dims).map(|()| dims)
    }

    /// Every nonincreasing product of `count` factors.
    fn products(number: i32, count: usize, bound: i32) -> Vec<Vec<i32>> {
        if count == 0 {
            return if number == 1 { vec![Vec::new()] } else { Vec::new() };
        }
        let firsts = (1..=number.min(bound)).filter(|first| number % first == 0);
        let with = |first| {
            products(number / first, count - 1, first).into_iter().map(move |rest| [vec![first], rest].concat())
        };
        firsts.flat_map(with).collect()
    }

    /// The answer by its definition.
    fn brute_force(number: i32, count: usize) -> Vec<i32> {
        let all = products(number, count, number);
        let smallest = |dims: &[i32]| dims.iter().rev().map(|d| -d).collect::<Vec<_>>();
        all.into_iter().min_by_key(|dims| (dims[0] - dims[count - 1], smallest(dims))).unwrap()
    }

    #[test]
    fn agrees_with_brute_force() {
        for nodes in 1..=360 {
            for count in 1..=6 {
                assert_eq!(filled(nodes, &vec![0; count]).unwrap(), brute_force(nodes, count));
            }
        }
        for nodes in [1024, 1155, 2310, 5040, 7919, 4096, 6561] {
            for count in 1..=4 {
                assert_eq!(filled(nodes, &vec![0; count]).unwrap(), brute_force(nodes, count));
            }
        }
    }

    #[test]
    fn given_dimensions_stay() {
        assert_eq!(filled(6, &[0, 0]).unwrap(), [3, 2]);
        assert_eq!(filled(7, &[0, 0]).unwrap(), [7, 1]);
        assert_eq!(filled(6, &[0, 3, 0]).unwrap(), [2, 3, 1]);
        assert_eq!(filled(24, &[2, 0, 1, 0]).unwrap(), [2, 4, 1, 3]);
        assert_eq!(filled(12, &[3, 4]).unwrap(), [3, 4]);
        assert_eq!(filled(12, &[12, 0, 0]).unwrap(), [12, 1, 1]);
        assert_eq!(filled(1, &[]).unwrap(), []);
        assert_eq!(filled(16, &[0, 0, 0]).unwrap(), [4, 2, 2]);
        assert_eq!(filled(i32::MAX, &[0, 0]).unwrap(), [i32::MAX, 1]);
    }

    #[test]
    fn impossible_values_are_refused() {
        for (nodes, dims) in [(7, &[0, 3, 0][..]), (8, &[2, 2]), (2, &[]), (4, &[-1, 0]), (4, &[8, 0]), (6, &[4, 0])] {
            assert_eq!(filled(nodes, dims).unwrap_err().class(), MPI_ERR_DIMS, "{nodes} {dims:?}");
        }
        for nodes in [0, -1, i32::MIN] {
            assert_eq!(filled(nodes, &[0]).unwrap_err().class(), MPI_ERR_ARG);
        }
    }

    #[test]
    fn numbers_with_many_divisors_take_no_time() {
        let begin = std::time::Instant::now();
        // The hardest cases: the number with the most divisors that fits into an int, powers, and
        // large primes.
        for nodes in [2_095_133_040, 1 << 30, 1_162_261_467, 1_021 << 20, 46_337 * 46_327, 2_147_483_646, 1_102_701_600]
        {
            for count in (1..40).chain([1000]) {
                let dims = filled(nodes, &vec![0; count]).unwrap();
                assert_eq!(dims.iter().map(|&length| i64::from(length)).product::<i64>(), i64::from(nodes));
                assert!(dims.is_sorted_by(|a, b| a >= b));
            }
        }
        assert!(begin.elapsed().as_secs() < 10, "{:?}", begin.elapsed());
    }
}
