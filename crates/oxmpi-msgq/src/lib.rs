//! `liboxmpi_msgq.so`, which parallel debuggers load to show the message queues of a rank. They find its path in the rank
//! (`MPIR_dll_name`), and call it with functions that read the memory of the rank.
//!
//! ```text
//! lib.rs         the functions that a debugger calls
//!    |
//! text.rs        what the commands of gdb show
//!    |
//! queues.rs      communicators and queues, by the description in the rank (oxmpi-base, message_queues.rs)
//! objects.rs     requests and windows, in the same way
//!    |
//! memory.rs      the rank's memory, through the debugger
//! interface.rs   types of C
//! ```
//!
//! It runs in the debugger and never in a rank. What it reads may be damaged; it must not crash, and must end.

mod interface;
mod memory;
mod objects;
mod queues;
mod text;

use interface::*;
use memory::{Memory, Trouble};
use oxmpi_base::message_queues::SYMBOL;
use queues::{Comm, Operation, Rank};
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// The functions of the debugger that keep what we know of an image or a process.
static BASIC: AtomicPtr<BasicCallbacks> = AtomicPtr::new(ptr::null_mut());

/// Results of our own, and their texts.
const WRONG_CALL: c_int = FIRST_OWN;
const NO_SYMBOL: c_int = FIRST_OWN + 1;
const NOT_STARTED: c_int = FIRST_OWN + 2;
const UNREADABLE: c_int = FIRST_OWN + 3;
const DAMAGED: c_int = FIRST_OWN + 4;

const TEXTS: [&std::ffi::CStr; 5] = [
    c"the debugger called a function of liboxmpi_msgq.so too early, or without what it needs",
    c"the program is not linked with OxMPI (no symbol oxmpi_message_queues)",
    c"MPI has not started in this process, or its OxMPI has another version than liboxmpi_msgq.so",
    c"the debugger cannot read the memory of the process",
    c"the message queues are being changed, or are damaged",
];

impl From<Trouble> for c_int {
    fn from(trouble: Trouble) -> c_int {
        match trouble {
            Trouble::Unreadable => UNREADABLE,
            Trouble::Damaged => DAMAGED,
        }
    }
}

/// What is known of an executable with its libraries.
struct ImageInfo {
    find_symbol: FindSymbol,
    /// Where the description is; 0 before it was looked for.
    symbol: Address,
}

/// What is known of a rank.
struct ProcessInfo {
    get_image: GetImage,
    fetch: FetchData,
    rank: Option<Rank>,
    comms: Vec<Comm>,
    comm: usize,
    operations: Vec<Operation>,
    is_send: bool,
    operation: usize,
}

/// The memory of a process behind the debugger.
struct Debugged {
    process: *mut Process,
    fetch: FetchData,
}

impl Memory for Debugged {
    fn fetch(&self, address: u64, bytes: &mut [u8]) -> bool {
        let Ok(count) = c_int::try_from(bytes.len()) else { return false };
        // SAFETY: the debugger's own function and its process; it writes as many bytes as there are.
        unsafe { (self.fetch)(self.process, address, count, bytes.as_mut_ptr().cast()) == OK }
    }
}

type Answer<T> = Result<T, c_int>;

fn code(answer: Answer<()>) -> c_int {
    answer.err().unwrap_or(OK)
}

/// The debugger's functions.
fn basic() -> Answer<&'static BasicCallbacks> {
    // SAFETY: the debugger leaves its table where it is as long as it uses this library, as the interface says.
    unsafe { BASIC.load(Relaxed).as_ref() }.ok_or(WRONG_CALL)
}

/// # Safety
/// The debugger has given this image, and nobody else uses what is known of it meanwhile.
unsafe fn image_info<'a>(image: *mut Image) -> Answer<&'a mut ImageInfo> {
    let get = basic()?.get_image_info.ok_or(WRONG_CALL)?;
    // SAFETY: the debugger's own function and image; it returns what `mqs_setup_image` has put.
    unsafe { get(image).cast::<ImageInfo>().as_mut() }.ok_or(WRONG_CALL)
}

