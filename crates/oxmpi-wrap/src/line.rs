//! The command line: which words are options of the wrapper, and whether the compiler will link.
//!
//! Only two things are decided here. Everything that is not an option of the wrapper stays in
//! `rest`, in order and untouched; response files (`@file`) are the compiler's to open.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::Failure;
use crate::language::Language;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    Run,
    Show(Show),
    Help,
}

/// The questions that a wrapper answers instead of compiling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Show {
    /// The whole command line.
    Line,
    /// The command line without the part for linking, or for compiling.
    CompileLine,
    LinkLine,
    /// The flags alone.
    CompileFlags,
    LinkFlags,
    Compiler,
    IncludeDirs,
    LibDirs,
    Libs,
    /// The folder of the Fortran modules for the compiler.
    Modules,
    Version,
}

pub struct Line {
    pub ask: Ask,
    /// The value of `-cc=` or `-cxx=`.
    pub compiler: Option<OsString>,
    /// The words for the compiler.
    pub rest: Vec<OsString>,
    compiles_only: bool,
    asks_compiler: bool,
    pub has_input: bool,
}

impl Line {
    pub fn parse(language: Language, args: Vec<OsString>) -> Result<Line, Failure> {
        let mut line = Line {
            ask: Ask::Run,
            compiler: None,
            rest: Vec::with_capacity(args.len()),
            compiles_only: false,
            asks_compiler: false,
            has_input: false,
        };
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            if let Some(ask) = own_option(&arg)? {
                line.ask = ask;
            } else if let Some(value) = compiler_option(language, &arg) {
                line.compiler = Some(value);
            } else {
                line.note(&arg);
                let takes_value = is_one_of(&arg, SEPARATE_VALUE);
                line.rest.push(arg);
                if takes_value {
                    // A value, whatever it looks like (`-Xlinker -show`); if missing, the compiler
                    // complains.
                    line.rest.extend(args.next());
                }
            }
        }
        Ok(line)
    }

    /// Link flags are wrong when nothing is linked: `mpicc -c` would warn, `mpicc -v` would fail.
    pub fn links(&self) -> bool {
        !self.compiles_only && self.has_input
    }

    /// As [`Line::links`], but also true for `mpicc -show` and `mpicc -show -O2`, which ask in
    /// general.
    pub fn shows_link(&self) -> bool {
        !self.compiles_only && (self.has_input || !self.asks_compiler)
    }

    fn note(&mut self, arg: &OsStr) {
        let is_file = !arg.as_bytes().starts_with(b"-") || arg == "-";
        self.has_input |= is_file || starts_like(arg, LINKER_INPUT);
        self.compiles_only |= is_one_of(arg, COMPILES_ONLY);
        self.asks_compiler |= starts_like(arg, ASKS_COMPILER);
    }
}

/// Words after which the compiler stops before linking.
const COMPILES_ONLY: &str = "-c -S -E -M -MM -fsyntax-only --compile --assemble --preprocess \
     --dependencies --user-dependencies";

/// Prefixes of words that ask the compiler about itself.
const ASKS_COMPILER: &str = "-v -V -### --version --verbose -dump -print- --print- --help --target-help";

/// Prefixes of words that are linked although they look like options.
const LINKER_INPUT: &str = "-l -Wl, -Xlinker";

/// Options of gcc and clang whose value is the next word; it is neither an input file nor an option
/// of ours.
const SEPARATE_VALUE: &str = "-o -x -I -D -U -L -l -F -T -u -z -e -A -B -G \
     -include -imacros -isystem -iquote -idirafter -iprefix -iwithprefix -iwithprefixbefore -isysroot \
     -imultilib -iframework -framework -MF -MT -MQ -MJ -Xlinker -Xpreprocessor -Xassembler -Xclang -mllvm \
     -aux-info -dumpbase -dumpbase-ext -dumpdir --param -target -arch -wrapper";

fn is_one_of(arg: &OsStr, words: &str) -> bool {
    words.split(' ').any(|word| arg == word)
}

fn starts_like(arg: &OsStr, starts: &str) -> bool {
    starts.split(' ').any(|start| arg.as_bytes().starts_with(start.as_bytes()))
}

/// The options of the wrapper. Build systems use the names of both families, in both spellings.
fn own_option(arg: &OsStr) -> Result<Option<Ask>, Failure> {
    let Some(arg) = arg.to_str() else { return Ok(None) };
    let show = match arg {
        "-help" => return Ok(Some(Ask::Help)),
        "-show" | "--show" => Show::Line,
        "-compile_info" | "-compile-info" => Show::CompileLine,
        "-link_info" | "-link-info" => Show::LinkLine,
        _ => {
            let Some(what) = arg.strip_prefix("--showme").or_else(|| arg.strip_prefix("-showme")) else {
                return Ok(None);
            };
            match what {
                "" => Show::Line,
                ":help" => return Ok(Some(Ask::Help)),
                ":compile" => Show::CompileFlags,
                ":link" => Show::LinkFlags,
                ":command" => Show::Compiler,
                ":incdirs" => Show::IncludeDirs,
                ":libdirs" => Show::LibDirs,
                ":libs" => Show::Libs,
                ":modules" => Show::Modules,
                ":version" => Show::Version,
                _ => {
                    return Err(Failure::new(format!(
                        "unknown option `{arg}`; after --showme can stand \
                         :compile :link :command :incdirs :libdirs :libs :modules :version :help"
                    )));
                }
            }
        }
    };
    Ok(Some(Ask::Show(show)))
}

fn compiler_option(language: Language, arg: &OsStr) -> Option<OsString> {
    let value = language.options().iter().find_map(|option| arg.as_bytes().strip_prefix(option.as_bytes()))?;
    Some(OsString::from_vec(value.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &str) -> Line {
        let args = words.split_whitespace().map(OsString::from).collect();
        Line::parse(Language::C, args).unwrap_or_else(|failure| panic!("{words}: {}", failure.text))
    }

    #[test]
    fn link_flags_only_where_something_is_linked() {
        for words in
            ["a.c", "a.c -o b", "a.o", "-shared a.o -o liba.so", "@objects", "-x c -", "-lfoo", "-v a.c", "a.c -MD"]
        {
            assert!(line(words).links(), "{words}");
        }
        for words in [
            "-c a.c",
            "a.c -S",
            "-E a.c",
            "-M a.c",
            "-MM a.c",
            "-v",
            "--version",
            "-dumpversion",
            "-o x",
            "-###",
            "-print-search-dirs",
            "-x c",
            "-include a.h",
            "-fsyntax-only a.c",
            "",
        ] {
            assert!(!line(words).links(), "{words}");
        }
    }

    #[test]
    fn show_speaks_of_the_program_to_come() {
        assert!(line("-show").shows_link());
        assert!(line("-show -O2").shows_link());
        assert!(!line("-show -c").shows_link());
        assert!(!line("-show -v").shows_link());
        assert!(line("-show -v a.c").shows_link());
    }

    #[test]
    fn the_rest_is_untouched_and_in_order() {
        let line = line("-O2 -show a.c -Xlinker -show -o -showme -cc=clang b.o");
        assert_eq!(line.ask, Ask::Show(Show::Line));
        assert_eq!(line.compiler, Some(OsString::from("clang")));
        assert_eq!(line.rest.join(OsStr::new(" ")), "-O2 a.c -Xlinker -show -o -showme b.o");
    }

    #[test]
    fn an_unknown_question_is_an_error() {
        let answer = Line::parse(Language::C, vec![OsString::from("--showme:nonsense")]);
        assert!(answer.err().is_some_and(|failure| failure.text.contains("--showme:nonsense")));
    }
}
