//! Handles and statuses as integers, for Fortran and for languages without room for a pointer.
//!
//! An integer is the low word of its handle, so predefined handles keep their values. The inverse
//! needs the table: the word names the slot, the table its current generation. An invalid integer
//! becomes a handle that no call accepts.

use crate::args::null_pointer;
use crate::generated::variables::*;
use crate::library::{self, LIBRARY};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::types::{F08Status, Fint};
use oxmpi_abi::{Result, Status, bail};
use oxmpi_core::process::Process;
use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Handles from here on are not the standard's predefined ones.
const FIRST_DYNAMIC: c_int = 4096;

fn to_int(handle: impl Handle) -> c_int {
    handle.raw() as u32 as c_int
}

fn from_int<H: Handle>(int: c_int, find: impl FnOnce(c_int) -> Option<usize>) -> H {
    let found = if (0..FIRST_DYNAMIC).contains(&int) { None } else { find(int) };
    // The word alone has no generation, so it is no valid handle.
    H::from_raw(found.unwrap_or(int as u32 as usize))
}

/// Searches a table of the process, if it exists.
fn in_process(find: impl FnOnce(&Process) -> Option<usize>) -> Option<usize> {
    find(&*library::enter()?)
}

pub fn comm_toint(comm: Comm) -> c_int {
    to_int(comm)
}

pub fn comm_fromint(comm: c_int) -> Comm {
    from_int(comm, |int| in_process(|process| process.comms.made.from_low_word(int)))
}

pub fn errhandler_toint(errhandler: Errhandler) -> c_int {
    to_int(errhandler)
}

pub fn errhandler_fromint(errhandler: c_int) -> Errhandler {
    from_int(errhandler, |int| LIBRARY.errhandlers().from_low_word(int))
}

pub fn file_toint(file: File) -> c_int {
    to_int(file)
}

pub fn file_fromint(file: c_int) -> File {
    from_int(file, |int| in_process(|process| process.files.from_low_word(int)))
}

pub fn group_toint(group: Group) -> c_int {
    to_int(group)
}

pub fn group_fromint(group: c_int) -> Group {
    from_int(group, |int| in_process(|process| process.groups.from_low_word(int)))
}

pub fn info_toint(info: Info) -> c_int {
    to_int(info)
}

pub fn info_fromint(info: c_int) -> Info {
    from_int(info, |int| LIBRARY.infos().from_low_word(int))
}

pub fn message_toint(message: Message) -> c_int {
    to_int(message)
}

pub fn message_fromint(message: c_int) -> Message {
    from_int(message, |int| in_process(|process| process.messages.from_low_word(int)))
}

pub fn op_toint(op: Op) -> c_int {
    to_int(op)
}

pub fn op_fromint(op: c_int) -> Op {
    from_int(op, |int| in_process(|process| process.operations.from_low_word(int)))
}

pub fn request_toint(request: Request) -> c_int {
    to_int(request)
}

pub fn request_fromint(request: c_int) -> Request {
    from_int(request, |int| in_process(|process| process.requests.from_low_word(int)))
}

pub fn session_toint(session: Session) -> c_int {
    to_int(session)
}

pub fn session_fromint(session: c_int) -> Session {
    from_int(session, |int| LIBRARY.sessions().from_low_word(int))
}

pub fn type_toint(datatype: Datatype) -> c_int {
    to_int(datatype)
}

pub fn type_fromint(datatype: c_int) -> Datatype {
    from_int(datatype, |int| in_process(|process| process.types.from_low_word(int)))
}

pub fn win_toint(win: Win) -> c_int {
    to_int(win)
}

pub fn win_fromint(win: c_int) -> Win {
    from_int(win, |int| in_process(|process| process.windows.from_low_word(int)))
}

// ---- statuses: the three forms have one layout, if a Fortran INTEGER is an int ----

const _: () = assert!(size_of::<Status>() == size_of::<[Fint; 8]>() && align_of::<Status>() == align_of::<Fint>());

/// Copies a status from one form to another, after a check for the constants for "no status".
///
/// # Safety
/// Each pointer is null, one of the constants that stand for no status, or points to a status.
unsafe fn convert<A, B>(from: *const A, to: *mut B, none: [&AtomicPtr<A>; 2], names: [&str; 2]) -> Result<()> {
    if let Some((_, name)) = [(from.is_null(), names[0]), (to.is_null(), names[1])].into_iter().find(|(null, _)| *null)
    {
        return Err(null_pointer(name));
    }
    if none.iter().any(|constant| constant.load(Relaxed).cast_const() == from) {
        bail!(MPI_ERR_ARG, "{} is Fortran's MPI_STATUS_IGNORE or MPI_STATUSES_IGNORE", names[0]);
    }
    // SAFETY: two statuses, which may be one and the same.
    unsafe { to.cast::<Status>().write(from.cast::<Status>().read()) };
    Ok(())
}

