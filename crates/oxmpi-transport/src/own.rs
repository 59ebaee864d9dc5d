//! Bytes that stay in this process: to and from user memory of any layout.

use oxmpi_datatype::{Buf, Cursor};

/// The packed bytes of a buffer.
pub fn pack(buf: &Buf) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(buf.len());
    // SAFETY: the vector has room for the packed bytes, all of which are written; the Buf is that of a pending send.
    unsafe {
        Cursor::new().pack(buf, bytes.as_mut_ptr(), buf.len());
        bytes.set_len(buf.len());
    }
    bytes
}

/// Puts packed bytes at the cursor's place in a buffer.
pub fn unpack(bytes: &[u8], buf: &Buf, cursor: &mut Cursor) {
    // SAFETY: reads the slice; the Buf is that of a pending receive, and the cursor stops at its end.
    unsafe { cursor.unpack(buf, bytes.as_ptr(), bytes.len()) };
}

/// Copies as much of one buffer into another as fits.
pub fn copy(from: &Buf, to: &Buf) {
    let bytes = from.len().min(to.len());
    if bytes == 0 {
        return;
    }
    // SAFETY: both are buffers of pending operations; overlap is an error of the user's, but `copy` is defined for it.
    unsafe {
        match (from.as_dense(), to.as_dense()) {
            (Some(from), Some(to)) => std::ptr::copy(from, to, bytes),
            (Some(from), None) => {
                Cursor::new().unpack(to, from, bytes);
            }
            (None, Some(to)) => {
                Cursor::new().pack(from, to, bytes);
            }
            (None, None) => {
                let (mut reader, mut writer) = (Cursor::new(), Cursor::new());
                let mut part = vec![0u8; bytes.min(64 << 10)];
                while writer.position() < bytes {
                    let moved = reader.pack(from, part.as_mut_ptr(), part.len().min(bytes - writer.position()));
                    writer.unpack(to, part.as_ptr(), moved);
                }
            }
        }
    }
}
