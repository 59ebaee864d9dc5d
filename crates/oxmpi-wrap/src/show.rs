//! The answers to `-show`, `--showme:…` and `-help`: one line (except for the help) that a shell
//! can run.

use std::ffi::{OsStr, OsString};

use crate::install::Install;
use crate::language::Language;
use crate::line::{Line, Show};

pub fn answer(
    what: Show,
    name: &str,
    language: Language,
    compiler: &[OsString],
    install: &Install,
    line: &Line,
) -> String {
    let own = |flags: Vec<OsString>| flags.iter().map(|flag| quote_flag(flag)).collect::<Vec<_>>();
    let user = |words: &[OsString]| words.iter().map(|word| quote(word)).collect::<Vec<_>>();
    let (compile, link) = (own(install.compile_flags(language, compiler)), own(install.link_flags(language)));
    // Only if a source file was named: see `dialect_flags`.
    let dialect = if line.has_input { own(install.dialect_flags(language, compiler)) } else { Vec::new() };
    let parts = match what {
        Show::Line => {
            let link = if line.shows_link() { link } else { Vec::new() };
            [user(compiler), dialect, compile, user(&line.rest), link].concat()
        }
        Show::CompileLine => [user(compiler), dialect, compile, user(&line.rest)].concat(),
        Show::LinkLine => [user(compiler), user(&line.rest), link].concat(),
        Show::CompileFlags => compile,
        Show::LinkFlags => link,
        Show::Compiler => user(compiler),
        Show::IncludeDirs => {
            let folders = install.compile_flags(language, compiler).into_iter();
            let folders = folders.filter_map(|flag| flag.to_string_lossy().strip_prefix("-I").map(OsString::from));
            own(folders.collect())
        }
        Show::LibDirs => vec![quote_flag(install.lib.as_os_str())],
        Show::Libs => install.libraries(language),
        Show::Modules => vec![quote_flag(install.modules(compiler).as_os_str())],
        Show::Version => vec![format!("{name}: OxMPI {} (Language: {})", env!("CARGO_PKG_VERSION"), language.title())],
    };
    parts.join(" ")
}

pub fn help(name: &str, language: Language) -> String {
    let title = language.title();
    let variables = language.variables().join(", ");
    let option = language.options()[0];
    let ending = match language {
        Language::C => "c",
        Language::Cxx => "cpp",
        Language::Fortran => "f90",
    };
    let integers = match language {
        Language::Fortran => {
            "With -fdefault-integer-8, -i8, -integer-size 64 or -s integer64 it also adds what programs need whose
INTEGER and LOGICAL have eight bytes: their own modules, mpif.h and library. Use the option for every file
that calls MPI, and for linking.

"
        }
        _ => "",
    };
    format!(
        "\
{name} compiles and links {title} programs that use MPI. It runs your {title} compiler with the flags
for OxMPI added; every other option goes to the compiler as it is.

  {name} hello.{ending} -o hello
  {name} -c part.{ending:<17}compile only: no library is added

{integers}To see what it does, without doing it:
  -show, --showme                 the whole command line
  -compile_info, -link_info       the command line for compiling, for linking
  --showme:compile, :link         the flags alone
  --showme:command                the compiler
  --showme:incdirs, :libdirs      the folders of headers and of libraries
  --showme:libs                   the names of the libraries
  --showme:version                this wrapper and its version
  -help, --showme:help            this text

To choose the compiler:
  {:<30}  for this call
  {:<30}  in the environment, the first one that is set",
        format!("{option}NAME"),
        variables
    )
}

/// A word of the user, quoted for a shell.
fn quote(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A flag of the wrapper keeps its letters outside the quotes (`-I"/a b"`): CMake looks for exactly
/// this form.
fn quote_flag(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    if text.chars().all(is_plain) {
        return text.into_owned();
    }
    let split = text.find('/').unwrap_or(0);
    let (flag, value) = text.split_at(split);
    let escaped = value.chars().fold(String::new(), |mut escaped, c| {
        if matches!(c, '"' | '\\' | '$' | '`') {
            escaped.push('\\');
        }
        escaped.push(c);
        escaped
    });
    format!("{flag}\"{escaped}\"")
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "_@%+=:,./-".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_only_when_a_shell_needs_it() {
        assert_eq!(quote(OsStr::new("-DX=1")), "-DX=1");
        assert_eq!(quote(OsStr::new("-DX=\"a b\"")), "'-DX=\"a b\"'");
        assert_eq!(quote(OsStr::new("it's")), r"'it'\''s'");
        assert_eq!(quote(OsStr::new("")), "''");
        assert_eq!(quote_flag(OsStr::new("-I/opt/oxmpi/include")), "-I/opt/oxmpi/include");
        assert_eq!(quote_flag(OsStr::new("-Wl,/a b/$x")), "-Wl,\"/a b/\\$x\"");
    }
}
