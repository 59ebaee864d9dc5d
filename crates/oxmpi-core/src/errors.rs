//! Error codes, classes and their texts: where an [`Error`] becomes the `int` that an MPI call returns, and where
//! `MPI_Error_string` finds its text again.
//!
//! ```text
//!  31 30 29             14 13            0
//! +--+--+-----------------+---------------+
//! | 0| 1|    sequence     |  error class  |    an error that OxMPI raised, with a text of its own
//! +--+--+-----------------+---------------+
//! ```
//!
//! Values up to `MPI_ERR_LASTCODE` are the standard's classes, which are codes too. Values between that and bit 30
//! are classes and codes that the user added. The texts of the latest errors are kept; an older code still tells its
//! class. Nothing here calls an error handler or prints.

mod texts;

use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result, bail};
use std::collections::BTreeMap;

const RAISED: i32 = 1 << 30;
const SEQUENCE_SHIFT: u32 = 14;
const CLASS_MASK: i32 = MPI_ERR_LASTCODE;
const _: () = assert!(MPI_ERR_LASTCODE == (1 << SEQUENCE_SHIFT) - 1);

/// How many texts are kept.
const KEPT: usize = 256;

/// The longest text that `MPI_Error_string` may return, without the null character.
const LONGEST: usize = MPI_MAX_ERROR_STRING as usize - 1;

/// All error codes of this process. `MPI_Error_class` and its kin work at any time and from any thread, so the owner
/// is a global lock.
pub struct ErrorRegistry {
    /// The latest texts, each with its code; the index is the sequence number modulo [`KEPT`].
    raised: Vec<(i32, String)>,
    next_sequence: u16,
    /// The texts of the latest errors whose code is their class.
    failures: BTreeMap<i32, String>,
    /// The classes and codes that the user added.
    added: BTreeMap<i32, Added>,
    next_added: i32,
}

struct Added {
    /// For a class, the value itself.
    class: i32,
    text: Option<String>,
}

impl ErrorRegistry {
    pub const fn new() -> ErrorRegistry {
        ErrorRegistry {
            raised: Vec::new(),
            next_sequence: 0,
            failures: BTreeMap::new(),
            added: BTreeMap::new(),
            next_added: MPI_ERR_LASTCODE + 1,
        }
    }

    /// The code that `call_name` returns for `error`. Its text is kept for [`ErrorRegistry::string_of`].
    ///
    /// Some values stand for themselves: those that programs compare a return value with (`MPI_ERR_IN_STATUS`,
    /// `MPI_ERR_PENDING`, the `MPI_T_ERR_*` and `MPIX_ERR_*`), and codes that came from the user, such as a callback's.
    /// The text of an `MPIX_ERR_*` is that of the latest such error.
    #[cold]
    pub fn code_for(&mut self, error: &Error, call_name: &str) -> i32 {
        let class = match error.class() {
            plain @ (MPI_ERR_IN_STATUS | MPI_ERR_PENDING) => return plain,
            tool @ MPI_T_ERR_CANNOT_INIT..=MPI_T_ERR_PVAR_NO_ATOMIC => return tool,
            users if users > MPI_ERR_LASTCODE => return users,
            class if class > MPI_SUCCESS && error_class_name(class).is_some() => class,
            _ => MPI_ERR_UNKNOWN,
        };
        let text = if error.text().is_empty() { texts::of_class(class).unwrap_or_default() } else { error.text() };
        let text = format!("{call_name}: {text}");
        if (MPIX_ERR_PROC_FAILED..=MPIX_ERR_REVOKED).contains(&class) {
            self.failures.insert(class, text);
            return class;
        }
        // A program that retries must not displace all other texts.
        let latest = usize::from(self.next_sequence.wrapping_sub(1)) % KEPT;
        match self.raised.get(latest) {
            Some((code, kept)) if code & CLASS_MASK == class && *kept == text => return *code,
            _ => {}
        }
        let code = RAISED | i32::from(self.next_sequence) << SEQUENCE_SHIFT | class;
        let place = usize::from(self.next_sequence) % KEPT;
        match self.raised.get_mut(place) {
            Some(slot) => *slot = (code, text),
            None => self.raised.push((code, text)),
        }
        self.next_sequence = self.next_sequence.wrapping_add(1);
        code
    }

