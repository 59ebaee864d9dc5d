//! Options that make Fortran's INTEGER and LOGICAL eight bytes long. Such a program needs modules,
//! an `mpif.h` and a library of its own, so the wrapper looks for these options and for nothing else
//! among the words of the compiler.

use std::ffi::{OsStr, OsString};

/// The length of an INTEGER and a LOGICAL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Integers {
    Four,
    Eight,
}

impl Integers {
    /// What the words say to a Fortran compiler; of several options the last one counts.
    pub fn of(words: &[OsString]) -> Integers {
        let found = (0..words.len()).rev().find_map(|i| option(&words[i], words.get(i + 1)));
        found.unwrap_or(Integers::Four)
    }

    /// The end of the names of folders and libraries that such programs need.
    pub fn suffix(self, separator: &str) -> String {
        match self {
            Integers::Four => String::new(),
            Integers::Eight => format!("{separator}i8"),
        }
    }
}

/// What a word means, perhaps with the next one. Each compiler has its own options: gfortran and
/// flang the first ones, then nvfortran, nagfor and Intel's, Intel's longer form, Cray's.
fn option(word: &OsStr, next: Option<&OsString>) -> Option<Integers> {
    let next = next.and_then(|next| next.to_str());
    match (word.to_str()?, next) {
        ("-fdefault-integer-8" | "-finteger-4-integer-8" | "-i8", _) => Some(Integers::Eight),
        ("-fno-default-integer-8" | "-i4", _) => Some(Integers::Four),
        ("-integer-size=64" | "-sinteger64", _) => Some(Integers::Eight),
        ("-integer-size=32" | "-sinteger32", _) => Some(Integers::Four),
        ("-integer-size", Some("64")) | ("-s", Some("integer64")) => Some(Integers::Eight),
        ("-integer-size", Some("32")) | ("-s", Some("integer32")) => Some(Integers::Four),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_option_counts() {
        let found = |words: &str| Integers::of(&words.split(' ').map(OsString::from).collect::<Vec<_>>());
        for words in [
            "-O2 -fdefault-integer-8 a.f",
            "-i8 a.f",
            "a.f -integer-size 64",
            "-integer-size=64 a.f",
            "-s integer64 a.f",
            "-i4 a.f -i8",
        ] {
            assert_eq!(found(words), Integers::Eight, "{words}");
        }
        for words in [
            "a.f",
            "-O2 -fdefault-real-8 -integer-size 32 -s a.f",
            "-i8 a.f -i4",
            "-fdefault-integer-8 -fno-default-integer-8 a.f",
            "-integer-size 64 a.f -integer-size 32",
        ] {
            assert_eq!(found(words), Integers::Four, "{words}");
        }
    }
}
