//! Copies within this process, from and to user memory of any layout.

use oxmpi_datatype::{Cursor, Source, Target};

/// The packed bytes of a buffer.
pub fn pack(buf: &Source<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(buf.len());
    // SAFETY: the vector has room for the packed bytes, all of which are written before its length is set.
    unsafe {
        Cursor::new().pack(buf, bytes.as_mut_ptr(), buf.len());
        bytes.set_len(buf.len());
    }
    bytes
}

/// Unpacks bytes into a buffer at the cursor's position.
pub fn unpack(bytes: &[u8], buf: &Target<'_>, cursor: &mut Cursor) {
    cursor.unpack_from(buf, bytes);
}

/// Copies as much of one buffer into another as fits.
pub fn copy(from: &Source<'_>, to: &Target<'_>) {
    copy_part(from, 0, to, 0, from.len().min(to.len()));
}

/// Copies bytes from an offset in the packed stream of one buffer to an offset in that of another.
pub fn copy_part(from: &Source<'_>, start: usize, to: &Target<'_>, end: usize, bytes: usize) {
    assert!(start + bytes <= from.len() && end + bytes <= to.len());
    if bytes == 0 {
        return;
    }
    let (mut reader, mut writer) = (Cursor::new(), Cursor::new());
    reader.seek(from, start);
    writer.seek(to, end);
    // SAFETY: both parts are inside their streams, as asserted; a source may be read and a target
    // written. Two runs may overlap, against MPI's rules: `copy` allows that. Buffers with gaps
    // that overlap break the promise with which they were made. The intermediate part is memory of
    // this function.
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
