//! What the library tells the recorder in its process. Both are built together; the version is for installations that were
//! mixed.

/// The symbol of `libmpi_abi.so.1` that takes a [`Recorder`]: `int oxmpi_record(const Recorder *, unsigned version)`, not 0
/// when it does not fit.
pub const SYMBOL: &str = "oxmpi_record";
pub const VERSION: u32 = 1;

/// A message as both of its ends can name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Message {
    pub bytes: u64,
    /// The context of its communicator, odd for messages of the library's own.
    pub context: u32,
    /// The sender's rank in the communicator.
    pub source: i32,
    pub tag: i32,
}

impl Message {
    /// Sent by the library for an operation, not by the program.
    pub fn is_internal(&self) -> bool {
        self.context & 1 != 0
    }
}

/// A process of another job, as a receiver.
pub const ELSEWHERE: u32 = u32::MAX;

/// The functions that the library calls while it holds its lock. They call nothing of it.
#[derive(Debug)]
#[repr(C)]
pub struct Recorder {
    /// A message was posted for a rank of the world, or for [`ELSEWHERE`].
    pub sent: extern "C" fn(to: u32, message: Message),
    /// A receive was posted; the number is told when it is matched.
    pub posted: extern "C" fn() -> u32,
    /// A message has matched a receive.
    pub matched: extern "C" fn(posted: u32, message: Message),
    /// The call begins (1) or stops (0) to wait for others.
    pub waits: extern "C" fn(begins: u32),
    /// The call is a collective operation of so many bytes of this rank.
    pub collective: extern "C" fn(bytes: u64),
    /// The algorithm of the collective operation, as text that lives for ever.
    pub algorithm: extern "C" fn(name: *const u8, length: usize),
    /// The call accesses so many bytes of a window.
    pub accessed: extern "C" fn(bytes: u64),
}
