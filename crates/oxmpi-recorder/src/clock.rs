//! Ticks of the processor's clock, and how they become nanoseconds since 1970.

use std::time::{SystemTime, UNIX_EPOCH};

/// The processor's clock. All CPUs of the machines that we run on count together.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// One moment in both.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub ticks: u64,
    pub nanoseconds: u64,
}

impl Moment {
    pub fn now() -> Moment {
        let before = ticks();
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment { ticks: before / 2 + ticks() / 2, nanoseconds: time.as_nanos() as u64 }
    }
}

/// Makes nanoseconds of ticks between two moments.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    begin: Moment,
    per_tick: f64,
}

impl Scale {
    pub fn new(begin: Moment, end: Moment) -> Scale {
        let ticks = end.ticks.saturating_sub(begin.ticks).max(1);
        Scale { begin, per_tick: end.nanoseconds.saturating_sub(begin.nanoseconds) as f64 / ticks as f64 }
    }

    pub fn length(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.per_tick) as u64
    }

    pub fn moment(&self, ticks: u64) -> u64 {
        self.begin.nanoseconds + self.length(ticks.saturating_sub(self.begin.ticks))
    }
}