/// In C, a null pointer stands for no status.
static NEVER: AtomicPtr<Status> = AtomicPtr::new(std::ptr::null_mut());
const IN_C: [&AtomicPtr<Status>; 2] = [&NEVER, &NEVER];
const IN_FORTRAN: [&AtomicPtr<Fint>; 2] = [&MPI_F_STATUS_IGNORE, &MPI_F_STATUSES_IGNORE];
const IN_F08: [&AtomicPtr<F08Status>; 2] = [&MPI_F08_STATUS_IGNORE, &MPI_F08_STATUSES_IGNORE];

pub unsafe fn status_c2f(c_status: *const Status, f_status: *mut Fint) -> Result<()> {
    // SAFETY: each argument is null, a constant that stands for no status, or a status, in the form that its type says.
    unsafe { convert(c_status, f_status, IN_C, ["c_status", "f_status"]) }
}

pub unsafe fn status_f2c(f_status: *const Fint, c_status: *mut Status) -> Result<()> {
    // SAFETY: each argument is null, a constant that stands for no status, or a status, in the form that its type says.
    unsafe { convert(f_status, c_status, IN_FORTRAN, ["f_status", "c_status"]) }
}

pub unsafe fn status_c2f08(c_status: *const Status, f08_status: *mut F08Status) -> Result<()> {
    // SAFETY: each argument is null, a constant that stands for no status, or a status, in the form that its type says.
    unsafe { convert(c_status, f08_status, IN_C, ["c_status", "f08_status"]) }
}

pub unsafe fn status_f082c(f08_status: *const F08Status, c_status: *mut Status) -> Result<()> {
    // SAFETY: each argument is null, a constant that stands for no status, or a status, in the form that its type says.
    unsafe { convert(f08_status, c_status, IN_F08, ["f08_status", "c_status"]) }
}

pub unsafe fn status_f2f08(f_status: *const Fint, f08_status: *mut F08Status) -> Result<()> {
    // SAFETY: each argument is null, a constant that stands for no status, or a status, in the form that its type says.
    unsafe { convert(f_status, f08_status, IN_FORTRAN, ["f_status", "f08_status"]) }
}

pub unsafe fn status_f082f(f08_status: *const F08Status, f_status: *mut Fint) -> Result<()> {
    // SAFETY: each argument is null, a constant that stands for no status, or a status, in the form that its type says.
    unsafe { convert(f08_status, f_status, IN_F08, ["f08_status", "f_status"]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_core::info::Info as Content;

    #[test]
    fn predefined_handles_keep_their_values() {
        assert_eq!(comm_toint(MPI_COMM_WORLD), 0x101);
        assert_eq!(comm_fromint(0x101), MPI_COMM_WORLD);
        assert_eq!(type_fromint(type_toint(MPI_INT)), MPI_INT);
        assert_eq!(op_fromint(op_toint(MPI_SUM)), MPI_SUM);
        assert_eq!(group_fromint(group_toint(MPI_GROUP_EMPTY)), MPI_GROUP_EMPTY);
        assert_eq!(request_fromint(request_toint(MPI_REQUEST_NULL)), MPI_REQUEST_NULL);
    }

    #[test]
    fn dynamic_handles_come_back_whole_while_they_live() {
        let handle = LIBRARY.add_info(Content::new()).unwrap();
        let int = info_toint(handle);
        assert!(!(0..FIRST_DYNAMIC).contains(&int));
        assert_eq!(info_fromint(int), handle);
        LIBRARY.infos().remove(handle.0);
        let stale = info_fromint(int);
        assert!(stale != handle && LIBRARY.info(stale).is_err());
        for wrong in [0, -1, c_int::MIN, c_int::MAX, FIRST_DYNAMIC] {
            assert!(LIBRARY.info(info_fromint(wrong)).is_err());
            assert_eq!(info_toint(info_fromint(wrong)), wrong);
            assert_eq!(win_toint(win_fromint(wrong)), wrong);
            assert_eq!(comm_toint(comm_fromint(wrong)), wrong);
        }
    }
}
