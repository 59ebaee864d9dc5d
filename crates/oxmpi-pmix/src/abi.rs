//! Layouts and numbers of the PMIx standard.

use std::ffi::{CStr, c_char};

pub const SUCCESS: i32 = 0;
/// Values that all processes see.
pub const SCOPE_GLOBAL: u8 = 3;
/// A rank that stands for the whole job.
pub const WILDCARD: u32 = u32::MAX - 1;
/// The key of a fence that collects what was put.
pub const COLLECT: &str = "pmix.collect";

const NAMESPACE_BYTES: usize = 256;
const KEY_BYTES: usize = 512;

/// `pmix_proc_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Proc {
    namespace: [u8; NAMESPACE_BYTES],
    pub rank: u32,
}

/// `pmix_value_t`: the type tells which member of a union is meant; all begin at its first byte.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Value {
    kind: u16,
    data: [u64; 3],
}

/// `pmix_info_t`.
#[repr(C)]
pub struct Info {
    key: [u8; KEY_BYTES],
    flags: u32,
    value: Value,
}

const _: () = assert!(size_of::<Proc>() == 260 && size_of::<Value>() == 32 && size_of::<Info>() == 552);

const BOOL: u16 = 1;
const STRING: u16 = 3;

/// Types of numbers, with their bytes, and whether they have a sign.
const NUMBERS: [(u16, usize, bool); 12] = [
    (4, size_of::<usize>(), false),
    (6, 4, true),
    (7, 1, true),
    (8, 2, true),
    (9, 4, true),
    (10, 8, true),
    (11, 4, false),
    (12, 1, false),
    (13, 2, false),
    (14, 4, false),
    (15, 8, false),
    // A rank.
    (40, 4, false),
];

impl Proc {
    pub fn new() -> Proc {
        Proc { namespace: [0; NAMESPACE_BYTES], rank: 0 }
    }

    /// Another process of the same job.
    pub fn with_rank(self, rank: u32) -> Proc {
        Proc { rank, ..self }
    }

    /// The name of the job; `None` for one that is empty or has no end.
    pub fn namespace(&self) -> Option<&str> {
        let name = CStr::from_bytes_until_nul(&self.namespace).ok()?;
        name.to_str().ok().filter(|name| !name.is_empty())
    }
}

impl Value {
    /// A text, which must outlive the uses of the value.
    pub fn of_text(text: &CStr) -> Value {
        Value { kind: STRING, data: [text.as_ptr().expose_provenance() as u64, 0, 0] }
    }

    /// The address of the text that this value is, if it is one.
    pub fn text(&self) -> Option<*mut c_char> {
        (self.kind == STRING).then(|| std::ptr::with_exposed_provenance_mut(self.data[0] as usize))
    }

    /// The number that this value is; `None` for another type, and for one below zero.
    pub fn number(&self) -> Option<u64> {
        let &(_, bytes, has_sign) = NUMBERS.iter().find(|(kind, ..)| *kind == self.kind)?;
        let mut number = [0; 8];
        // Numbers of this machine, whatever its byte order.
        let at = if cfg!(target_endian = "big") { 8 - bytes } else { 0 };
        number[at..at + bytes].copy_from_slice(&self.data[0].to_ne_bytes()[..bytes]);
        let number = u64::from_ne_bytes(number);
        let is_below_zero = has_sign && number >> (8 * bytes - 1) != 0;
        (!is_below_zero).then_some(number)
    }

    pub fn kind(&self) -> u16 {
        self.kind
    }
}

impl Info {
    /// An option that is on.
    pub fn flag(name: &str) -> Info {
        let mut key = [0; KEY_BYTES];
        key[..name.len()].copy_from_slice(name.as_bytes());
        let mut data = [0; 3];
        data[0] = u64::from_ne_bytes([1, 0, 0, 0, 0, 0, 0, 0]);
        Info { key, flags: 0, value: Value { kind: BOOL, data } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_type_that_they_say() {
        let number = |kind: u16, data: u64| Value { kind, data: [data, 7, 7] }.number();
        let word = u64::from_ne_bytes([0xfe, 0xff, 0xff, 0xff, 1, 0, 0, 0]);
        if cfg!(target_endian = "little") {
            assert_eq!(number(14, word), Some(0xffff_fffe));
            assert_eq!(number(13, word), Some(0xfffe));
            assert_eq!(number(12, word), Some(0xfe));
            assert_eq!(number(4, word), Some(0x1_ffff_fffe));
            assert_eq!(number(6, word), None, "-2");
        }
        assert_eq!((number(9, 0), number(40, 0), number(10, u64::MAX)), (Some(0), Some(0), None));
        assert_eq!((number(BOOL, 1), number(STRING, 1), number(99, 1)), (None, None, None));
    }

    #[test]
    fn a_name_must_end() {
        let mut process = Proc::new();
        assert_eq!(process.namespace(), None);
        process.namespace[..2].copy_from_slice(b"ab");
        assert_eq!(process.namespace(), Some("ab"));
        process.namespace.fill(b'x');
        assert_eq!(process.namespace(), None);
    }

    #[test]
    fn a_text_is_found_again() {
        let value = Value::of_text(c"here");
        assert_eq!(value.text().map(|at| at.cast_const()), Some(c"here".as_ptr()));
        assert_eq!(Info::flag(COLLECT).value.text(), None);
    }
}
