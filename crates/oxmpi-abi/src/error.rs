//! The error that travels through OxMPI as a value. It becomes an MPI error code, and meets an
//! error handler, only at the C boundary.

use crate::constants::{MPI_ERR_PROC_ABORTED, MPIX_ERR_PROC_FAILED, MPIX_ERR_PROC_FAILED_PENDING, MPIX_ERR_REVOKED};
use std::fmt;

/// An MPI error class (`MPI_ERR_*`) and a text that a person can act on: the arguments that matter,
/// what was expected and what came. The name of the MPI call is added at the C boundary, which
/// knows it.
///
/// Boxed, so that `Result<()>` is one word and the hot paths pay nothing for the text.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    class: i32,
    text: String,
    /// What the error handler is given, where that is not the error's own code.
    code_for_handler: Option<i32>,
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    #[cold]
    pub fn new(class: i32, text: impl Into<String>) -> Error {
        Error(Box::new(Inner { class, text: text.into(), code_for_handler: None }))
    }

    /// The error class, one of the ABI's `MPI_ERR_*` values or one that the user added.
    pub fn class(&self) -> i32 {
        self.0.class
    }

    /// Whether nothing is wrong with the call: a process has ended, in a job that goes on or not, or the object was revoked.
    pub fn is_of_others(&self) -> bool {
        self.class() == MPI_ERR_PROC_ABORTED || self.is_survivable()
    }

    /// Whether the program can go on without those that have failed: in a job that does (`--with-ft`), or because the object was
    /// revoked.
    pub fn is_survivable(&self) -> bool {
        matches!(self.class(), MPIX_ERR_PROC_FAILED | MPIX_ERR_PROC_FAILED_PENDING | MPIX_ERR_REVOKED)
    }

    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The same error, of which the error handler hears with another code than the call returns: for `MPI_ERR_IN_STATUS`,
    /// where the handler is given the code of the first status with an error.
    #[cold]
    pub fn with_code_for_handler(mut self, code: i32) -> Error {
        self.0.code_for_handler = Some(code);
        self
    }

    pub fn code_for_handler(&self) -> Option<i32> {
        self.0.code_for_handler
    }

    /// The same error with words before its text, which a caller adds as context.
    #[cold]
    pub fn within(mut self, outer: impl fmt::Display) -> Error {
        self.0.text = format!("{outer}: {}", self.0.text);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error(class {}: {})", self.0.class, self.0.text)
    }
}

impl std::error::Error for Error {}

/// `bail!(CLASS, "format", args…)`: returns an [`Error`] of that class from the function.
#[macro_export]
macro_rules! bail {
    ($class:expr, $($text:tt)+) => {
        return Err($crate::Error::new($class, format!($($text)+)))
    };
}