/// # Safety
/// As for [`image_info`], with a process.
unsafe fn process_info<'a>(process: *mut Process) -> Answer<(&'a mut ProcessInfo, Debugged)> {
    let get = basic()?.get_process_info.ok_or(WRONG_CALL)?;
    // SAFETY: the debugger's own function and process; it returns what `mqs_setup_process` has put.
    let info = unsafe { get(process).cast::<ProcessInfo>().as_mut() }.ok_or(WRONG_CALL)?;
    let memory = Debugged { process, fetch: info.fetch };
    Ok((info, memory))
}

/// # Safety
/// The table stays where it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_setup_basic_callbacks(callbacks: *const BasicCallbacks) {
    BASIC.store(callbacks.cast_mut(), Relaxed);
}

#[unsafe(no_mangle)]
pub extern "C" fn mqs_version_string() -> *const c_char {
    const TEXT: &str = concat!("OxMPI ", env!("CARGO_PKG_VERSION"), ", message queues\0");
    TEXT.as_ptr().cast()
}

#[unsafe(no_mangle)]
pub extern "C" fn mqs_version_compatibility() -> c_int {
    COMPATIBILITY
}

#[unsafe(no_mangle)]
pub extern "C" fn mqs_dll_taddr_width() -> c_int {
    size_of::<Address>() as c_int
}

#[unsafe(no_mangle)]
pub extern "C" fn mqs_dll_error_string(result: c_int) -> *const c_char {
    let own = usize::try_from(result - FIRST_OWN).ok().and_then(|index| TEXTS.get(index));
    own.copied().unwrap_or(c"unknown result").as_ptr()
}

/// # Safety
/// The image is the debugger's, and so is the table, which stays where it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_setup_image(image: *mut Image, callbacks: *const ImageCallbacks) -> c_int {
    // SAFETY: the caller's promise.
    let find_symbol = unsafe { callbacks.as_ref() }.and_then(|callbacks| callbacks.find_symbol);
    let (Some(find_symbol), Ok(BasicCallbacks { put_image_info: Some(put), .. })) = (find_symbol, basic()) else {
        return WRONG_CALL;
    };
    let info = Box::into_raw(Box::new(ImageInfo { find_symbol, symbol: 0 }));
    // SAFETY: the debugger's own function and image.
    unsafe { put(image, info.cast()) };
    OK
}

/// # Safety
/// The image is one that was set up; `text` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_image_has_queues(image: *mut Image, text: *mut *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let answer = unsafe { image_info(image) }.and_then(|info| find(image, info).map(|_| ()));
    // SAFETY: the caller's promise.
    unsafe { explain(answer, text) }
}

/// The address of the description.
fn find(image: *mut Image, info: &mut ImageInfo) -> Answer<Address> {
    if info.symbol == 0 {
        let name = CString::new(SYMBOL).map_err(|_| NO_SYMBOL)?;
        // SAFETY: the debugger's own function and image; a name of C, which it does not change.
        let result = unsafe { (info.find_symbol)(image, name.as_ptr().cast_mut(), &mut info.symbol) };
        if result != OK || info.symbol == 0 {
            info.symbol = 0;
            return Err(NO_SYMBOL);
        }
    }
    Ok(info.symbol)
}

/// Gives the text of an answer, or none, to the debugger.
///
/// # Safety
/// `text` is null or may be written.
unsafe fn explain(answer: Answer<()>, text: *mut *const c_char) -> c_int {
    let result = code(answer);
    // SAFETY: the caller's promise.
    if let Some(text) = unsafe { text.as_mut() } {
        *text = if result == OK { ptr::null() } else { mqs_dll_error_string(result) };
    }
    result
}

