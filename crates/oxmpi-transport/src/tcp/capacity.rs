//! How many descriptors links may take.

use oxmpi_base::limits;

/// Descriptors that links may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Capacity {
    /// For connections that this process makes; for those that others have made there are as many.
    each: usize,
}

/// A process has no more links than this that it made itself, nor more that others made.
const MOST: usize = 1024;
/// Descriptors that are left to the program, where the limit is not too low for it.
const OF_PROGRAM: usize = 128;
/// What a connection takes beside its descriptor while it is being made.
pub(super) const CONNECTING: usize = 4;
/// Fewer are not enough for two links.
const LEAST: usize = 2 + CONNECTING;

impl Capacity {
    pub fn of_process() -> Capacity {
        let open = std::fs::read_dir("/proc/self/fd").map_or(32, Iterator::count);
        Capacity::new(usize::try_from(limits::open_files()).unwrap_or(usize::MAX), open)
    }

    pub fn each(self) -> usize {
        self.each
    }

    fn new(limit: usize, open: usize) -> Capacity {
        let of_program = OF_PROGRAM.min(limit / 8);
        let free = limit.saturating_sub(open).saturating_sub(of_program);
        Capacity { each: (free / 2).clamp(LEAST, MOST) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_limits_leave_some_links_and_high_ones_enough() {
        assert_eq!(Capacity::new(40, 14).each, 10);
        assert_eq!(Capacity::new(10, 10).each, LEAST);
        assert_eq!(Capacity::new(1024, 24).each, 436);
        assert_eq!(Capacity::new(usize::MAX, 20).each, MOST);
    }
}
