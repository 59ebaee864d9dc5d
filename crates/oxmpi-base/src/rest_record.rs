//! What a rank publishes when it can do nothing until certain other ranks act, for `mpirun`, which finds ranks that wait for
//! each other for ever.
//!
//! The rank writes a record when a wait has been in vain for a while, and withdraws it before it does anything but look for
//! what it waits for. A record never changes while it is up, and each has a number of its own. So a rank that answers two
//! questions with the same number has only looked in between. The reader believes nothing: the words may be anything.

use crate::sync::{AtomicU64, Ordering, fence};

/// Ranges of ranks in a record. A rank that waits for more of them names a range around some.
pub const RANGES: usize = 23;

/// The record is up. Beside it: how many ranges it has, and [`ENDED_ONLY`].
const UP: u64 = 1 << 63;
/// A rank that has finalized may still act, because it may open a session; only one that has ended does not.
const ENDED_ONLY: u64 = 1 << 62;

/// Zeroes are no record.
#[repr(C, align(64))]
pub struct RestRecord {
    /// Odd while the record changes.
    version: AtomicU64,
    head: AtomicU64,
    /// The number of the record.
    number: AtomicU64,
    /// When the wait began, in nanoseconds of the monotonic clock.
    since: AtomicU64,
    ranges: [AtomicU64; RANGES],
    /// The last question of `mpirun`; 0 is none.
    asked: AtomicU64,
    /// The last question that the rank has answered, and the number of its record then.
    answered: AtomicU64,
    answer: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

/// What a rank answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number of its record: since that was published, the rank has only looked. [`UNCERTAIN`]: it cannot say so.
    pub number: u64,
    /// The frames that it has sent over networks to the ranks that are asked, and those that it has received from them.
    pub sent: u64,
    pub received: u64,
}

/// No record has this number.
pub const UNCERTAIN: u64 = u64::MAX;

/// The content of a record.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Rest {
    pub number: u64,
    pub since: u64,
    /// The ranks of which one must act before this one can, by their numbers in the job: the first, and how many.
    pub ranges: Vec<(u32, u32)>,
    /// A rank that has finalized may still act.
    pub ended_only: bool,
}

impl RestRecord {
    /// Publishes a record. Only the owner does, one thread at a time.
    pub fn publish(&self, rest: &Rest) {
        debug_assert!(rest.ranges.len() <= RANGES);
        let version = self.begin();
        for (word, (first, count)) in self.ranges.iter().zip(&rest.ranges) {
            word.store(u64::from(*first) << 32 | u64::from(*count), Ordering::Relaxed);
        }
        self.number.store(rest.number, Ordering::Relaxed);
        self.since.store(rest.since, Ordering::Relaxed);
        let ended_only = if rest.ended_only { ENDED_ONLY } else { 0 };
        self.head.store(UP | ended_only | rest.ranges.len() as u64, Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Release);
    }

    /// Withdraws the record.
    pub fn withdraw(&self) {
        let version = self.begin();
        self.head.store(0, Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Release);
        // What the rank does now comes after that for every other process.
        fence(Ordering::SeqCst);
    }

    fn begin(&self) -> u64 {
        let version = self.version.load(Ordering::Relaxed) | 1;
        self.version.store(version, Ordering::Relaxed);
        // A reader that sees a new word sees that the version is odd, or newer.
        fence(Ordering::Release);
        version
    }

    /// The record, if there is one and it does not change just now.
    pub fn read(&self) -> Option<Rest> {
        let version = self.version.load(Ordering::Acquire);
        let head = self.head.load(Ordering::Relaxed);
        let (number, since) = (self.number.load(Ordering::Relaxed), self.since.load(Ordering::Relaxed));
        let words = self.ranges.iter().map(|word| word.load(Ordering::Relaxed));
        let count = (head & u64::from(u32::MAX)) as usize;
        let ranges = words.take(count).map(|word| ((word >> 32) as u32, word as u32)).collect();
        fence(Ordering::Acquire);
        let is_whole = version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version;
        (is_whole && head & UP != 0 && count <= RANGES).then_some(Rest {
            number,
            since,
            ranges,
            ended_only: head & ENDED_ONLY != 0,
        })
    }

    // ---- questions ----

    /// Asks the rank; it must be woken afterwards.
    pub fn ask(&self, question: u64) {
        // SeqCst, as the rank's word that it sleeps: either the rank sees the question before it sleeps, or it is woken.
        self.asked.store(question, Ordering::SeqCst);
    }