/// # Safety
/// The debugger passes what it was given for an image, once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_destroy_image_info(info: *mut c_void) {
    if !info.is_null() {
        // SAFETY: `mqs_setup_image` has made it so, and the debugger has no more use for it.
        drop(unsafe { Box::from_raw(info.cast::<ImageInfo>()) });
    }
}

/// # Safety
/// The process is the debugger's, and so is the table, which stays where it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_setup_process(process: *mut Process, callbacks: *const ProcessCallbacks) -> c_int {
    // SAFETY: the caller's promise.
    let functions = unsafe { callbacks.as_ref() }.and_then(|calls| Some((calls.get_image?, calls.fetch_data?)));
    let (Some((get_image, fetch)), Ok(BasicCallbacks { put_process_info: Some(put), .. })) = (functions, basic())
    else {
        return WRONG_CALL;
    };
    let info = ProcessInfo {
        get_image,
        fetch,
        rank: None,
        comms: Vec::new(),
        comm: 0,
        operations: Vec::new(),
        is_send: false,
        operation: 0,
    };
    // SAFETY: the debugger's own function and process.
    unsafe { put(process, Box::into_raw(Box::new(info)).cast()) };
    OK
}

/// # Safety
/// The process is one that was set up; `text` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_process_has_queues(process: *mut Process, text: *mut *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let answer = unsafe { look(process) }.map(|_| ());
    // SAFETY: the caller's promise.
    unsafe { explain(answer, text) }
}

/// Reads the description of a process, if that was not done yet.
///
/// # Safety
/// As for [`process_info`].
unsafe fn look<'a>(process: *mut Process) -> Answer<(&'a mut ProcessInfo, Debugged)> {
    // SAFETY: the caller's promise.
    let (info, memory) = unsafe { process_info(process)? };
    if info.rank.is_none() {
        // SAFETY: the debugger's own function and process; the image is one that was set up.
        let image = unsafe { (info.get_image)(process) };
        // SAFETY: the debugger says that this image is the process's, so it was set up.
        let symbol = find(image, unsafe { image_info(image)? })?;
        info.rank = Some(Rank::read(&memory, symbol)?.ok_or(NOT_STARTED)?);
    }
    Ok((info, memory))
}

/// # Safety
/// The debugger passes what it was given for a process, once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_destroy_process_info(info: *mut c_void) {
    if !info.is_null() {
        // SAFETY: `mqs_setup_process` has made it so, and the debugger has no more use for it.
        drop(unsafe { Box::from_raw(info.cast::<ProcessInfo>()) });
    }
}

/// # Safety
/// The process is one that was set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_update_communicator_list(process: *mut Process) -> c_int {
    // SAFETY: the caller's promise.
    code(unsafe { look(process) }.and_then(|(info, memory)| {
        info.comms.clear();
        info.comm = 0;
        let rank = info.rank.as_ref().ok_or(WRONG_CALL)?;
        info.comms = rank.comms(&memory)?;
        Ok(())
    }))
}

/// # Safety
/// The process is one that was set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_setup_communicator_iterator(process: *mut Process) -> c_int {
    // SAFETY: the caller's promise.
    code(unsafe { look(process) }.and_then(|(info, _)| {
        info.comm = 0;
        if info.comms.is_empty() { Err(NO_INFORMATION) } else { Ok(()) }
    }))
}

/// # Safety
/// The process is one that was set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_next_communicator(process: *mut Process) -> c_int {
    // SAFETY: the caller's promise.
    code(unsafe { look(process) }.and_then(|(info, _)| {
        info.comm = (info.comm + 1).min(info.comms.len());
        if info.comm < info.comms.len() { Ok(()) } else { Err(END_OF_LIST) }
    }))
}

/// The communicator that the debugger has got to.
fn current(info: &ProcessInfo) -> Answer<(&Comm, &Rank)> {
    let comm = info.comms.get(info.comm).ok_or(END_OF_LIST)?;
    Ok((comm, info.rank.as_ref().ok_or(WRONG_CALL)?))
}

