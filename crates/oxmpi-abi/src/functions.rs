//! The functions of the C interface as values: their names, chapters, and which of them are built.

pub use crate::generated::functions::{ALL, Fun};

use crate::generated::functions::FACTS;
use std::collections::HashMap;
use std::sync::LazyLock;

impl Fun {
    /// The name in C, `MPI_Send`.
    pub fn name(self) -> &'static str {
        FACTS[self as usize].0
    }

    /// The chapter of the standard that describes it.
    pub fn chapter(self) -> u8 {
        FACTS[self as usize].1
    }

    /// Whether the function is built; any other returns `MPI_ERR_UNSUPPORTED_OPERATION`.
    pub fn is_built(self) -> bool {
        FACTS[self as usize].2
    }

    /// Whether the function is one of the 664 of the standard ABI, not a removed or additional one.
    pub fn is_standard(self) -> bool {
        FACTS[self as usize].3
    }

    /// The variant of the function with counts of type `int`, or the function itself.
    pub fn without_large_counts(self) -> Fun {
        static PLAIN: LazyLock<Box<[Fun]>> = LazyLock::new(|| {
            let named: HashMap<&str, Fun> = ALL.iter().map(|&fun| (fun.name(), fun)).collect();
            let plain = |fun: Fun| fun.name().strip_suffix("_c").and_then(|plain| named.get(plain)).copied();
            ALL.iter().map(|&fun| plain(fun).unwrap_or(fun)).collect()
        });
        PLAIN[self as usize]
    }

    /// The function with that number, `fun as u16`.
    pub fn from_u16(number: u16) -> Option<Fun> {
        ALL.get(usize::from(number)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_the_names_and_the_facts_are_in_step() {
        assert_eq!(ALL.len(), FACTS.len());
        for (i, fun) in ALL.iter().enumerate() {
            assert_eq!(*fun as usize, i);
            assert_eq!(Fun::from_u16(i as u16), Some(*fun));
        }
        assert_eq!(Fun::from_u16(ALL.len() as u16), None);
        assert_eq!(Fun::TypeCreateF90Real.name(), "MPI_Type_create_f90_real");
        assert_eq!(Fun::SendC.name(), "MPI_Send_c");
        assert_eq!(Fun::TInitThread.chapter(), 16);
        assert_eq!(Fun::SendC.without_large_counts(), Fun::Send);
        assert_eq!(Fun::Bcast.without_large_counts(), Fun::Bcast);
    }

    #[test]
    fn the_standard_abi_has_664_functions() {
        assert_eq!(ALL.iter().filter(|f| f.is_standard()).count(), 664);
    }
}
