//! Functions for callbacks that get no pointer of their own: reductions, error handlers, callbacks of
//! events. A library between the program and OxMPI must know which function of the program is meant,
//! so each gets a function of its own, by its place in a table as long as [`MOST`]. It keeps the place
//! for ever: MPI does not say when a callback is used for the last time.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The number of different callbacks in a table.
pub const MOST: usize = 256;

/// The callbacks of one kind: their addresses, in the order in which they came; zero is free.
pub struct CallbackTable([AtomicUsize; MOST]);

impl CallbackTable {
    #[allow(clippy::new_without_default, reason = "a table is a static variable")]
    pub const fn new() -> CallbackTable {
        CallbackTable([const { AtomicUsize::new(0) }; MOST])
    }

    /// The place of a callback, if there is one left.
    pub fn place_of(&self, callback: *mut c_void) -> Option<usize> {
        let address = callback as usize;
        self.0.iter().position(|place| {
            let before = place.compare_exchange(0, address, Relaxed, Relaxed).unwrap_or_else(|before| before);
            before == 0 || before == address
        })
    }

    pub fn at(&self, place: usize) -> usize {
        self.0[place].load(Relaxed)
    }
}

/// The function for a place: `function_at!(reduce, place)` is `reduce::<PLACE>`, and with `handle::<Comm>`
/// it is `handle::<PLACE, Comm>`.
#[macro_export]
macro_rules! function_at {
    ($function:ident $(::<$handle:ty>)?, $place:expr) => {{
        macro_rules! four {
            ($n:expr) => {
                [
                    $function::<{ $n }, $($handle)?> as *mut std::ffi::c_void,
                    $function::<{ $n + 1 }, $($handle)?> as *mut std::ffi::c_void,
                    $function::<{ $n + 2 }, $($handle)?> as *mut std::ffi::c_void,
                    $function::<{ $n + 3 }, $($handle)?> as *mut std::ffi::c_void,
                ]
            };
        }
        macro_rules! sixteen {
            ($n:expr) => {
                [four!($n), four!($n + 4), four!($n + 8), four!($n + 12)]
            };
        }
        macro_rules! sixty_four {
            ($n:expr) => {
                [sixteen!($n), sixteen!($n + 16), sixteen!($n + 32), sixteen!($n + 48)]
            };
        }
        let all = [sixty_four!(0), sixty_four!(64), sixty_four!(128), sixty_four!(192)];
        all.as_flattened().as_flattened().as_flattened()[$place]
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn place<const PLACE: usize>() -> usize {
        PLACE
    }

    #[test]
    fn a_callback_keeps_its_place_and_has_its_function() {
        let table = CallbackTable::new();
        let callback = |n: usize| (n + 1) as *mut c_void;
        for n in 0..MOST {
            assert_eq!(table.place_of(callback(n)), Some(n));
        }
        assert_eq!(table.place_of(callback(MOST)), None);
        assert_eq!(table.place_of(callback(7)), Some(7));
        assert_eq!(table.at(7), 8);
        let mut all: Vec<_> = (0..MOST).map(|n| function_at!(place, n)).collect();
        assert_eq!(all[200], place::<200> as *mut c_void);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), MOST);
    }
}
