//! A sequence-locked record that one rank writes repeatedly and others read: a number that
//! identifies it, and words that belong to it. A reader never combines words of different records.

use crate::sync::{AtomicU64, Ordering, fence};

/// Zeroes mean that there is no record.
#[repr(C)]
pub struct SeqRecord<const WORDS: usize> {
    about: AtomicU64,
    words: [AtomicU64; WORDS],
}

impl<const WORDS: usize> SeqRecord<WORDS> {
    /// Writes a new record; with number 0 there is none.
    pub fn put(&self, about: u64, words: [u64; WORDS]) {
        // A reader sees either the old number, or the new one and then its words.
        self.about.store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        self.words.iter().zip(words).for_each(|(at, word)| at.store(word, Ordering::Relaxed));
        self.about.store(about, Ordering::SeqCst);
    }

    pub fn get(&self) -> Option<(u64, [u64; WORDS])> {
        // SeqCst: of two ranks that write their record and then read the other's, at least one sees
        // the other's.
        let about = self.about.load(Ordering::SeqCst);
        let words = std::array::from_fn(|index| self.words[index].load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        // The words belong to the number if it is unchanged, because they are written between two
        // changes of it.
        (about != 0 && self.about.load(Ordering::Relaxed) == about).then_some((about, words))
    }
}

#[cfg(test)]
impl<const WORDS: usize> SeqRecord<WORDS> {
    pub fn none() -> SeqRecord<WORDS> {
        SeqRecord { about: AtomicU64::new(0), words: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_until_the_next() {
        let record = SeqRecord::none();
        assert_eq!(record.get(), None);
        record.put(3, [1, 2]);
        assert_eq!(record.get(), Some((3, [1, 2])));
        record.put(0, [0, 0]);
        assert_eq!(record.get(), None);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn loom_words_belong_to_their_record() {
        loom::model(|| {
            let record = Arc::new(SeqRecord::none());
            let writer = Arc::clone(&record);
            let thread = loom::thread::spawn(move || {
                for about in 1..=2 {
                    writer.put(about, [10 * about, 20 * about]);
                }
            });
            if let Some((about, words)) = record.get() {
                assert_eq!(words, [10 * about, 20 * about]);
            }
            thread.join().unwrap();
            assert_eq!(record.get(), Some((2, [20, 40])));
        });
    }
}
