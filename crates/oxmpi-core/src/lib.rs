//! placeholder
pub mod errors;
pub mod matching;
