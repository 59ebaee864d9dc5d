//! The manual pages: one for every function, with its forms in C and Fortran and the meaning of its arguments. They follow
//! from `api/` alone and are written when OxMPI is installed. `oxmpi man` reads them too, so that they keep to a few macros.

use crate::api::{Api, Dir, Fortran, Function};
use crate::gen_fortran::{Form, Procedure, procedures};
use crate::gen_fortran_text::synopsis;
use std::fmt::Write;

/// A page: the name of its file, and its text.
pub fn pages(api: &Api) -> Result<Vec<(String, String)>, String> {
    let (old, new) = (procedures(api, Form::Old), procedures(api, Form::F08));
    let mut pages = Vec::new();
    for function in api.functions.iter().filter(|f| !f.is_derived_twin) {
        let purpose =
            purpose(api, &function.name).ok_or_else(|| format!("api/purposes.txt lacks {}", function.name))?;
        let twin = api.functions.iter().find(|f| f.is_derived_twin && f.name == format!("{}_c", function.name));
        let text = page(api, function, twin, &purpose, &old, &new);
        pages.push((format!("{}.3", function.name), text));
        if let Some(twin) = twin {
            pages.push((format!("{}.3", twin.name), format!(".so man3/{}.3\n", function.name)));
        }
    }
    pages.extend(FORTRAN_ONLY.iter().map(|(name, text)| {
        let version = env!("CARGO_PKG_VERSION");
        (format!("{name}.3"), format!(".TH {name} 3 \"\" \"OxMPI {version}\" \"MPI-5.0\"\n.SH NAME\n{name} \\- {text}"))
    }));
    Ok(pages)
}

/// A command with a page in section 1, which follows from what the command says about itself.
pub struct Page {
    pub name: &'static str,
    /// The option that makes it print its help.
    pub help: &'static str,
    /// Other names of the same command.
    also: &'static [&'static str],
    purpose: &'static str,
    /// Examples: what they do, and what to type.
    examples: &'static [(&'static str, &'static str)],
}

pub const COMMANDS: &[Page] = &[
    Page {
        name: "mpirun",
        help: "--help",
        also: &["mpiexec"],
        purpose: "start the ranks of an MPI program",
        examples: &[
            ("Start four ranks of a program:", "mpirun -n 4 ./program"),
            ("Two programs in one job:", "mpirun -n 1 ./master : -n 3 ./worker"),
            ("Put the rank before every line of output:", "mpirun -n 4 -l ./program"),
            ("Stop a job that hangs and see where each rank is:", "mpirun -n 4 --timeout 60 ./program"),
            ("Write the output of each rank to a file:", "mpirun -n 4 --output-filename out ./program"),
        ],
    },
    Page {
        name: "mpicc",
        help: "-help",
        also: &[],
        purpose: "compile and link C programs that use MPI",
        examples: &[
            ("Compile a program:", "mpicc -O2 hello.c -o hello"),
            ("See the command that would be run:", "mpicc -show hello.c"),
        ],
    },
    Page {
        name: "mpicxx",
        help: "-help",
        also: &["mpic++", "mpiCC"],
        purpose: "compile and link C++ programs that use MPI",
        examples: &[("Compile a program:", "mpicxx -O2 hello.cpp -o hello")],
    },
    Page {
        name: "mpifort",
        help: "-help",
        also: &["mpif77", "mpif90"],
        purpose: "compile and link Fortran programs that use MPI",
        examples: &[
            ("Compile a program with the modules mpi or mpi_f08:", "mpifort -O2 hello.f90 -o hello"),
            ("Make the modules for another compiler:", "oxmpi fortran --fc flang"),
        ],
    },
    Page {
        name: "oxmpi",
        help: "--help",
        also: &[],
        purpose: "show what OxMPI is and whether it works on this machine",
        examples: &[
            ("Check this machine:", "oxmpi doctor"),
            ("Read about a function or a command:", "oxmpi man MPI_Send"),
        ],
    },
];

/// The page of a command and those of its other names, from what its help says.
pub fn command_pages(command: &Page, help: &str) -> Vec<(String, String)> {
    let Page { name, also, purpose, examples, .. } = command;
    let version = env!("CARGO_PKG_VERSION");
    let names: Vec<&str> = std::iter::once(name).chain(also.iter()).copied().collect();
    let mut out =
        format!(".TH {name} 1 \"\" \"OxMPI {version}\" \"OxMPI\"\n.SH NAME\n{} \\- {purpose}\n", names.join(", "));
    out.push_str(".SH DESCRIPTION\n.nf\n");
    help.lines().for_each(|line| plain_line(&mut out, line));
    out.push_str(".fi\n.SH EXAMPLES\n");
    for (what, line) in *examples {
        out.push_str(".TP\n");
        plain_line(&mut out, what);
        plain_line(&mut out, line);
    }
    out.push_str(".SH SEE ALSO\n");
    let others = COMMANDS.iter().filter(|other| other.name != *name).map(|other| format!("{}(1)", other.name));
    let _ = writeln!(out, "{}, MPI_Init(3)", others.collect::<Vec<_>>().join(", "));
    let links = also.iter().map(|other| (format!("{other}.1"), format!(".so man1/{name}.1\n")));
    std::iter::once((format!("{name}.1"), out)).chain(links).collect()
}

