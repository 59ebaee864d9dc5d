//! Balanced grids: a number as a product of so many factors, as close to each other as they can be.
//!
//! "Close" means: the largest factor is as small as possible, then the second largest, and so on. That is one answer for
//! every question, whatever the order in which a search looks.

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
    let divisors = divisors(&primes);
    let mut factors = Vec::new();
    // More factors than primes are ones in any case.
    let found = search(number, count.min(primes.len()), u32::MAX, &primes, &divisors, &mut factors);
    debug_assert!(found || count == 0, "the number itself is a factor");
    factors
}

/// Splits a number into `count` factors of at most `bound` each, the first as small as possible, then the next: depth
/// first, so the first answer is the best.
fn search(number: u32, count: usize, bound: u32, primes: &[u32], divisors: &[u32], factors: &mut Vec<u32>) -> bool {
    if number == 1 {
        return true;
    }
    if count == 0 {
        return false;
    }
    // The largest factor is at least the largest prime, which must go somewhere.
    let Some(&prime) = primes.iter().rev().find(|&&prime| number % prime == 0) else { return false };
    let start = divisors.partition_point(|&divisor| {
        divisor < prime || u64::from(divisor).saturating_pow(count as u32) < u64::from(number)
    });
    for &first in divisors[start..].iter().take_while(|&&divisor| divisor <= bound.min(number)) {
        if number % first == 0 {
            factors.push(first);
            if search(number / first, count - 1, first, primes, divisors, factors) {
                return true;
            }
            factors.pop();
        }
    }
    false
}

/// In ascending order, each as often as it occurs.
fn prime_factors(mut number: u32) -> Vec<u32> {
    let mut primes = Vec::new();
    let mut candidate = 2;
    while u64::from(candidate) * u64::from(candidate) <= u64::from(number) {
        while number % candidate == 0 {
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

    /// Every nonincreasing product of `count` factors; the least of them is the answer.
    fn brute_force(number: i32, count: usize, bound: i32) -> Option<Vec<i32>> {
        if count == 0 {
            return (number == 1).then(Vec::new);
        }
        let firsts = (1..=number.min(bound)).filter(|first| number % first == 0);
        firsts
            .filter_map(|first| {
                let rest = brute_force(number / first, count - 1, first)?;
                Some([vec![first], rest].concat())
            })
            .min()
    }

    #[test]
    fn as_a_search_through_everything_finds_it() {
        for nodes in 1..=360 {
            for count in 1..=6 {
                assert_eq!(filled(nodes, &vec![0; count]).unwrap(), brute_force(nodes, count, nodes).unwrap());
            }
        }
        for nodes in [1024, 1155, 2310, 5040, 7919, 4096, 6561] {
            for count in 1..=4 {
                assert_eq!(filled(nodes, &vec![0; count]).unwrap(), brute_force(nodes, count, nodes).unwrap());
            }
        }
    }

    #[test]
    fn what_is_given_stays() {
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
    fn what_cannot_be_is_refused() {
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
        // The last of them: the most divisors that an int can have, powers, and primes that get in the way.
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
