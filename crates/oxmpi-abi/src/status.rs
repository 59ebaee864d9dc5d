//! `MPI_Status`: eight C ints, the first three public. The private five hold the number of bytes
//! received and whether the operation was cancelled.

/// The ABI's status object. The alignment is that of an int, so the 64-bit byte count is kept in
/// two halves.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    pub source: i32,
    pub tag: i32,
    pub error: i32,
    bytes_low: u32,
    bytes_high: u32,
    cancelled: i32,
    reserved: [i32; 2],
}

impl Status {
    #[inline]
    pub fn new(source: i32, tag: i32, bytes: u64) -> Status {
        Status {
            source,
            tag,
            error: 0,
            bytes_low: bytes as u32,
            bytes_high: (bytes >> 32) as u32,
            cancelled: 0,
            reserved: [0; 2],
        }
    }

    /// What the standard calls the empty status: any source, any tag, nothing received.
    #[inline]
    pub fn empty() -> Status {
        Status::new(-1, -2, 0)
    }

    /// The status of a receive from `MPI_PROC_NULL`.
    #[inline]
    pub fn proc_null() -> Status {
        Status::new(-3, -2, 0)
    }

    /// Copies another status except its error field, which only calls that complete several
    /// operations set.
    #[inline]
    pub fn assign(&mut self, other: &Status) {
        *self = Status { error: self.error, ..*other };
    }

    /// Bytes of data, in packed form, that the operation moved.
    #[inline]
    pub fn bytes(&self) -> u64 {
        u64::from(self.bytes_low) | u64::from(self.bytes_high) << 32
    }

    pub fn set_bytes(&mut self, bytes: u64) {
        self.bytes_low = bytes as u32;
        self.bytes_high = (bytes >> 32) as u32;
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled != 0
    }

    pub fn set_cancelled(&mut self, cancelled: bool) {
        self.cancelled = i32::from(cancelled);
    }
}

const _: () = assert!(size_of::<Status>() == 32 && align_of::<Status>() == 4);
