//! Tells checkers of threads what orders the accesses of this process's threads: ThreadSanitizer, and helgrind and drd of
//! valgrind.
//!
//! The library's lock is an atomic word, which these tools do not know as a lock, and ThreadSanitizer does not see the code of the
//! library at all. So they are told when the lock is taken and given back. All that the library does with the memory of the
//! program it does with the lock, so this also orders a buffer's use by the program before a call and after it.
//! helgrind and drd, which see every instruction, also take atomic accesses for plain ones: they are told not to look at the
//! shared memory, in which other processes write, and at the library's own variables. What the program does is still seen.
//!
//! [`detect`] looks once; the rest is called only where it has found something.

use crate::valgrind::{self, request};
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};

/// Functions of ThreadSanitizer in the program, or null.
static ACQUIRE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static RELEASE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Requests to any tool of valgrind, to helgrind, and to drd, which knows the first two of helgrind's, too.
const DEPTH: usize = 0x1001;
const HELGRIND: usize = (b'H' as usize) << 24 | (b'G' as usize) << 16;
const HAPPENS_BEFORE: usize = HELGRIND + 256 + 33;
const HAPPENS_AFTER: usize = HELGRIND + 256 + 34;
const HELGRIND_IGNORE: usize = HELGRIND + 256 + 39;
const DRD_IGNORE: usize = ((b'D' as usize) << 24 | (b'R' as usize) << 16) + 2;

/// What [`detect`] has found: a checker, and one of valgrind.
static ON: AtomicBool = AtomicBool::new(false);
static IN_VALGRIND: AtomicBool = AtomicBool::new(false);

/// Finds out whether a checker of threads watches this process; after [`crate::valgrind::detect`], which knows of memcheck.
pub fn detect() {
    for (name, function) in [(c"__tsan_acquire", &ACQUIRE), (c"__tsan_release", &RELEASE)] {
        function.store(find(name), Relaxed);
    }
    IN_VALGRIND.store(!valgrind::is_on() && request(DEPTH, 0, 0) != 0, Relaxed);
    ON.store(IN_VALGRIND.load(Relaxed) || !RELEASE.load(Relaxed).is_null(), Relaxed);
    if IN_VALGRIND.load(Relaxed) {
        ignore_own_variables();
    }
}

/// Whether there is one.
#[inline]
pub fn is_on() -> bool {
    ON.load(Relaxed)
}

fn find(name: &CStr) -> *mut c_void {
    // SAFETY: a name of C.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// What other threads have done before they gave back the lock at this address has happened before what this thread does now.
#[cold]
pub fn acquired(lock: usize) {
    tell(&ACQUIRE, lock);
    request(HAPPENS_AFTER, lock, 0);
}

/// This thread is about to give back the lock at this address.
#[cold]
pub fn releasing(lock: usize) {
    tell(&RELEASE, lock);
    request(HAPPENS_BEFORE, lock, 0);
}

fn tell(function: &AtomicPtr<c_void>, lock: usize) {
    let function = function.load(Relaxed);
    if function.is_null() {
        return;
    }
    // SAFETY: both of ThreadSanitizer's functions have this type.
    let function = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(function) };
    // SAFETY: they only take the address as the name of a lock.
    unsafe { function(std::ptr::without_provenance_mut(lock)) }
}

/// Memory whose accesses helgrind and drd shall not compare.
pub fn ignore(address: usize, bytes: usize) {
    if !IN_VALGRIND.load(Relaxed) {
        return;
    }
    request(HELGRIND_IGNORE, address, bytes);
    request(DRD_IGNORE, address, bytes);
}

/// The variables of this library: all are atomic, or belong to a lock.
fn ignore_own_variables() {
    extern "C" fn visit(object: *mut libc::dl_phdr_info, _: usize, own: *mut c_void) -> c_int {
        // SAFETY: the dynamic linker passes an object that it has loaded, whose headers stay where they are.
        let (base, headers) = unsafe {
            let object = &*object;
            (object.dlpi_addr as usize, std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()))
        };
        let parts = || headers.iter().filter(|part| part.p_type == libc::PT_LOAD);
        let holds =
            |part: &libc::Elf64_Phdr| (own as usize).wrapping_sub(base + part.p_vaddr as usize) < part.p_memsz as usize;
        if !parts().any(holds) {
            return 0;
        }
        for part in parts().filter(|part| part.p_flags & libc::PF_W != 0) {
            ignore(base + part.p_vaddr as usize, part.p_memsz as usize);
        }
        1
    }
    let own = (&raw const RELEASE).cast_mut().cast();
    // SAFETY: `visit` has the type that is asked for, and ends before this call does.
    unsafe { libc::dl_iterate_phdr(Some(visit), own) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    static TOLD: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn note(lock: *mut c_void) {
        TOLD.store(lock as usize, Relaxed);
    }

    #[test]
    fn the_sanitizer_is_told_the_lock() {
        detect();
        assert!(!is_on());
        acquired(7);
        assert_eq!(TOLD.load(Relaxed), 0);
        ACQUIRE.store(note as *mut c_void, Relaxed);
        acquired(7);
        assert_eq!(TOLD.load(Relaxed), 7);
        ignore_own_variables();
    }
}
