//! What the types of a send and of the receive that matches it must have in common: the sequence of the classes of
//! their basic elements, as a hash. A class is a kind of number and its length, so `MPI_INT` and `MPI_INTEGER` are one.
//!
//! The hash is a polynomial: sequences join, and repeat in logarithmic time.

use crate::named::{Group, NAMED, Named, Scalar};

/// The kind of a basic element and its length: equal for elements that match.
pub type Class = u16;

/// The modulus of the hash, a prime.
const PRIME: u64 = (1 << 61) - 1;
const BASE: u64 = 0x0123_4567_89ab_cdef % PRIME;

/// A sequence of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    hash: u64,
    /// `BASE` to the power of the length.
    power: u64,
    content: Content,
    /// The predefined type of all elements, by its handle, if there is one; for people.
    name: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Empty,
    /// All elements have this class.
    One(Class),
    Several,
    /// Bytes are among them, which match everything, or the type is too large to be walked.
    Anything,
}

/// The product; without a division, since 2^61 is 1 here.
fn times(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    plus(product as u64 & PRIME, (product >> 61) as u64)
}

/// The sum of two numbers of at most [`PRIME`].
fn plus(a: u64, b: u64) -> u64 {
    let sum = a + b;
    if sum >= PRIME { sum - PRIME } else { sum }
}

impl Classes {
    pub const EMPTY: Classes = Classes { hash: 0, power: 1, content: Content::Empty, name: 0 };
    pub const ANYTHING: Classes = Classes { content: Content::Anything, ..Classes::EMPTY };

    pub(crate) fn one(scalar: Scalar, group: Group, name: u16) -> Classes {
        let class = class(scalar, group);
        let content = class.map_or(Content::Anything, Content::One);
        Classes { hash: u64::from(class.unwrap_or(0)) + 1, power: BASE, content, name }
    }

    /// One element of a predefined type; a pair is two.
    pub fn of_named(named: &Named) -> Classes {
        match named.index {
            None => Classes::one(named.scalar, named.group, named.handle),
            Some(index) => {
                let value = Classes::one(named.scalar, Group::CInteger, named.handle);
                value.then(Classes::one(index.scalar, Group::CInteger, named.handle))
            }
        }
    }

    /// This sequence and another one behind it.
    pub fn then(self, next: Classes) -> Classes {
        let content = match (self.content, next.content) {
            (Content::Empty, other) | (other, Content::Empty) => other,
            (Content::Anything, _) | (_, Content::Anything) => Content::Anything,
            (Content::One(a), Content::One(b)) if a == b => Content::One(a),
            _ => Content::Several,
        };
        let name = match (self.content, next.content) {
            (Content::Empty, _) => next.name,
            (_, Content::Empty) => self.name,
            _ if self.name == next.name => self.name,
            _ => 0,
        };
        let hash = plus(times(self.hash, next.power), next.hash);
        Classes { hash, power: times(self.power, next.power), content, name }
    }

    /// This sequence so many times.
    pub fn repeat(self, mut count: u128) -> Classes {
        let (mut all, mut square) = (Classes::EMPTY, self);
        while count > 0 {
            if count & 1 == 1 {
                all = all.then(square);
            }
            square = square.then(square);
            count >>= 1;
        }
        all
    }

    /// The handle of the predefined type of all elements; 0 if there is none.
    pub fn name(self) -> u16 {
        self.name
    }

    pub fn is_anything(self) -> bool {
        self.content == Content::Anything
    }

    /// A hash of the whole sequence, its length too: equal for equal sequences. `None` if it matches everything.
    pub fn whole(self) -> Option<u64> {
        (!self.is_anything()).then(|| self.hash ^ self.power.rotate_left(3))
    }
}

/// What a message says about its type, in one word.
///
/// ```text
/// | 1 bit: there is a word | 2 bits: one class, several, anything | 1 bit: ready | 12 bits | 16 bits: name | 32 bits: class or hash |
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signature(u64);

const PRESENT: u64 = 1 << 63;
const ONE: u64 = 1 << 61;
const SEVERAL: u64 = 2 << 61;
const KIND: u64 = 3 << 61;
const READY: u64 = 1 << 60;

