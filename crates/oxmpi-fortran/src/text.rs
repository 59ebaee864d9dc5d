//! Texts: padded with blanks to a known length in Fortran, ended by a NUL in C.

use crate::c_names::*;
use crate::handles::positive;

/// A text as Fortran passes it: its start, and its length, which compilers pass after the other
/// arguments.
pub type Padded = (*mut c_char, usize);

/// A text for C, without the blanks at its end.
///
/// # Safety
/// The text may be read.
pub unsafe fn text(padded: Padded) -> Vec<u8> {
    // SAFETY: the caller promises that this memory is valid: see the Safety section.
    let bytes = unsafe { bytes(padded) };
    with_nul(trim_end(bytes))
}

/// A text for C, without the blanks around it.
///
/// # Safety
/// The text may be read.
pub unsafe fn trimmed(padded: Padded) -> Vec<u8> {
    // SAFETY: the caller promises that this memory is valid: see the Safety section.
    let bytes = trim_end(unsafe { bytes(padded) });
    let blanks = bytes.iter().take_while(|b| **b == b' ').count();
    with_nul(&bytes[blanks..])
}

/// Texts of an array without the blanks around them, up to the first empty one or `most`; `step` is
/// the distance between them.
///
/// # Safety
/// The array may be read up to there.
pub unsafe fn texts(start: *mut c_char, length: usize, step: usize, most: usize) -> Vec<Vec<u8>> {
    // SAFETY: the caller promises that this memory is valid: see the Safety section.
    let all = (0..most).map(|i| unsafe { trimmed((start.add(i * step), length)) });
    all.take_while(|text| text.len() > 1).collect()
}

/// A buffer for a text that C writes.
pub fn room(length: c_int) -> Vec<u8> {
    vec![0; positive(length) + 1]
}

/// Stores the text that C has written, if any: as much as fits, padded with blanks.
///
/// # Safety
/// The text may be written.
pub unsafe fn put_text(padded: Padded, written: &[u8], code: c_int) {
    if code != MPI_SUCCESS || padded.1 == 0 {
        return;
    }
    let written = written.split(|b| *b == 0).next().unwrap_or_default();
    let count = written.len().min(padded.1);
    // SAFETY: the caller promises that the text may be written; both parts are within its length.
    unsafe {
        padded.0.cast::<u8>().copy_from_nonoverlapping(written.as_ptr(), count);
        padded.0.cast::<u8>().add(count).write_bytes(b' ', padded.1 - count);
    }
}

unsafe fn bytes<'a>(padded: Padded) -> &'a [u8] {
    if padded.0.is_null() {
        return &[];
    }
    // SAFETY: the caller promises that this memory is valid: see the Safety section.
    unsafe { std::slice::from_raw_parts(padded.0.cast(), padded.1) }
}

fn trim_end(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().rposition(|b| *b != b' ').map_or(0, |last| last + 1);
    &bytes[..length]
}

fn with_nul(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len() + 1);
    text.extend_from_slice(bytes);
    text.push(0);
    text
}
