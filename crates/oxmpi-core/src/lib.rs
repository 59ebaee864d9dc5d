//! placeholder
pub mod matching;