impl Signature {
    pub const NONE: Signature = Signature(0);

    pub fn new(classes: Classes) -> Signature {
        let (kind, value) = match classes.content {
            Content::Anything | Content::Empty => (0, 0),
            Content::One(class) => (ONE, u64::from(class)),
            Content::Several => (SEVERAL, classes.hash & u64::from(u32::MAX)),
        };
        Signature(PRESENT | kind | u64::from(classes.name) << 32 | value)
    }

    /// From a word of another process, which may be anything.
    pub fn from_word(word: u64) -> Signature {
        Signature(word)
    }

    pub fn word(self) -> u64 {
        self.0
    }

    /// The same for a message that promises that its receive is posted.
    pub fn ready(self) -> Signature {
        Signature(self.0 | READY)
    }

    /// Whether the message was sent because its receive is posted.
    pub fn is_ready(self) -> bool {
        self.0 & (PRESENT | READY) == PRESENT | READY
    }

    pub fn is_none(self) -> bool {
        self.0 & PRESENT == 0
    }

    /// Whether this is about something that can be compared.
    pub fn is_comparable(self) -> bool {
        !self.is_none() && self.0 & KIND != 0
    }

    /// Whether elements of both kinds match; unknown ones do.
    pub fn matches(self, other: Signature) -> bool {
        let value = |signature: Signature| signature.0 & (KIND | u64::from(u32::MAX));
        !self.is_comparable() || !other.is_comparable() || value(self) == value(other)
    }

    /// For people: the name of a type, or what kind of type it is.
    pub fn describe(self) -> String {
        let handle = (self.0 >> 32) as u16;
        let named = |handle: u16| NAMED.iter().find(|named| named.handle == handle).map(|named| named.name);
        match (named(handle), self.0 & KIND) {
            (Some(name), _) => name.into(),
            (None, ONE) => class_name(self.0 as Class),
            _ => "several types".into(),
        }
    }
}

/// The class of a basic element; `None` for bytes and packed data.
fn class(scalar: Scalar, group: Group) -> Option<Class> {
    const SIGNED: u16 = 1;
    const UNSIGNED: u16 = 2;
    const FLOAT: u16 = 3;
    const COMPLEX: u16 = 4;
    const LOGICAL: u16 = 5;
    const CHARACTER: u16 = 6;
    const BFLOAT: u16 = 7;
    const LONG_DOUBLE: u16 = 8;
    const LONG_COMPLEX: u16 = 9;
    if matches!(group, Group::Byte | Group::Packed) {
        return None;
    }
    let kind = match scalar {
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 | Scalar::I128 => SIGNED,
        Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => UNSIGNED,
        Scalar::F16 | Scalar::F32 | Scalar::F64 | Scalar::F128 => FLOAT,
        Scalar::Bfloat16 => BFLOAT,
        Scalar::LongDouble => LONG_DOUBLE,
        Scalar::CLongDouble => LONG_COMPLEX,
        Scalar::C16 | Scalar::C32 | Scalar::C64 | Scalar::C128 => COMPLEX,
        Scalar::Bool | Scalar::Logical(_) => LOGICAL,
        Scalar::Char | Scalar::WChar => CHARACTER,
        Scalar::Byte => return None,
    };
    Some(kind << 8 | scalar.size() as u16)
}

