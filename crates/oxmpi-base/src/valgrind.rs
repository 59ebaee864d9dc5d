//! Tells valgrind what it cannot see: memory that other processes write, and memory that is sent to them.
//!
//! A program that valgrind interprets asks it by a sequence of instructions that does nothing elsewhere: four rotations
//! of a register that together are a whole turn, and an exchange of a register with itself. The library asks once, in
//! [`detect`]; everything else is called only where [`is_on`] says so, and never on the path of a short message. On
//! processors whose sequence is not here, nothing is detected.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static ON: AtomicBool = AtomicBool::new(false);

/// The numbers of requests to memcheck.
const MEMCHECK: usize = (b'M' as usize) << 24 | (b'C' as usize) << 16;
const CHECK_DEFINED: usize = MEMCHECK + 5;
const MAKE_DEFINED: usize = MEMCHECK + 11;

/// Finds out whether memcheck interprets this process: no other tool of valgrind answers this request. Checkers of threads are
/// told other things (`thread_checker.rs`).
pub fn detect() -> bool {
    let byte = 0u8;
    let is_on = request(MAKE_DEFINED, &raw const byte as usize, 1) != 0;
    ON.store(is_on, Relaxed);
    is_on
}

/// What [`detect`] has found.
#[inline(always)]
pub fn is_on() -> bool {
    ON.load(Relaxed)
}

/// Other processes may have written these bytes: they have values. Bytes that the program may not use stay as they are.
#[cold]
pub fn make_defined(address: usize, bytes: usize) {
    request(MAKE_DEFINED, address, bytes);
}

/// The bytes leave the process: valgrind reports those that the program has not written, and where.
#[cold]
pub fn check_defined(address: usize, bytes: usize) {
    request(CHECK_DEFINED, address, bytes);
}

#[cfg(target_arch = "x86_64")]
pub(crate) fn request(number: usize, first: usize, second: usize) -> usize {
    let words = [number, first, second, 0, 0, 0];
    let mut answer = 0;
    // SAFETY: elsewhere the instructions change nothing but flags; valgrind reads the words and puts its answer into rdx.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") words.as_ptr(),
            inlateout("rdx") 0usize => answer,
            options(nostack),
        );
    }
    answer
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn request(_: usize, _: usize, _: usize) -> usize {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_happens_elsewhere() {
        assert!(!detect());
        let byte = 1u8;
        make_defined(&raw const byte as usize, 1);
        check_defined(0, usize::MAX);
        assert_eq!((request(0, 0, 0), byte), (0, 1));
    }
}