/// A line in which no character has a meaning of its own.
fn plain_line(out: &mut String, line: &str) {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
    let _ = writeln!(out, "{guard}{line}");
}

/// The procedures that C does not have: what follows the name.
const FORTRAN_ONLY: &[(&str, &str)] = &[
    (
        "MPI_Sizeof",
        "gives the size of a variable of any intrinsic type
.SH FORTRAN WITH USE MPI_F08
.nf
MPI_Sizeof(x, size, ierror)
  type(*), dimension(..), intent(in) :: x
  integer, intent(out) :: size
  integer, optional, intent(out) :: ierror
.fi
.SH FORTRAN WITH USE MPI
.nf
MPI_Sizeof(x, size, ierror)
  <type> :: x
  integer :: size
  integer :: ierror
.fi
.SH ARGUMENTS
.TP
x
in: a variable, scalar or array
.TP
size
out: the number of bytes of the variable, or of an element of the array
.SH NOTES
It is not part of mpif.h. It is deprecated: use storage_size(x) / 8 instead. MPI-5.0 describes it in chapter 20.
",
    ),
    (
        "MPI_F_sync_reg",
        "does nothing with a variable, which a compiler cannot know
.SH FORTRAN WITH USE MPI_F08
.nf
MPI_F_sync_reg(buf)
  type(*), dimension(..), asynchronous :: buf
.fi
.SH FORTRAN WITH USE MPI OR MPIF.H
.nf
MPI_F_sync_reg(buf)
  <type> :: buf(*)
.fi
.SH ARGUMENTS
.TP
buf
in and out: a variable that MPI may have read or written behind the compiler's back
.SH NOTES
A call before and after an operation that reaches a variable through MPI_BOTTOM, a window or a request keeps the
compiler from holding the variable in a register meanwhile. MPI-5.0 describes it in chapter 20.
",
    ),
];

/// A line from the table, or one that follows from the function that this is a form of.
fn purpose(api: &Api, name: &str) -> Option<String> {
    let short = name.strip_prefix("MPI_")?;
    let known = |name: &str| api.purposes.get(name).cloned();
    if let Some(text) = known(short) {
        return Some(text);
    }
    if let Some(text) = short.strip_suffix("_c").and_then(known) {
        return Some(text);
    }
    for (end, text) in [
        ("_toint", "gives the integer that stands for a handle"),
        ("_fromint", "gives the handle that an integer stands for"),
        ("_c2f", "gives the Fortran handle of a handle"),
        ("_f2c", "gives the handle of a Fortran handle"),
    ] {
        if short.ends_with(end) {
            return Some(text.to_string());
        }
    }
    if let Some(blocking) = short.strip_suffix("_init") {
        known(blocking)?;
        return Some(format!("makes a persistent request for what MPI_{blocking} does"));
    }
    let rest = short.strip_prefix('I')?;
    let blocking = rest[..1].to_uppercase() + &rest[1..];
    known(&blocking)?;
    Some(format!("starts what MPI_{blocking} does and returns at once, with a request or an answer"))
}

