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
    copy_part(from, 0, to, 0, from.len().min(to.len()));
}

/// Copies so many bytes from a place in the packed stream of one buffer to a place in that of another.
pub fn copy_part(from: &Buf, start: usize, to: &Buf, end: usize, bytes: usize) {
    assert!(start + bytes <= from.len() && end + bytes <= to.len());
    if bytes == 0 {
        return;
    }
    let (mut reader, mut writer) = (Cursor::new(), Cursor::new());
    reader.seek(from, start);
    writer.seek(to, end);
    // SAFETY: both are buffers of pending operations; overlap is an error of the user's, but `copy` is defined for it.
    unsafe {
        match (from.as_dense(), to.as_dense()) {
            (Some(from), Some(to)) => std::ptr::copy(from.wrapping_add(start), to.wrapping_add(end), bytes),
            (Some(from), None) => {
                writer.unpack(to, from.wrapping_add(start), bytes);
            }
            (None, Some(to)) => {
                reader.pack(from, to.wrapping_add(end), bytes);
            }
            (None, None) => {
                let mut part = vec![0u8; bytes.min(64 << 10)];
                while writer.position() < end + bytes {
                    let moved = reader.pack(from, part.as_mut_ptr(), part.len().min(end + bytes - writer.position()));
                    writer.unpack(to, part.as_ptr(), moved);
                }
            }
        }
    }
}
