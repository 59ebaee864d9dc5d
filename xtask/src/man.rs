//! Generates the manual pages when OxMPI is installed: one for each function, from `api/` alone,
//! with its forms in C and Fortran and its arguments; and one for each command, from its `--help`.
//! `oxmpi man` reads them too, so they must use only the few macros that it knows.

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

/// A command with a page in section 1. The page is made from the help text of the command.
pub struct Page {
    pub name: &'static str,
    /// The option that makes it print its help.
    pub help: &'static str,
    /// Other names of the same command.
    also: &'static [&'static str],
    purpose: &'static str,
    /// Examples: the purpose, and the command line.
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
            ("Print the rank before every line of output:", "mpirun -n 4 -l ./program"),
            ("Stop a job that hangs, and see the MPI call that each rank is in:", "mpirun -n 4 --timeout 60 ./program"),
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
            ("Show the command line of the compiler:", "mpicc -show hello.c"),
        ],
    },
    Page {
        name: "mpicxx",
        help: "-help",
        also: &["mpic++", "mpiCC"],
        purpose: "compile and link C++ programs that use MPI",
        examples: &[
            ("Compile a program:", "mpicxx -O2 hello.cpp -o hello"),
            (
                "Compile a program without the classes of MPI-2.2 (namespace MPI):",
                "mpicxx -DOXMPI_SKIP_MPICXX hello.cpp -o hello",
            ),
        ],
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
        purpose: "show what is installed and check whether this machine runs MPI programs well",
        examples: &[
            ("Check this machine:", "oxmpi doctor"),
            ("Read about a function or a command:", "oxmpi man MPI_Send"),
        ],
    },
];

/// The pages of a command and of its other names, from its help text.
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

/// Writes a line with all characters escaped that have a meaning in roff.
fn plain_line(out: &mut String, line: &str) {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
    let _ = writeln!(out, "{guard}{line}");
}

/// The procedures that exist in Fortran only: the text after the name.
const FORTRAN_ONLY: &[(&str, &str)] = &[
    (
        "MPI_Sizeof",
        "returns the size of a variable of any intrinsic type
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
It is not part of mpif.h. It is deprecated: use storage_size(x) / 8 instead. See chapter 20 of MPI-5.0.
",
    ),
    (
        "MPI_F_sync_reg",
        "keeps the compiler from caching a variable in a register
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
in and out: a variable that MPI may read or write without the compiler knowing
.SH NOTES
The procedure itself does nothing. Call it before and after an operation that accesses a variable through
MPI_BOTTOM, a window or a request: the compiler then does not keep the variable in a register meanwhile. See chapter 20 of MPI-5.0.
",
    ),
];

/// The purpose of a function: from the table, or derived from the function that it is a form of.
fn purpose(api: &Api, name: &str) -> Option<String> {
    let short = name.strip_prefix("MPI_").unwrap_or(name);
    let known = |name: &str| api.purposes.get(name).cloned();
    if let Some(text) = known(short) {
        return Some(text);
    }
    if let Some(text) = short.strip_suffix("_c").and_then(known) {
        return Some(text);
    }
    for (end, text) in [
        ("_toint", "converts a handle to an integer"),
        ("_fromint", "converts an integer to a handle"),
        ("_c2f", "converts a C handle to a Fortran handle"),
        ("_f2c", "converts a Fortran handle to a C handle"),
    ] {
        if short.ends_with(end) {
            return Some(text.to_string());
        }
    }
    if let Some(blocking) = short.strip_suffix("_init") {
        known(blocking)?;
        return Some(format!("creates a persistent request for MPI_{blocking}"));
    }
    let rest = short.strip_prefix('I')?;
    let blocking = rest[..1].to_uppercase() + &rest[1..];
    known(&blocking)?;
    Some(format!("nonblocking form of MPI_{blocking}"))
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
        // Leave out the table's remarks on arrays and lengths: the declarations show them.
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
        out.push_str("The call returns MPI_SUCCESS, or calls the error handler and returns an error code. In Fortran the code is the\n");
        out.push_str("last argument, which is optional in mpi_f08.\n");
    }
    if function.is_extra && function.fortran == Fortran::Old {
        out.push_str("This function was removed from MPI. OxMPI keeps it for old programs.\n");
    }
    if let Some((_, note)) = NOTES.iter().find(|(of, _)| of == name) {
        out.push_str(note);
    }
    match function.is_extension() {
        true if function.name.ends_with("_x") => out.push_str(EXTRA_STATE),
        true => out.push_str(EXTENSION),
        false => {
            let _ = writeln!(out, "See chapter {} of MPI-5.0.", function.chapter);
        }
    }
    out
}