    /// The class of a code; `None` when the code does not exist.
    pub fn class_of(&self, code: i32) -> Option<i32> {
        if code & RAISED != 0 && code > 0 {
            let class = code & CLASS_MASK;
            return error_class_name(class).filter(|_| class != MPI_SUCCESS).map(|_| class);
        }
        if code <= MPI_ERR_LASTCODE {
            return (error_class_name(code).is_some() || code == MPI_ERR_LASTCODE).then_some(code);
        }
        Some(self.added.get(&code)?.class)
    }

    /// The text of a code or class, short enough for `MPI_Error_string`; `None` when it does not
    /// exist. Empty for a user's code without a text.
    pub fn string_of(&self, code: i32) -> Option<String> {
        let class = self.class_of(code)?;
        if let Some(added) = self.added.get(&code) {
            return Some(added.text.clone().unwrap_or_default());
        }
        let raised = || self.raised.iter().find(|(raised, _)| *raised == code).map(|(_, text)| text);
        let kept = self.failures.get(&code).or_else(raised).cloned();
        Some(cut(kept.unwrap_or_else(|| {
            let name = error_class_name(class).unwrap_or("MPI_ERR_LASTCODE");
            format!("{name}: {}", texts::of_class(class).unwrap_or_default())
        })))
    }

    /// `MPI_Add_error_class`
    pub fn add_class(&mut self) -> Result<i32> {
        let value = self.next_value()?;
        self.added.insert(value, Added { class: value, text: None });
        Ok(value)
    }

    /// `MPI_Add_error_code`
    pub fn add_code(&mut self, class: i32) -> Result<i32> {
        if class == MPI_SUCCESS || self.class_of(class) != Some(class) {
            bail!(MPI_ERR_ARG, "{class} is not an error class");
        }
        let value = self.next_value()?;
        self.added.insert(value, Added { class, text: None });
        Ok(value)
    }

    /// `MPI_Add_error_string`; replaces a string that is there.
    pub fn add_string(&mut self, code: i32, text: &str) -> Result<()> {
        if text.chars().count() > MPI_MAX_ERROR_STRING as usize {
            let length = text.chars().count();
            bail!(MPI_ERR_ARG, "the string is {length} characters long; the limit is {MPI_MAX_ERROR_STRING}");
        }
        self.users(code)?.text = Some(cut(text.to_owned()));
        Ok(())
    }

    /// `MPI_Remove_error_class`
    pub fn remove_class(&mut self, class: i32) -> Result<()> {
        if self.users(class)?.class != class {
            bail!(MPI_ERR_ARG, "{class} is an error code, not an error class");
        }
        if let Some((code, _)) = self.added.iter().find(|(code, added)| added.class == class && **code != class) {
            bail!(MPI_ERR_ARG, "error class {class} still has error code {code}; remove that first");
        }
        if self.users(class)?.text.is_some() {
            bail!(MPI_ERR_ARG, "error class {class} still has a string; remove that first");
        }
        self.added.remove(&class);
        Ok(())
    }

    /// `MPI_Remove_error_code`
    pub fn remove_code(&mut self, code: i32) -> Result<()> {
        let added = self.users(code)?;
        if added.class == code {
            bail!(MPI_ERR_ARG, "{code} is an error class, not an error code");
        }
        if added.text.is_some() {
            bail!(MPI_ERR_ARG, "error code {code} still has a string; remove that first");
        }
        self.added.remove(&code);
        Ok(())
    }

    /// `MPI_Remove_error_string`
    pub fn remove_string(&mut self, code: i32) -> Result<()> {
        if self.users(code)?.text.take().is_none() {
            bail!(MPI_ERR_ARG, "{code} has no string that was added");
        }
        Ok(())
    }

    /// The value of `MPI_LASTUSEDCODE`: the largest class or code in use, `MPI_ERR_LASTCODE` without any of the
    /// user's.
    pub fn last_used_code(&self) -> i32 {
        self.added.last_key_value().map_or(MPI_ERR_LASTCODE, |(value, _)| *value)
    }

    fn users(&mut self, code: i32) -> Result<&mut Added> {
        if code <= MPI_ERR_LASTCODE {
            bail!(
                MPI_ERR_ARG,
                "error code or class {code} was not added by the program (it is not above {MPI_ERR_LASTCODE})"
            );
        }
        match self.added.get_mut(&code) {
            Some(added) => Ok(added),
            None => bail!(MPI_ERR_ARG, "error code or class {code} was not added by the program, or was removed"),
        }
    }

