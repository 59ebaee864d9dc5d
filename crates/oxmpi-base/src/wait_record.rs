//! What a rank waits for, in words, for `mpirun` to read when it has to say where every rank is.
//!
//! The rank writes the record when a wait has been in vain for a while, and clears it when the wait
//! is over. The reader is another process and believes nothing: the bytes may be anything.

use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};

const WORDS: usize = 63;
/// Longer texts are cut.
pub const MOST_BYTES: usize = WORDS * 8;

/// A text behind a version that is odd while the text changes. Zeroes are no text.
#[repr(C, align(64))]
pub struct WaitRecord {
    version: AtomicU32,
    length: AtomicU32,
    words: [AtomicU64; WORDS],
}

impl WaitRecord {
    /// Writes a text; an empty one is none. Only the owner does, one thread at a time.
    pub fn write(&self, text: &str) {
        let mut length = text.len().min(MOST_BYTES);
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        let version = self.version.load(Ordering::Relaxed) | 1;
        self.version.store(version, Ordering::Relaxed);
        // A reader that sees a new word sees that the version is odd, or newer.
        fence(Ordering::Release);
        for (word, bytes) in self.words.iter().zip(text.as_bytes()[..length].chunks(8)) {
            let mut eight = [0; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(eight), Ordering::Relaxed);
        }
        self.length.store(length as u32, Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Release);
    }

    /// The text, in printable characters; `None` if there is none, or it keeps changing.
    pub fn read(&self) -> Option<String> {
        const ATTEMPTS: usize = 100;
        for _ in 0..ATTEMPTS {
            let version = self.version.load(Ordering::Acquire);
            let length = self.length.load(Ordering::Relaxed) as usize;
            let bytes: Vec<u8> =
                self.words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).take(length).collect();
            fence(Ordering::Acquire);
            if version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version {
                let text = String::from_utf8_lossy(&bytes).replace(|c: char| c.is_control(), "?");
                return (!text.is_empty()).then_some(text);
            }
            std::hint::spin_loop();
        }
        None
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn empty() -> WaitRecord {
        WaitRecord {
            version: AtomicU32::new(0),
            length: AtomicU32::new(0),
            words: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    #[test]
    fn a_text_is_read_until_it_is_cleared() {
        let record = empty();
        assert_eq!(record.read(), None);
        for text in ["from rank 1, tag 7, on MPI_COMM_WORLD", "from rank 2"] {
            record.write(text);
            assert_eq!(record.read().as_deref(), Some(text));
        }
        record.write("");
        assert_eq!(record.read(), None);
        // Cut between characters.
        record.write(&"\u{e9}".repeat(MOST_BYTES));
        assert_eq!(record.read().unwrap().len(), MOST_BYTES);
        record.write(&format!("a{}", "\u{e9}".repeat(MOST_BYTES)));
        assert_eq!(record.read().unwrap().len(), MOST_BYTES - 1);
    }

    #[test]
    fn any_bytes_can_be_read() {
        let record = empty();
        record.words.iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
        record.length.store(u32::MAX, Ordering::Relaxed);
        assert!(record.read().unwrap().chars().all(|c| c == char::REPLACEMENT_CHARACTER));
        record.words[0].store(u64::from_ne_bytes(*b"a\x1b[2J\nb\0"), Ordering::Relaxed);
        record.length.store(8, Ordering::Relaxed);
        assert_eq!(record.read().as_deref(), Some("a?[2J?b?"));
        record.version.store(3, Ordering::Relaxed);
        assert_eq!(record.read(), None, "it never stops changing");
    }
}
