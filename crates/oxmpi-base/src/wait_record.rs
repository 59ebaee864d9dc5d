//! What a rank waits for, in words, and who has called MPI there, for `mpirun` to read when it has to say where every rank is.
//!
//! The rank writes the record when a wait has been in vain for a while, and clears it when the wait
//! is over. The reader is another process and believes nothing: the bytes may be anything.

use crate::callers::CALLERS;
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};

const WORDS: usize = if cfg!(loom) { 2 } else { 63 - CALLERS };
/// How often a reader tries.
const ATTEMPTS: usize = if cfg!(loom) { 2 } else { 100 };
/// Longer texts are cut.
pub const MOST_BYTES: usize = WORDS * 8;

/// What a rank waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// A text that follows the name of the call.
    pub text: String,
    /// The return addresses of the call (`callers.rs`).
    pub callers: [u64; CALLERS],
}

/// A text behind a version that is odd while the text changes. Zeroes are no text.
#[repr(C, align(64))]
pub struct WaitRecord {
    version: AtomicU32,
    length: AtomicU32,
    callers: [AtomicU64; CALLERS],
    words: [AtomicU64; WORDS],
}

impl WaitRecord {
    /// Writes a text and return addresses; an empty text and zeroes are none. Only the owner does, one thread at a time.
    pub fn write(&self, text: &str, callers: [u64; CALLERS]) {
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
        self.callers.iter().zip(callers).for_each(|(word, caller)| word.store(caller, Ordering::Relaxed));
        self.length.store(length as u32, Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Release);
    }

    /// The text, in printable characters, and the addresses; `None` if there is neither, or they keep changing.
    pub fn read(&self) -> Option<Waits> {
        for _ in 0..ATTEMPTS {
            let version = self.version.load(Ordering::Acquire);
            let length = self.length.load(Ordering::Relaxed) as usize;
            let callers = std::array::from_fn(|index| self.callers[index].load(Ordering::Relaxed));
            let bytes: Vec<u8> =
                self.words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).take(length).collect();
            fence(Ordering::Acquire);
            if version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version {
                let text = String::from_utf8_lossy(&bytes).replace(|c: char| c.is_control(), "?");
                let waits = Waits { text, callers };
                return (waits != Waits::default()).then_some(waits);
            }
            std::hint::spin_loop();
        }
        None
    }
}

#[cfg(test)]
fn empty() -> WaitRecord {
    WaitRecord {
        version: AtomicU32::new(0),
        length: AtomicU32::new(0),
        callers: std::array::from_fn(|_| AtomicU64::new(0)),
        words: std::array::from_fn(|_| AtomicU64::new(0)),
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    /// A reader gets a text with its addresses, whole, or nothing; and the last one once the writer is done.
    #[test]
    fn loom_a_text_is_read_whole() {
        let waits = |text: &str, callers| Waits { text: text.into(), callers };
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(move || {
            let record = Arc::new(empty());
            let writer = Arc::clone(&record);
            let thread = loom::thread::spawn(move || {
                writer.write("from rank 1", [1, 11]);
                writer.write("no", [2, 22]);
            });
            let seen = record.read();
            let whole = [waits("from rank 1", [1, 11]), waits("no", [2, 22])];
            assert!(seen.as_ref().is_none_or(|seen| whole.contains(seen)), "{seen:?}");
            thread.join().unwrap();
            assert_eq!(record.read().as_ref(), Some(&whole[1]));
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_until_it_is_cleared() {
        let record = empty();
        assert_eq!(record.read(), None);
        for text in ["from rank 1, tag 7, on MPI_COMM_WORLD", "from rank 2"] {
            record.write(text, [7, 9]);
            assert_eq!(record.read(), Some(Waits { text: text.into(), callers: [7, 9] }));
        }
        record.write("", [7, 0]);
        assert_eq!(record.read(), Some(Waits { text: String::new(), callers: [7, 0] }));
        record.write("", [0, 0]);
        assert_eq!(record.read(), None);
        // Cut between characters.
        record.write(&"\u{e9}".repeat(MOST_BYTES), [0, 0]);
        assert_eq!(record.read().unwrap().text.len(), MOST_BYTES);
        record.write(&format!("a{}", "\u{e9}".repeat(MOST_BYTES)), [0, 0]);
        assert_eq!(record.read().unwrap().text.len(), MOST_BYTES - 1);
    }

    #[test]
    fn any_bytes_can_be_read() {
        let record = empty();
        record.words.iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
        record.length.store(u32::MAX, Ordering::Relaxed);
        assert!(record.read().unwrap().text.chars().all(|c| c == char::REPLACEMENT_CHARACTER));
        record.words[0].store(u64::from_ne_bytes(*b"a\x1b[2J\nb\0"), Ordering::Relaxed);
        record.length.store(8, Ordering::Relaxed);
        assert_eq!(record.read().unwrap().text, "a?[2J?b?");
        record.version.store(3, Ordering::Relaxed);
        assert_eq!(record.read(), None, "it never stops changing");
    }
}
