//! Which compiler runs: an option, then the environment, then the usual names.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::language::Language;

/// The compiler as words: most often one; `OXMPI_CC="ccache gcc"` gives two.
pub fn choose(language: Language, by_option: Option<&OsStr>) -> Result<Vec<OsString>, Failure> {
    if let Some(value) = by_option {
        let words = words(value);
        return match words.first() {
            None => Err(Failure::new(format!("the option {}… names no compiler", language.options()[0]))),
            Some(program) if is_this_wrapper(program) => {
                Err(Failure::new(format!("{} is this wrapper itself, not a compiler", program.to_string_lossy())))
            }
            Some(_) => Ok(words),
        };
    }
    for variable in language.variables() {
        let words = env::var_os(variable).map(|value| words(&value)).unwrap_or_default();
        // CMake with CMAKE_C_COMPILER=mpicc sets MPICH_CC to this very wrapper: that names no
        // compiler.
        if words.first().is_some_and(|program| !is_this_wrapper(program)) {
            return Ok(words);
        }
    }
    let usual = language.usual_compilers();
    let found = usual.iter().find(|name| {
        let path = search(OsStr::new(name));
        path.is_some_and(|path| !is_this_wrapper(path.as_os_str()))
    });
    Ok(vec![OsString::from(found.unwrap_or(&usual[0]))])
}

/// The error when the compiler cannot be started: what the user can do, and the exit status that a
/// shell would give.
pub fn cannot_run(language: Language, program: &OsStr, error: &io::Error) -> Failure {
    let (title, variable) = (language.title(), language.variables()[0]);
    let program = program.to_string_lossy();
    match error.kind() {
        io::ErrorKind::NotFound => Failure {
            text: format!(
                "the {title} compiler `{program}` was not found; install one (on Debian: apt-get install {}) \
                 or name yours with {variable}=…",
                language.package()
            ),
            status: 127,
        },
        _ => Failure {
            text: format!("cannot run the {title} compiler `{program}`: {error}; name another with {variable}=…"),
            status: 126,
        },
    }
}

/// A value is one path when such a file exists (it may have spaces), else words with the shell's
/// quotes.
fn words(value: &OsStr) -> Vec<OsString> {
    if Path::new(value).is_file() {
        return vec![value.to_owned()];
    }
    let Some(text) = value.to_str() else { return vec![value.to_owned()] };
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(characters.next()),
            (Some(_), _) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if c.is_whitespace() => words.extend(word.take().map(OsString::from)),
            (None, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word.map(OsString::from));
    words
}

/// The file that running `name` would start, by the rules of PATH.
fn search(name: &OsStr) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 {
        return Some(path.to_owned());
    }
    let is_program =
        |path: &PathBuf| fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(is_program)
}

/// Running the wrapper as its own compiler would never end.
fn is_this_wrapper(program: &OsStr) -> bool {
    let own = env::current_exe().and_then(fs::canonicalize);
    let other = search(program).map(fs::canonicalize);
    matches!((own, other), (Ok(own), Some(Ok(other))) if own == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_may_come_with_arguments() {
        let check = |value: &str, expected: &[&str]| {
            assert_eq!(words(OsStr::new(value)), expected.iter().map(OsString::from).collect::<Vec<_>>(), "{value}");
        };
        check("gcc", &["gcc"]);
        check(" ccache  gcc -m64 ", &["ccache", "gcc", "-m64"]);
        check("'/opt/my tools/cc' \"-DX=a b\" c\\ d", &["/opt/my tools/cc", "-DX=a b", "c d"]);
        check("", &[]);
        check("''", &[""]);
    }
}