    /// The question that the rank has not answered.
    pub fn question(&self) -> Option<u64> {
        let asked = self.asked.load(Ordering::SeqCst);
        (asked != self.answered.load(Ordering::Relaxed)).then_some(asked)
    }

    pub fn answer(&self, question: u64, answer: Answer) {
        self.answer.store(answer.number, Ordering::Relaxed);
        self.sent.store(answer.sent, Ordering::Relaxed);
        self.received.store(answer.received, Ordering::Relaxed);
        self.answered.store(question, Ordering::Release);
    }

    /// The answer to a question, once the rank has given it.
    pub fn answer_to(&self, question: u64) -> Option<Answer> {
        let answer = || Answer {
            number: self.answer.load(Ordering::Relaxed),
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
        };
        (self.answered.load(Ordering::Acquire) == question).then(answer)
    }
}

#[cfg(test)]
fn empty() -> RestRecord {
    RestRecord {
        version: AtomicU64::new(0),
        head: AtomicU64::new(0),
        number: AtomicU64::new(0),
        since: AtomicU64::new(0),
        ranges: std::array::from_fn(|_| AtomicU64::new(0)),
        asked: AtomicU64::new(0),
        answered: AtomicU64::new(0),
        answer: AtomicU64::new(0),
        sent: AtomicU64::new(0),
        received: AtomicU64::new(0),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_until_it_is_withdrawn() {
        let record = empty();
        assert_eq!(record.read(), None);
        for number in 1..3 {
            let rest = Rest { number, since: 7, ranges: vec![(3, 1), (5, 100)], ended_only: number == 2 };
            record.publish(&rest);
            assert_eq!(record.read(), Some(rest));
        }
        record.withdraw();
        assert_eq!(record.read(), None);
        let many = Rest { ranges: vec![(1, 1); RANGES], ..Rest::default() };
        record.publish(&many);
        assert_eq!(record.read(), Some(many));
    }

    #[test]
    fn any_words_can_be_read() {
        let record = empty();
        record.head.store(u64::MAX, Ordering::Relaxed);
        assert_eq!(record.read(), None, "more ranges than there are");
        record.head.store(UP, Ordering::Relaxed);
        record.version.store(1, Ordering::Relaxed);
        assert_eq!(record.read(), None, "it never stops changing");
    }

    #[test]
    fn a_question_is_open_until_it_is_answered() {
        let record = empty();
        assert_eq!(record.question(), None);
        record.ask(4);
        assert_eq!((record.question(), record.answer_to(4)), (Some(4), None));
        let answer = Answer { number: 9, sent: 3, received: 4 };
        record.answer(4, answer);
        assert_eq!((record.question(), record.answer_to(4), record.answer_to(5)), (None, Some(answer), None));
    }
}

/// Two ranks that wait for each other, and a judge: it must not get two answers from both if a message is under way.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    fn answer(number: u64) -> Answer {
        Answer { number, sent: 0, received: 0 }
    }

    /// Rank 0 sends to rank 1 and then rests; rank 1 rests, and would see the message when it looks.
    #[test]
    fn two_equal_answers_mean_that_nothing_is_under_way() {
        loom::model(|| {
            let (sender, receiver) = (Arc::new(empty()), Arc::new(empty()));
            let message = Arc::new(AtomicU64::new(0));
            let rest = |number| Rest { number, ..Rest::default() };
            receiver.publish(&rest(1));
            let sends = thread::spawn({
                let (record, message) = (Arc::clone(&sender), Arc::clone(&message));
                move || {
                    message.store(1, Ordering::Release);
                    record.publish(&rest(1));
                    if let Some(question) = record.question() {
                        record.answer(question, answer(1));
                    }
                }
            });
            let waits = thread::spawn({
                let (record, message) = (Arc::clone(&receiver), Arc::clone(&message));
                move || {
                    for _ in 0..2 {
                        let Some(question) = record.question() else { continue };
                        if message.load(Ordering::Acquire) == 1 {
                            return record.withdraw();
                        }
                        record.answer(question, answer(1));
                    }
                }
            });
            // The judge asks both once; then the receiver again.
            sender.ask(1);
            receiver.ask(1);
            let first = sender.answer_to(1) == Some(answer(1)) && receiver.answer_to(1) == Some(answer(1));
            if first {
                receiver.ask(2);
            }
            sends.join().unwrap();
            waits.join().unwrap();
            assert!(
                !(first && receiver.answer_to(2) == Some(answer(1))),
                "the message has arrived before the second question"
            );
        });
    }
}
