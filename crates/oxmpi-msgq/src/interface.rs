//! The types of the message queue interface of parallel debuggers ("MPI Message Queue Dumping Interface", version 1.0), as C
//! lays them out.

use std::ffi::{c_char, c_int, c_long, c_ulong, c_void};

/// The version of the interface that a debugger must have.
pub const COMPATIBILITY: c_int = 2;

/// An address in the process that is debugged, and a word of it.
pub type Address = c_ulong;
pub type Word = c_long;

/// Results. Those from 100 on are explained by `mqs_dll_error_string`.
pub const OK: c_int = 0;
pub const NO_INFORMATION: c_int = 1;
pub const END_OF_LIST: c_int = 2;
pub const FIRST_OWN: c_int = 100;

/// Kinds of operations.
pub const PENDING_SENDS: c_int = 0;
pub const PENDING_RECEIVES: c_int = 1;
pub const UNEXPECTED_MESSAGES: c_int = 2;

/// The status of an operation.
pub const PENDING: c_int = 0;

/// A rank that is not known, and any rank.
pub const NO_RANK: Word = -1;

/// What the debugger calls an executable with its libraries, and a process. Only it looks inside.
pub type Image = c_void;
pub type Process = c_void;

pub type PutInfo = unsafe extern "C" fn(*mut c_void, *mut c_void);
pub type GetInfo = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

#[repr(C)]
pub struct BasicCallbacks {
    pub malloc: *const c_void,
    pub free: *const c_void,
    pub prints: *const c_void,
    pub error_string: *const c_void,
    pub put_image_info: Option<PutInfo>,
    pub get_image_info: Option<GetInfo>,
    pub put_process_info: Option<PutInfo>,
    pub get_process_info: Option<GetInfo>,
}

pub type FindSymbol = unsafe extern "C" fn(*mut Image, *mut c_char, *mut Address) -> c_int;

#[repr(C)]
pub struct ImageCallbacks {
    pub get_type_sizes: *const c_void,
    pub find_function: *const c_void,
    pub find_symbol: Option<FindSymbol>,
    pub find_type: *const c_void,
    pub field_offset: *const c_void,
    pub size_of: *const c_void,
}

pub type GetImage = unsafe extern "C" fn(*mut Process) -> *mut Image;
pub type FetchData = unsafe extern "C" fn(*mut Process, Address, c_int, *mut c_void) -> c_int;

#[repr(C)]
pub struct ProcessCallbacks {
    pub get_global_rank: *const c_void,
    pub get_image: Option<GetImage>,
    pub fetch_data: Option<FetchData>,
    pub target_to_host: *const c_void,
}

pub const TEXT: usize = 64;

#[repr(C)]
pub struct Communicator {
    pub unique_id: Address,
    pub local_rank: Word,
    pub size: Word,
    pub name: [u8; TEXT],
}

#[repr(C)]
pub struct PendingOperation {
    pub status: c_int,
    pub desired_local_rank: Word,
    pub desired_global_rank: Word,
    pub tag_wild: c_int,
    pub desired_tag: Word,
    pub desired_length: Word,
    pub system_buffer: c_int,
    pub buffer: Address,
    pub actual_local_rank: Word,
    pub actual_global_rank: Word,
    pub actual_tag: Word,
    pub actual_length: Word,
    pub extra_text: [[u8; TEXT]; 5],
}
