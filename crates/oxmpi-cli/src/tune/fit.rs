//! Chooses limits from times.

use oxmpi_coll::tuning::{Limit, Tuning};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The shortest times of calls in nanoseconds, by limit and length: with the lowest limits, and with the highest.
#[derive(Default)]
pub struct Times {
    low: BTreeMap<(u8, u64), u64>,
    high: BTreeMap<(u8, u64), u64>,
}

/// The lengths to measure for a limit: with the lowest limit they go one way, with the highest the other.
pub fn lengths(limit: Limit) -> impl Iterator<Item = u64> {
    let (first, last) = match limit {
        // The limit itself is eager.
        Limit::Eager => (2 * Limit::LEAST, limit.most()),
        // From the limit on they copy directly.
        _ => (Limit::LEAST, limit.most() / 2),
    };
    std::iter::successors(Some(first), |bytes| Some(bytes * 2)).take_while(move |bytes| *bytes <= last)
}

/// A gain below this is noise: the default stays.
const WORTH_IT: f64 = 0.02;

impl Times {
    pub fn add_low(&mut self, lines: &str) -> Result<(), String> {
        add(&mut self.low, lines)
    }

    pub fn add_high(&mut self, lines: &str) -> Result<(), String> {
        add(&mut self.high, lines)
    }

    /// How much longer all lengths take with this limit than with the better way at each, as a mean of logarithms; `None` if
    /// it was not measured.
    fn cost(&self, limit: Limit, bytes: u64) -> Option<f64> {
        let mut sum = 0.0;
        for length in lengths(limit) {
            let (low, high) = (*self.low.get(&(limit as u8, length))?, *self.high.get(&(limit as u8, length))?);
            let goes_high = if limit == Limit::Eager { length <= bytes } else { length < bytes };
            let taken = if goes_high { high } else { low };
            sum += (taken as f64 / low.min(high) as f64).ln();
        }
        Some(sum / lengths(limit).count() as f64)
    }
}

fn add(times: &mut BTreeMap<(u8, u64), u64>, lines: &str) -> Result<(), String> {
    for line in lines.lines() {
        let mut words = line.split(' ');
        let limit = words.next().and_then(|name| Limit::ALL.into_iter().find(|limit| limit.name() == name));
        let numbers =
            (words.next().and_then(|word| word.parse().ok()), words.next().and_then(|word| word.parse().ok()));
        let (Some(limit), (Some(bytes), Some(time))) = (limit, numbers) else {
            return Err(format!("the job printed `{line}`"));
        };
        let best = times.entry((limit as u8, bytes)).or_insert(u64::MAX);
        *best = (*best).min(time).max(1);
    }
    Ok(())
}

/// The limits, and a table of them.
pub fn choose(times: &Times) -> (Tuning, String) {
    let (mut tuning, mut table) =
        (Tuning::NONE, String::from("limit          default  measured  time of all lengths\n"));
    for limit in Limit::ALL {
        let (name, default) = (limit.name(), limit.default_bytes());
        let Some(before) = times.cost(limit, default) else {
            // Writing to a string cannot fail.
            let _ = writeln!(table, "{name:12} {default:>9}         -  needs more CPUs than this job may use");
            continue;
        };
        let candidates = std::iter::successors(Some(Limit::LEAST), |bytes| Some(bytes * 2));
        let candidates = candidates.take_while(|bytes| *bytes <= limit.most());
        let (mut best, mut least) = (default, before - WORTH_IT);
        for bytes in candidates {
            match times.cost(limit, bytes) {
                Some(cost) if cost < least => (best, least) = (bytes, cost),
                _ => {}
            }
        }
        let gain = if best == default { 0.0 } else { 1.0 - (least - before).exp() };
        let _ = writeln!(table, "{name:12} {default:>9} {best:>9}  {:.0} % less", gain * 100.0);
        tuning = tuning.with(limit, best).unwrap_or(tuning);
    }
    (tuning, table)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of a machine where one way costs so much at first and the other gains so much a byte.
    fn times(limit: Limit, low: impl Fn(u64) -> u64, high: impl Fn(u64) -> u64) -> Times {
        let mut times = Times::default();
        for bytes in lengths(limit) {
            let name = limit.name();
            times.add_low(&format!("{name} {bytes} {}\n", low(bytes))).unwrap();
            times.add_high(&format!("{name} {bytes} {}\n{name} {bytes} 999999\n", high(bytes))).unwrap();
        }
        times
    }

    #[test]
    fn the_limit_is_where_the_ways_cost_the_same() {
        // Direct copies cost 2,000 ns and a twentieth a byte, pieces a quarter a byte: the same at 10,000 bytes.
        for limit in Limit::ALL {
            let (direct, pieces) = (|bytes| 2000 + bytes / 20, |bytes| bytes / 4);
            let (tuning, table) = choose(&times(limit, direct, pieces));
            let expected = if limit == Limit::Eager { 8 << 10 } else { 16 << 10 };
            assert_eq!(tuning.bytes(limit), expected, "{}", limit.name());
            assert!(
                table.contains(&format!("{:12} {:>9} {expected:>9}  ", limit.name(), limit.default_bytes())),
                "{table}"
            );
        }
    }

    #[test]
    fn one_way_may_always_be_better() {
        let (tuning, _) = choose(&times(Limit::Gather2, |_| 1, |_| 1000));
        assert_eq!(tuning.bytes(Limit::Gather2), Limit::LEAST);
        let (tuning, _) = choose(&times(Limit::Gather2, |_| 1000, |_| 1));
        assert_eq!(tuning.bytes(Limit::Gather2), Limit::Gather2.most());
        let (tuning, _) = choose(&times(Limit::Eager, |_| 1, |_| 1000));
        assert_eq!(tuning.bytes(Limit::Eager), Limit::LEAST);
    }

    #[test]
    fn noise_and_what_was_not_measured_leave_the_default() {
        let (tuning, table) = choose(&times(Limit::Bcast2, |bytes| 1000 + bytes % 7, |_| 1001));
        assert_eq!(tuning.bytes(Limit::Bcast2), Limit::Bcast2.default_bytes());
        assert!(table.contains("needs more CPUs"));
        assert!(Times::default().add_low("what 1 2").is_err() && Times::default().add_low("eager 1").is_err());
    }
}
