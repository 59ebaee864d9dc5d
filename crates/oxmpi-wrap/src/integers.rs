//! Options that make Fortran's INTEGER eight bytes long. MPI's INTEGER has four bytes. The error in
//! the program is then hard to see, so the wrapper explains it. The compiler still runs: `mpif.h`
//! does not compile, the modules accept no such argument, and a program that declares its arguments
//! with four bytes is correct.

use std::ffi::{OsStr, OsString};

/// The option among some words, if it is there. Each compiler has its own.
pub fn option(words: &[OsString]) -> Option<String> {
    const ALONE: &[&str] = &["-fdefault-integer-8", "-finteger-4-integer-8", "-i8", "-integer-size=64", "-sinteger64"];
    const PAIRS: &[[&str; 2]] = &[["-integer-size", "64"], ["-s", "integer64"]];
    let alone = words.iter().find(|word| ALONE.iter().any(|option| *word == OsStr::new(option)));
    let pair = || words.windows(2).find(|two| PAIRS.iter().any(|pair| two[0] == pair[0] && two[1] == pair[1]));
    alone.map(|word| word.to_string_lossy().into_owned()).or_else(|| {
        let text = pair()?.join(OsStr::new(" "));
        Some(text.to_string_lossy().into_owned())
    })
}

pub fn explain(option: &str) -> String {
    format!(
        "{option} makes INTEGER and LOGICAL 8 bytes long, but MPI's have 4 bytes here. Compile the files that call MPI without \
         it; or use the module mpi or mpi_f08 and declare what is passed to MPI as INTEGER(KIND=4) and LOGICAL(KIND=4), with \
         constants such as 0_4. mpif.h cannot be used with it."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_integers_are_noticed() {
        let found = |words: &str| option(&words.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(found("-O2 -fdefault-integer-8 a.f"), Some("-fdefault-integer-8".into()));
        assert_eq!(found("-i8 a.f"), Some("-i8".into()));
        assert_eq!(found("a.f -integer-size 64"), Some("-integer-size 64".into()));
        assert_eq!(found("-O2 -fdefault-real-8 -integer-size 32 -s a.f"), None);
    }
}