/// # Safety
/// The process is one that was set up; `to` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_get_communicator(process: *mut Process, to: *mut Communicator) -> c_int {
    // SAFETY: the caller's promise.
    code(unsafe { look(process) }.and_then(|(info, _)| {
        let (comm, _) = current(info)?;
        let mut name = [0; TEXT];
        name.iter_mut().zip(&comm.name).take(TEXT - 1).for_each(|(to, &letter)| *to = letter);
        let (unique_id, size) = (Address::from(comm.context), comm.members.len() as Word);
        // SAFETY: the caller's promise.
        unsafe { to.write(Communicator { unique_id, local_rank: Word::from(comm.rank), size, name }) };
        Ok(())
    }))
}

/// # Safety
/// The process is one that was set up; as many numbers may be written as the communicator has ranks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_get_comm_group(process: *mut Process, to: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    code(unsafe { look(process) }.and_then(|(info, _)| {
        let (comm, rank) = current(info)?;
        for (index, &member) in comm.members.iter().enumerate() {
            let world = rank.world_rank(member).map_or(NO_RANK as c_int, |rank| rank as c_int);
            // SAFETY: the caller's promise.
            unsafe { to.add(index).write(world) };
        }
        Ok(())
    }))
}

/// # Safety
/// The process is one that was set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_setup_operation_iterator(process: *mut Process, kind: c_int) -> c_int {
    // SAFETY: the caller's promise.
    code(unsafe { look(process) }.and_then(|(info, memory)| {
        info.operation = 0;
        info.operations.clear();
        let (comm, rank) = current(info)?;
        let operations = match kind {
            PENDING_SENDS => rank.sends(&memory, comm)?,
            PENDING_RECEIVES => rank.receives(&memory, comm)?,
            UNEXPECTED_MESSAGES => rank.unexpected(&memory, comm)?,
            _ => return Err(NO_INFORMATION),
        };
        info.is_send = kind == PENDING_SENDS;
        info.operations = operations;
        if info.operations.is_empty() { Err(NO_INFORMATION) } else { Ok(()) }
    }))
}

/// # Safety
/// The process is one that was set up; `to` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_next_operation(process: *mut Process, to: *mut PendingOperation) -> c_int {
    // SAFETY: the caller's promise.
    code(unsafe { look(process) }.and_then(|(info, _)| {
        let operation = info.operations.get(info.operation).ok_or(END_OF_LIST)?;
        let (comm, rank) = current(info)?;
        let shown = show(operation, comm, rank, info.is_send);
        info.operation += 1;
        // SAFETY: the caller's promise.
        unsafe { to.write(shown) };
        Ok(())
    }))
}

fn show(operation: &Operation, comm: &Comm, rank: &Rank, is_send: bool) -> PendingOperation {
    let member = operation.rank.and_then(|rank| comm.members.get(usize::try_from(rank).ok()?));
    let local = operation.rank.map_or(NO_RANK, Word::from);
    let global = member.and_then(|&member| rank.world_rank(member)).map_or(NO_RANK, Word::from);
    let tag = operation.tag.map_or(0, Word::from);
    let bytes = Word::try_from(operation.bytes).unwrap_or(Word::MAX);
    // What a receive will get is not known yet.
    let is_known = is_send || operation.buffer.is_none();
    let known = |value: Word, otherwise: Word| if is_known { value } else { otherwise };
    PendingOperation {
        status: PENDING,
        desired_local_rank: local,
        desired_global_rank: global,
        tag_wild: c_int::from(operation.tag.is_none()),
        desired_tag: tag,
        desired_length: bytes,
        system_buffer: c_int::from(operation.buffer.is_none()),
        buffer: operation.buffer.unwrap_or(0),
        actual_local_rank: known(local, NO_RANK),
        actual_global_rank: known(global, NO_RANK),
        actual_tag: known(tag, 0),
        actual_length: known(bytes, 0),
        extra_text: [[0; TEXT]; 5],
    }
}