    /// A value that was never used, so that a removed one does not get another meaning.
    fn next_value(&mut self) -> Result<i32> {
        if self.next_added >= RAISED {
            bail!(MPI_ERR_NO_SPACE, "no values are left for error classes and codes");
        }
        self.next_added += 1;
        Ok(self.next_added - 1)
    }
}

impl Default for ErrorRegistry {
    fn default() -> ErrorRegistry {
        ErrorRegistry::new()
    }
}

/// Cuts a text to the maximum length, never inside a character.
fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(result: Result<impl Sized>) -> i32 {
        result.err().map_or(MPI_SUCCESS, |error| error.class())
    }

    #[test]
    fn every_class_has_a_text_and_is_its_own_class() {
        let registry = ErrorRegistry::new();
        let mut texts = std::collections::HashSet::new();
        for class in 0..=MPI_ERR_LASTCODE {
            match error_class_name(class) {
                Some(name) => {
                    assert_eq!(registry.class_of(class), Some(class));
                    let text = texts::of_class(class).unwrap_or_else(|| panic!("{name} has no text"));
                    assert!(texts.insert(text), "{name}'s text is another's");
                    assert_eq!(registry.string_of(class), Some(format!("{name}: {text}")));
                }
                None if class == MPI_ERR_LASTCODE => assert!(registry.string_of(class).is_some()),
                None => assert_eq!((registry.class_of(class), registry.string_of(class)), (None, None)),
            }
        }
        for wrong in [-1, i32::MIN, MPI_ERR_LASTCODE + 1, RAISED, RAISED | 500, -RAISED, i32::MAX] {
            assert_eq!(registry.class_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_code_keeps_the_text_of_its_error() {
        let mut registry = ErrorRegistry::new();
        let code = registry.code_for(&Error::new(MPI_ERR_RANK, "invalid rank 7"), "MPI_Send");
        assert!(code > MPI_ERR_LASTCODE);
        assert_eq!(registry.class_of(code), Some(MPI_ERR_RANK));
        assert_eq!(registry.string_of(code).unwrap(), "MPI_Send: invalid rank 7");
        assert_eq!(registry.code_for(&Error::new(MPI_ERR_RANK, "invalid rank 7"), "MPI_Send"), code);
        let other = registry.code_for(&Error::new(MPI_ERR_TAG, "invalid rank 7"), "MPI_Send");
        assert_ne!(other, code);
        assert_ne!(registry.code_for(&Error::new(MPI_ERR_RANK, "invalid rank 7"), "MPI_Recv"), code);
        let empty = registry.code_for(&Error::new(MPI_ERR_COUNT, ""), "MPI_Recv");
        assert!(registry.string_of(empty).unwrap().len() > "MPI_Recv: ".len());
        let strange = registry.code_for(&Error::new(0, "x"), "MPI_Recv");
        assert_eq!(registry.class_of(strange), Some(MPI_ERR_UNKNOWN));
    }

    #[test]
    fn some_values_stand_for_themselves() {
        let mut registry = ErrorRegistry::new();
        let mine = registry.add_class().unwrap();
        for plain in [MPI_ERR_IN_STATUS, MPI_ERR_PENDING, MPI_T_ERR_INVALID_INDEX, mine] {
            assert_eq!(registry.code_for(&Error::new(plain, "text"), "MPI_Waitall"), plain);
        }
        let raised = registry.code_for(&Error::new(MPI_ERR_OP, "text"), "MPI_Reduce");
        assert_eq!(registry.code_for(&Error::new(raised, "again"), "MPI_Comm_dup"), raised);
        assert_eq!(registry.string_of(raised).unwrap(), "MPI_Reduce: text");
    }

    #[test]
    fn an_overwritten_text_falls_back_to_the_class() {
        let mut registry = ErrorRegistry::new();
        let mut codes = Vec::new();
        for n in 0..70_000 {
            codes.push(registry.code_for(&Error::new(MPI_ERR_TAG, format!("tag {n}")), "MPI_Send"));
        }
        assert!(codes.iter().all(|code| *code > RAISED && registry.class_of(*code) == Some(MPI_ERR_TAG)));
        for (n, code) in codes.iter().enumerate().skip(70_000 - KEPT) {
            assert_eq!(registry.string_of(*code).unwrap(), format!("MPI_Send: tag {n}"));
        }
        let old = registry.string_of(codes[60_000]).unwrap();
        assert_eq!(old, registry.string_of(MPI_ERR_TAG).unwrap());
        assert_eq!(registry.raised.len(), KEPT);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let mut registry = ErrorRegistry::new();
        let code = registry.code_for(&Error::new(MPI_ERR_IO, "é".repeat(600)), "MPI_File_open");
        let text = registry.string_of(code).unwrap();
        assert!(text.len() <= LONGEST && text.len() >= LONGEST - 1 && text.ends_with('é'));
        let mine = registry.add_class().unwrap();
        registry.add_string(mine, &"x".repeat(512)).unwrap();
        assert_eq!(registry.string_of(mine).unwrap().len(), 511);
        assert_eq!(class(registry.add_string(mine, &"x".repeat(513))), MPI_ERR_ARG);
    }

    #[test]
    fn classes_codes_and_strings_of_the_user() {
        let mut registry = ErrorRegistry::new();
        assert_eq!(registry.last_used_code(), MPI_ERR_LASTCODE);
        let mine = registry.add_class().unwrap();
        assert!(mine > MPI_ERR_LASTCODE);
        assert_eq!(registry.last_used_code(), mine);
        let code = registry.add_code(mine).unwrap();
        let io = registry.add_code(MPI_ERR_IO).unwrap();
        assert_eq!([mine, code, io].map(|c| registry.class_of(c)), [Some(mine), Some(mine), Some(MPI_ERR_IO)]);
        assert_eq!(registry.last_used_code(), io);
        assert_eq!(registry.string_of(code).unwrap(), "");
        registry.add_string(code, "mine").unwrap();
        registry.add_string(code, "my own").unwrap();
        registry.add_string(mine, "my class").unwrap();
        assert_eq!(registry.string_of(code).unwrap(), "my own");
        assert_eq!(registry.string_of(mine).unwrap(), "my class");

        // In the order that the standard requires, and each only once.
        assert_eq!(class(registry.remove_class(mine)), MPI_ERR_ARG);
        assert_eq!(class(registry.remove_code(code)), MPI_ERR_ARG);
        assert_eq!(class(registry.remove_code(mine)), MPI_ERR_ARG);
        assert_eq!(class(registry.remove_class(code)), MPI_ERR_ARG);
        registry.remove_string(code).unwrap();
        assert_eq!(class(registry.remove_string(code)), MPI_ERR_ARG);
        assert_eq!(registry.string_of(code).unwrap(), "");
        registry.remove_code(code).unwrap();
        assert_eq!(class(registry.remove_code(code)), MPI_ERR_ARG);
        assert_eq!(registry.class_of(code), None);
        assert_eq!(class(registry.remove_class(mine)), MPI_ERR_ARG);
        registry.remove_string(mine).unwrap();
        registry.remove_class(mine).unwrap();
        assert_eq!(registry.last_used_code(), io);
        registry.remove_code(io).unwrap();
        assert_eq!(registry.last_used_code(), MPI_ERR_LASTCODE);
        assert!(registry.add_class().unwrap() > io);
    }

    #[test]
    fn only_what_the_user_added_can_be_changed() {
        let mut registry = ErrorRegistry::new();
        for standard in [MPI_SUCCESS, MPI_ERR_RANK, MPI_ERR_LASTCODE, -5, MPI_ERR_LASTCODE + 1] {
            assert_eq!(class(registry.add_string(standard, "x")), MPI_ERR_ARG);
            assert_eq!(class(registry.remove_string(standard)), MPI_ERR_ARG);
            assert_eq!(class(registry.remove_code(standard)), MPI_ERR_ARG);
            assert_eq!(class(registry.remove_class(standard)), MPI_ERR_ARG);
        }
        let code = registry.add_code(MPI_ERR_IO).unwrap();
        for not_a_class in [code, -1, MPI_SUCCESS, 999, RAISED | MPI_ERR_IO] {
            assert_eq!(class(registry.add_code(not_a_class)), MPI_ERR_ARG);
        }
    }
}