/// The end of a page of a function that is not in the standard.
const EXTENSION: &str = "This function is no part of MPI-5.0; its name and meaning are those of ULFM in Open MPI 5. \
     Failures are survived only\nby jobs that were started with mpirun \\-\\-with\\-ft ulfm; in others it does the \
     same, and no process ever fails.\n";

/// The same for functions with an extra state.
const EXTRA_STATE: &str = "This function is no part of MPI-5.0; its name and meaning are those of MPICH. The program's function \
     gets the extra\nstate with each call. The destructor gets it once, when neither the program nor the library uses the object any \
     more; it\nmay be a null pointer.\n";

/// Notes on single functions, beside their arguments.
const NOTES: &[(&str, &str)] = &[
    (
        "MPI_Send",
        "The call may block until the receiver has posted a matching receive. Messages of up to 32 KiB are usually buffered, \
         so that\nthe call returns at once; longer messages are not. A program must not rely on either. Two ranks that \
         send to each other\nbefore they receive can deadlock: use MPI_Sendrecv or MPI_Isend instead.\n",
    ),
    (
        "MPI_Recv",
        "The call blocks until a matching message has arrived. A message that is longer than the buffer is an error \
         of class\nMPI_ERR_TRUNCATE.\n",
    ),
    (
        "MPIX_Comm_revoke",
        "Not collective: one member is enough. From then on every call on the communicator that is not local fails with MPIX_ERR_REVOKED,\nat all members, except MPIX_Comm_agree and MPIX_Comm_shrink and their nonblocking forms. Revoking it twice does no harm.\n",
    ),
    (
        "MPIX_Comm_shrink",
        "Collective over the members that live; works on a revoked communicator, too. The order of the ranks is kept. A process that died\nlate may still be a member of the new communicator. Names, attributes, topology and info are not copied.\n",
    ),
    (
        "MPIX_Comm_agree",
        "Collective over the members that live; works on a revoked communicator, too. Each living member gets the same flag: the bitwise\nAND over all that contributed. If a member failed and some contributor had not acknowledged that, all get the error\nMPIX_ERR_PROC_FAILED, and the flag all the same.\n",
    ),
    (
        "MPIX_Comm_get_failed",
        "A local call. The processes stand in the order in which they failed; a later group begins with an earlier one.\n",
    ),
    (
        "MPIX_Comm_ack_failed",
        "A local call. The first num_to_ack processes of the group of MPIX_Comm_get_failed are acknowledged; more than have failed\nis no error. A receive with MPI_ANY_SOURCE raises no error for an acknowledged failure.\n",
    ),
    (
        "MPIX_Comm_failure_get_acked",
        "A local call. The group is MPI_GROUP_EMPTY itself when nothing was acknowledged.\n",
    ),
    (
        "MPIX_Query_ulfm_support",
        "The flag is true in a job that was started with mpirun \\-\\-with\\-ft ulfm. The attribute MPIX_FT of a communicator says the same.\n",
    ),
    (
        "MPIX_Win_revoke",
        "Not collective. Calls on the window that are not local fail with MPIX_ERR_REVOKED then, except MPI_Win_free.\n",
    ),
    (
        "MPIX_File_revoke",
        "Not collective. Calls on the file that are not local fail with MPIX_ERR_REVOKED then, except MPI_File_close.\n",
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
        assert_eq!(purpose(&api, "MPI_Ibcast").unwrap(), "nonblocking form of MPI_Bcast");
    }
}
