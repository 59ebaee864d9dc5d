//! Who has called the library: the return addresses of the MPI call that this thread is in, for reports that name its line.
//!
//! Calls do not note them, which would cost each call something. They are read from the stack with the tables that describe
//! every function of the library (`.eh_frame`), in a few microseconds, when somebody wants to know. A thread keeps some
//! answers, because a program makes the same calls many times. The frames of our own libraries are left out: that of the
//! standard ABI, those of Fortran and of other ABIs over it. Only one frame of the program is read, which is valid because it
//! has called us.

use std::cell::RefCell;
use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;

/// The call, and the call of the function that made it, if that is a tool or the binding of a language.
pub const CALLERS: usize = 2;

/// Frames of our own that are passed.
const MOST_FRAMES: usize = 64;

/// The return addresses of the call of the library that this thread is in; 0 where there is none.
#[cold]
#[inline(never)]
pub fn callers() -> [u64; CALLERS] {
    let stack = stack_pointer();
    // A thread that is ending keeps nothing any more.
    let known =
        KNOWN.try_with(|known| known.borrow().iter().flatten().find(|one| one.is_valid(stack)).map(|one| one.callers));
    if let Ok(Some(callers)) = known {
        return callers;
    }
    let mut walk = Walk {
        ours: OURS.get_or_init(our_code),
        stack,
        frames: 0,
        found: 0,
        callers: [0; CALLERS],
        returns: Some(Vec::new()),
    };
    // SAFETY: `frame` gets `walk`, which lives until the call returns.
    unsafe { _Unwind_Backtrace(frame, (&raw mut walk).cast()) };
    if let (Some(returns), CALLERS) = (walk.returns, walk.found) {
        let one = Known { stack, returns, callers: walk.callers };
        // By the call, of which some are made from the same depth of the stack.
        let place = (stack / 16 + walk.callers[0] as usize) % KEPT;
        let _ = KNOWN.try_with(|known| known.borrow_mut()[place] = Some(one));
    }
    walk.callers
}

/// The callers that were found at some depth of the stack, and where the return addresses of all frames up to theirs are. The
/// library's frames have fixed lengths, so while the same addresses are there, the calls are the same.
struct Known {
    stack: usize,
    returns: Vec<(usize, usize)>,
    callers: [u64; CALLERS],
}

impl Known {
    fn is_valid(&self, stack: usize) -> bool {
        // SAFETY: the words lie above the stack pointer of this thread, below the frame of a function that has called us or
        // its caller, as they did when it pointed to the same place.
        let is_there = |&(place, address): &(usize, usize)| unsafe { (place as *const usize).read() } == address;
        self.stack == stack && self.returns.iter().all(is_there)
    }
}

/// So many answers a thread keeps.
const KEPT: usize = 16;

thread_local! {
    static KNOWN: RefCell<[Option<Known>; KEPT]> = const { RefCell::new([const { None }; KEPT]) };
}

/// Where the stack of this thread ends now; 0 where return addresses are not always on it.
#[inline(always)]
fn stack_pointer() -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        let stack: usize;
        // SAFETY: reads a register.
        unsafe { std::arch::asm!("mov {}, rsp", out(reg) stack, options(nomem, nostack, preserves_flags)) };
        stack
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

struct Walk {
    ours: &'static [Range<usize>],
    /// The stack pointer of `callers`.
    stack: usize,
    frames: usize,
    found: usize,
    callers: [u64; CALLERS],
    /// Where the return addresses of the frames are, if all were found.
    returns: Option<Vec<(usize, usize)>>,
}

impl Walk {
    /// Keeps where the return address of a frame is: `frame_end` is the end of the frame that was called from there.
    fn note_return(&mut self, frame_end: usize, address: usize) {
        let place = frame_end.wrapping_sub(size_of::<usize>());
        // The unwinder's own frame is below.
        if frame_end == 0 || place < self.stack {
            return;
        }
        // SAFETY: the word below the end of a frame of this thread.
        let is_there = self.stack != 0 && unsafe { (place as *const usize).read() } == address;
        match &mut self.returns {
            Some(returns) if is_there => returns.push((place, address)),
            returns => *returns = None,
        }
    }
}

/// What the unwinder knows of a frame.
#[repr(C)]
struct Context {
    _private: [u8; 0],
}

const GO_ON: c_int = 0;
const STOP: c_int = 5;

// The unwinder of the C runtime, which the standard library of Rust uses as well.
unsafe extern "C" {
    fn _Unwind_Backtrace(frame: unsafe extern "C" fn(*mut Context, *mut c_void) -> c_int, data: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut Context) -> usize;
    fn _Unwind_GetCFA(context: *mut Context) -> usize;
}

