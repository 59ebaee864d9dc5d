//! Bytes that lie in several pieces.

use oxmpi_base::cma::Piece;

/// The next bytes of pieces.
#[derive(Clone)]
pub struct Walk<'a> {
    pub pieces: &'a [Piece],
    /// In the first piece.
    pub at: usize,
}

impl Walk<'_> {
    /// Calls `each` with the address of the next bytes, their number and how many came before, for so many bytes.
    fn walk(&mut self, bytes: usize, mut each: impl FnMut(usize, usize, usize)) {
        let mut done = 0;
        while done < bytes
            && let Some(&(address, length)) = self.pieces.first()
        {
            let here = (length - self.at).min(bytes - done);
            each(address + self.at, here, done);
            done += here;
            self.at += here;
            if self.at == length {
                self.pieces = &self.pieces[1..];
                self.at = 0;
            }
        }
    }

    pub fn skip(&mut self, bytes: usize) {
        self.walk(bytes, |_, _, _| {});
    }

    /// # Safety
    /// The pieces may be read.
    pub unsafe fn read(&mut self, into: &mut [u8]) {
        let to = into.as_mut_ptr();
        // SAFETY: the pieces may be read, by the contract of this function; `into` has room for all bytes.
        self.walk(into.len(), |address, count, at| unsafe {
            std::ptr::copy_nonoverlapping(std::ptr::with_exposed_provenance::<u8>(address), to.add(at), count);
        });
    }

    /// # Safety
    /// The pieces may be written.
    pub unsafe fn write(&mut self, from: &[u8]) {
        let bytes = from.as_ptr();
        // SAFETY: the pieces may be written, by the contract of this function; `from` has all bytes.
        self.walk(from.len(), |address, count, at| unsafe {
            std::ptr::copy_nonoverlapping(bytes.add(at), std::ptr::with_exposed_provenance_mut::<u8>(address), count);
        });
    }
}