fn page(
    api: &Api,
    function: &Function,
    twin: Option<&Function>,
    purpose: &str,
    old: &[Procedure],
    new: &[Procedure],
) -> String {
    let name = &function.name;
    let version = env!("CARGO_PKG_VERSION");
    let mut out = format!(".TH {name} 3 \"\" \"OxMPI {version}\" \"MPI-5.0\"\n.SH NAME\n");
    let names: Vec<&str> = [Some(function), twin].into_iter().flatten().map(|f| f.name.as_str()).collect();
    let _ = writeln!(out, "{} \\- {purpose}", names.join(", "));
    out.push_str(".SH C\n.nf\n#include <mpi.h>\n");
    for function in [Some(function), twin].into_iter().flatten() {
        let _ = writeln!(out, "{};", function.prototype());
    }
    out.push_str(".fi\n");
    let small = name.trim_end_matches("_c");
    fortran(&mut out, "FORTRAN WITH USE MPI_F08", new.iter().filter(|p| p.name.trim_end_matches("_c") == small));
    fortran(&mut out, "FORTRAN WITH USE MPI OR MPIF.H", old.iter().filter(|p| p.name == *name));
    if function.fixed_params().next().is_some() {
        out.push_str(".SH ARGUMENTS\n");
    }
    for param in function.fixed_params() {
        let dir = match param.dir {
            Dir::In => "in",
            Dir::Out => "out",
            Dir::InOut => "in and out",
        };
        let meaning = api.kinds.get(&param.kind).map_or("", |kind| kind.meaning.as_str());
        // What the table says of arrays and rooms is seen in the declarations.
        let meaning = meaning.split([';', '[']).next().unwrap_or_default().trim_end_matches(", or with a ");
        let meaning = match param.kind == "index" && param.dir != Dir::In {
            true => format!("{meaning} in C, from 1 in Fortran"),
            false => meaning.to_string(),
        };
        let array = if param.is_array && param.kind != "string" { "; an array" } else { "" };
        let _ = writeln!(out, ".TP\n{}\n{dir}: {meaning}{array}", param.name);
    }
    out.push_str(".SH NOTES\n");
    if !function.returns_value() {
        out.push_str("The result is MPI_SUCCESS or an error code, after the error handler has been called. In Fortran it is the last\n");
        out.push_str("argument, which may be left away with mpi_f08.\n");
    }
    if function.is_extra && function.fortran == Fortran::Old {
        out.push_str("This function was removed from MPI; it is here for old programs.\n");
    }
    if let Some((_, note)) = NOTES.iter().find(|(of, _)| of == name) {
        out.push_str(note);
    }
    let _ = writeln!(out, "MPI-5.0 describes it in chapter {}.", function.chapter);
    out
}

/// What users should know beside the arguments.
const NOTES: &[(&str, &str)] = &[
    (
        "MPI_Send",
        "It may block until the receiver has posted a matching receive. Short messages are usually stored on their way, so \
         that the\ncall returns at once; long ones never are. A program must not rely on either. Two ranks that send to \
         each other before\nthey receive can wait for each other for ever: use MPI_Sendrecv or MPI_Isend there.\n",
    ),
    (
        "MPI_Recv",
        "It blocks until a matching message has arrived. A message that is longer than the buffer is an error, \
         MPI_ERR_TRUNCATE.\n",
    ),
];

fn fortran<'a>(out: &mut String, title: &str, procedures: impl Iterator<Item = &'a Procedure<'a>>) {
    let forms: Vec<Vec<String>> = procedures.map(synopsis).collect();
    if forms.is_empty() {
        return;
    }
    let _ = writeln!(out, ".SH {title}\n.nf");
    for line in forms.join(&String::new()) {
        let _ = writeln!(out, "{line}");
    }
    out.push_str(".fi\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_a_command_follows_from_its_help() {
        let mpirun = &COMMANDS[0];
        let pages = command_pages(mpirun, "mpirun starts\n.hidden 'x'\n  -n N  a\\b\n");
        assert_eq!(pages[1], ("mpiexec.1".into(), ".so man1/mpirun.1\n".into()));
        let text = &pages[0].1;
        for part in ["mpirun, mpiexec \\- start", "\n\\&.hidden", "\\-n N  a\\eb", "mpicc(1)", ".SH EXAMPLES"] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }

    #[test]
    fn every_function_has_a_page_that_says_what_it_is_for() {
        let api = Api::read(&crate::root().join("api")).unwrap();
        let pages = pages(&api).unwrap();
        assert_eq!(pages.len(), api.functions.len() + FORTRAN_ONLY.len());
        // Every form has the line of the call, to the last argument.
        for form in [Form::Old, Form::F08] {
            for procedure in procedures(&api, form) {
                let page = pages.iter().find(|(name, _)| *name == format!("{}.3", procedure.function.name)).unwrap();
                let lines = synopsis(&procedure);
                assert!(page.1.starts_with(".so ") || page.1.contains(&lines.join("\n")), "{}", procedure.name);
                let call: String = lines.iter().take_while(|line| !line.contains(" :: ")).map(String::as_str).collect();
                assert!(call.contains(&format!("{}(", procedure.generic())) && call.ends_with(')'), "{call}");
                assert!(lines.iter().all(|line| line.len() <= 110), "{lines:?}");
            }
        }
        let text = &pages.iter().find(|(name, _)| name == "MPI_Send.3").unwrap().1;
        for part in ["sends a message", "int MPI_Send(const void *buf", "type(*), dimension(..)", "MPI_Send_c"] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert!(text.contains("may block"), "{text}");
        assert!(
            text.lines().all(|line| line.starts_with('.') || !line.starts_with('\'')),
            "no line may look like a macro"
        );
        assert_eq!(
            purpose(&api, "MPI_Ibcast").unwrap(),
            "starts what MPI_Bcast does and returns at once, with a request or an answer"
        );
    }
}