/// # Safety
/// `walk` points to a [`Walk`]; the context is that of the unwinder.
unsafe extern "C" fn frame(context: *mut Context, walk: *mut c_void) -> c_int {
    // SAFETY: the pointer that `callers` gave the unwinder, and nobody else uses the value meanwhile.
    let walk = unsafe { &mut *walk.cast::<Walk>() };
    // SAFETY: the unwinder's own context.
    let (address, frame_end) = unsafe { (_Unwind_GetIP(context), _Unwind_GetCFA(context)) };
    walk.frames += 1;
    walk.note_return(frame_end, address);
    let is_ours = walk.ours.iter().any(|code| code.contains(&address));
    if is_ours && walk.found == 0 {
        return if walk.frames < MOST_FRAMES { GO_ON } else { STOP };
    }
    walk.callers[walk.found] = address as u64;
    walk.found += 1;
    if walk.found < CALLERS { GO_ON } else { STOP }
}

/// The code of our libraries. They are loaded before the first call that waits.
static OURS: OnceLock<Vec<Range<usize>>> = OnceLock::new();

/// Our libraries beside the one that this code is in, as their names begin.
const NAMES: [&str; 10] = [
    "liboxmpi_recorder.so",
    "libmpi_abi.so",
    "libmpifort_abi",
    "libmpi.so.12",
    "libmpich",
    "libmpifort.so.12",
    "libmpi.so.40",
    "libmpi_mpifh.so",
    "libmpi_usempi",
    "libmpi_cxx.so",
];

/// Whether an address lies in the code of the executable itself, which may be a program that we are not part of.
#[cold]
pub fn is_program(address: usize) -> bool {
    static PROGRAM: OnceLock<Vec<Range<usize>>> = OnceLock::new();
    let code = PROGRAM.get_or_init(|| {
        let mut code = Vec::new();
        // SAFETY: `first_module` gets `code`, which lives until the call returns.
        unsafe { libc::dl_iterate_phdr(Some(first_module), (&raw mut code).cast()) };
        code
    });
    code.iter().any(|code| code.contains(&address))
}

fn our_code() -> Vec<Range<usize>> {
    let mut ours = Vec::new();
    // SAFETY: `module` gets `ours`, which lives until the call returns.
    unsafe { libc::dl_iterate_phdr(Some(module), (&raw mut ours).cast()) };
    ours
}

/// The loader names the executable first.
///
/// # Safety
/// `info` is valid, and `code` points to a vector of ranges.
unsafe extern "C" fn first_module(info: *mut libc::dl_phdr_info, _size: usize, code: *mut c_void) -> c_int {
    // SAFETY: the vector of `is_program`, which waits for the loader, and the loader's description of a module.
    unsafe { *code.cast::<Vec<Range<usize>>>() = code_of(&*info) };
    1
}

/// The code of a module.
///
/// # Safety
/// `info` is what the loader says of a module that is loaded.
unsafe fn code_of(info: &libc::dl_phdr_info) -> Vec<Range<usize>> {
    if info.dlpi_phdr.is_null() {
        return Vec::new();
    }
    // SAFETY: the loader keeps the headers of a module as long as it is loaded.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let code = headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0);
    let start = |header: &libc::Elf64_Phdr| (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
    code.map(|header| start(header)..start(header).saturating_add(header.p_memsz as usize)).collect()
}

/// # Safety
/// `info` is valid, and `ours` points to a vector of ranges.
unsafe extern "C" fn module(info: *mut libc::dl_phdr_info, _size: usize, ours: *mut c_void) -> c_int {
    // SAFETY: the loader's description of a module, valid during this call.
    let info = unsafe { &*info };
    // SAFETY: the vector of `our_code`, which waits for the loader.
    let ours = unsafe { &mut *ours.cast::<Vec<Range<usize>>>() };
    // SAFETY: the loader's description of a module.
    let ranges = unsafe { code_of(info) };
    let has_this = ranges.iter().any(|range| range.contains(&(our_code as fn() -> _ as usize)));
    // SAFETY: null, or a string that the loader keeps.
    let name = (!info.dlpi_name.is_null()).then(|| unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy());
    let name = name.as_deref().unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or_default();
    if has_this || NAMES.iter().any(|own| name.starts_with(own)) {
        ours.extend(ranges);
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_code_is_ours() {
        let here = this_code_is_ours as fn() as usize;
        let ours = our_code();
        assert!(ours.iter().any(|range| range.contains(&here)), "{ours:?}");
        // The test runs in a thread, whose first function belongs to the C library.
        let callers = callers();
        assert!(callers[0] != 0 && !ours.iter().any(|range| range.contains(&(callers[0] as usize))), "{callers:x?}");
    }

    #[inline(never)]
    fn called_twice() -> Vec<[u64; CALLERS]> {
        (0..2).map(|_| callers()).collect()
    }

    #[test]
    fn the_same_callers_are_found_without_a_walk() {
        let known =
            || KNOWN.with(|known| known.borrow().iter().flatten().map(|one| one.returns.len()).collect::<Vec<_>>());
        assert_eq!(known(), []);
        let found = called_twice();
        assert_eq!(found[0], found[1]);
        if cfg!(target_arch = "x86_64") {
            assert!(known().len() == 1 && known()[0] > CALLERS, "{:?}", known());
        }
    }
}
