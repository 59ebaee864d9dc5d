//! Tags that say which call their message is of, for communicators over several nodes.
//!
//! Ranks that share a board compare their calls there. Between nodes only messages travel, so the tag of a collective
//! operation contains a signature of its call and of all calls before it: a message of another call matches no receive, and
//! is found among the unexpected messages (`wait/mismatch.rs`).
//!
//! ```text
//!  31  30  29                       12  11                  0
//! +---+---+---------------------------+---------------------+
//! | 1 | 1 | number of the operation   |  signature          |
//! +---+---+---------------------------+---------------------+
//! ```
//!
//! Bit 31 marks the library's own tags, bit 30 these ones: tags without a signature do not use it on communicators of one
//! group. Numbers come again after 262,144 operations. That two operations with the same number and the same signature are
//! under way at the same time is as unlikely as a counter of 30 bits that has wrapped around.

/// The one bit that counted tags of collective operations do not use. On communicators of one group it marks a [`CallTag`];
/// on intercommunicators, messages within the own group.
pub const LOCAL: i32 = 1 << 30;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallTag(i32);

const SIGNATURE_BITS: u32 = 12;
const SIGNATURE: i32 = (1 << SIGNATURE_BITS) - 1;
const MARK: i32 = i32::MIN | LOCAL;

impl CallTag {
    /// From a tag that counts the operations of the communicator, and a hash of all calls up to this one.
    pub fn new(counted: i32, history: u64) -> CallTag {
        CallTag(MARK | (counted << SIGNATURE_BITS & !MARK) | signature(history))
    }

    /// The tag of a message on the inner context of a communicator of one group; `None` if it has no signature.
    pub fn from_tag(tag: i32) -> Option<CallTag> {
        (tag & MARK == MARK).then_some(CallTag(tag))
    }

    pub fn tag(self) -> i32 {
        self.0
    }

    /// Whether both are of the same operation of the communicator, by number, and their calls differ.
    pub fn contradicts(self, other: CallTag) -> bool {
        self != other && self.0 & !SIGNATURE == other.0 & !SIGNATURE
    }

    pub fn has_signature_of(self, history: u64) -> bool {
        self.0 & SIGNATURE == signature(history)
    }
}

fn signature(history: u64) -> i32 {
    // The high bits of the hash depend on all of its input.
    (history >> (u64::BITS - SIGNATURE_BITS)) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_one_operation_differ_only_with_the_calls() {
        let (one, other) = (1 << 60, 2 << 60);
        let tag = CallTag::new(i32::MIN | 5, one);
        assert_eq!(CallTag::from_tag(tag.tag()), Some(tag));
        assert!(tag.contradicts(CallTag::new(i32::MIN | 5, other)));
        assert!(!tag.contradicts(CallTag::new(i32::MIN | 5, one)));
        assert!(!tag.contradicts(CallTag::new(i32::MIN | 6, other)));
        assert!(tag.has_signature_of(one) && !tag.has_signature_of(other));
        // Numbers come again, and the highest one leaves the other bits alone.
        assert_eq!(CallTag::new(i32::MIN | 5 | 1 << 18, one), tag);
        assert_eq!(CallTag::new(!LOCAL, one).tag() as u32 >> 30, 3);
    }

    #[test]
    fn other_tags_have_no_signature() {
        for tag in [0, 7, i32::MAX, i32::MIN | 5] {
            assert_eq!(CallTag::from_tag(tag), None);
        }
    }
}