fn class_name(class: Class) -> String {
    let kinds = [
        "signed integers",
        "unsigned integers",
        "real numbers",
        "complex numbers",
        "logical values",
        "characters",
        "bfloat16 numbers",
        "long doubles",
        "long double complex numbers",
    ];
    let kind = kinds.get(usize::from(class >> 8).wrapping_sub(1)).copied().unwrap_or("elements");
    format!("{kind} of {} bytes", class & 0xff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Datatype, predefined};
    use std::sync::Arc;

    fn named(name: &str) -> Arc<Datatype> {
        let found = NAMED.iter().find(|named| named.name == name).unwrap();
        Arc::clone(predefined(found.handle.into()).unwrap())
    }

    fn signature(of: &Datatype, bytes: u64) -> Signature {
        of.classes_of(bytes).map_or(Signature::NONE, Signature::new)
    }

    #[test]
    fn names_of_one_class_match_and_others_do_not() {
        let pairs = [
            ("MPI_INT", "MPI_INTEGER", true),
            ("MPI_LONG", "MPI_INT64_T", true),
            ("MPI_DOUBLE", "MPI_DOUBLE_PRECISION", true),
            ("MPI_CHAR", "MPI_CHARACTER", true),
            ("MPI_BYTE", "MPI_DOUBLE", true),
            ("MPI_INT", "MPI_PACKED", true),
            ("MPI_2INT", "MPI_INT", true),
            ("MPI_INT", "MPI_FLOAT", false),
            ("MPI_INT", "MPI_UNSIGNED", false),
            ("MPI_CHAR", "MPI_SIGNED_CHAR", false),
            ("MPI_DOUBLE_INT", "MPI_INT", false),
            ("MPI_LONG_DOUBLE", "MPI_REAL16", false),
        ];
        for (a, b, same) in pairs {
            let (x, y) = (signature(&named(a), 48), signature(&named(b), 48));
            assert_eq!(x.matches(y), same, "{a} {b}");
            assert_eq!(y.matches(x), same, "{b} {a}");
        }
    }

    #[test]
    fn products_are_remainders() {
        let numbers = [0, 1, 2, BASE, PRIME / 2, PRIME - 2, PRIME - 1];
        for (a, b) in numbers.iter().flat_map(|a| numbers.map(|b| (*a, b))) {
            assert_eq!(u128::from(times(a, b)), u128::from(a) * u128::from(b) % u128::from(PRIME), "{a} {b}");
            assert_eq!(plus(a, b), (a + b) % PRIME, "{a} {b}");
        }
    }

    #[test]
    fn sequences_join_and_repeat() {
        let (int, double) = (named("MPI_INT").classes(), named("MPI_DOUBLE").classes());
        let pair = int.then(double);
        assert_eq!(pair.repeat(3), pair.then(pair).then(pair));
        assert_eq!(int.repeat(5).then(int.repeat(7)), int.repeat(12));
        assert_eq!(int.repeat(0), Classes::EMPTY);
        assert_ne!(pair.whole(), double.then(int).whole());
        assert_ne!(int.whole(), int.repeat(2).whole());
        assert_eq!(named("MPI_BYTE").classes().whole(), None);
    }

    #[test]
    fn derived_types_are_their_elements() {
        let (int, double) = (named("MPI_INT"), named("MPI_DOUBLE"));
        let ten = Datatype::contiguous(10, &int).unwrap();
        assert_eq!(ten.classes(), int.classes().repeat(10));
        assert!(signature(&ten, 12).matches(signature(&int, 12)));
        let vector = Datatype::vector(3, 2, 5, &int).unwrap();
        assert_eq!(vector.classes_of(24), int.classes_of(24));
        let mixed =
            Datatype::create_struct(vec![1, 2], vec![0, 8], vec![Arc::clone(&int), Arc::clone(&double)]).unwrap();
        let by_hand = int.classes().then(double.classes().repeat(2));
        assert_eq!(mixed.classes(), by_hand);
        assert_eq!(mixed.classes_of(20 + 12), Some(by_hand.then(int.classes()).then(double.classes())));
        assert_eq!(mixed.classes_of(20 + 2), None);
        assert!(!signature(&mixed, 20).matches(signature(&int, 20)));
        assert_eq!(signature(&mixed, 20).describe(), "several types");
        let pairs = named("MPI_DOUBLE_INT");
        let three = double.classes().then(int.classes()).then(double.classes());
        assert_eq!(pairs.classes_of(20).and_then(Classes::whole), three.whole());
    }

    #[test]
    fn any_word_can_be_described() {
        for word in [0, u64::MAX, PRESENT, PRESENT | ONE, PRESENT | SEVERAL | 0x209 << 32] {
            assert!(!Signature::from_word(word).describe().is_empty());
        }
        assert_eq!(signature(&named("MPI_INT"), 4).describe(), "MPI_INT");
        assert!(Signature::NONE.matches(signature(&named("MPI_INT"), 4)));
    }
}
