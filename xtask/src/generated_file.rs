//! What the generators make, and `codegen.rs` writes.

use std::path::PathBuf;

/// A generated file; the path is relative to the root of the repository.
pub struct Output {
    pub path: PathBuf,
    pub text: String,
}
