//! `cargo xtask fuzz-handles`: calls every function with bad handles. From `api/` it writes a C
//! function for each handle argument of each MPI function: a call in which that handle is bad and
//! all other arguments are plausible. `tests/fuzz/handles.c` makes the bad handles and checks the
//! results. This module compiles it with an installation's `mpicc` and runs it.

use crate::api::{Api, Dir, Function, Param};
use crate::{Outcome, ctype, root};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

const HELP: &str = "\
cargo xtask fuzz-handles [OPTIONS]
  --prefix P     the installation to test (default: build/prefix)
  --build B      where the program goes (default: build/fuzz)
  --calls N      how many calls (default: 1000000)
  --seed S       where the random numbers start (default: 1)";

/// Functions that are not called.
const SKIPPED: &[(&str, &str)] = &[("MPI_Abort", "ends the job whatever its communicator is")];

/// Null handles that the standard allows: such a call would have no bad handle.
const NULL_ALLOWED: &[(&str, &str)] = &[
    ("MPI_Wait", "completes a null request at once"),
    ("MPI_Waitall", "skips null requests"),
    ("MPI_Waitany", "skips null requests"),
    ("MPI_Waitsome", "skips null requests"),
    ("MPI_Test", "completes a null request at once"),
    ("MPI_Testall", "skips null requests"),
    ("MPI_Testany", "skips null requests"),
    ("MPI_Testsome", "skips null requests"),
    ("MPI_Request_get_status", "a null request is complete"),
    ("MPI_Parrived", "all partitions of a null request have arrived"),
    ("MPI_Request_get_status_all", "skips null requests"),
    ("MPI_Request_get_status_any", "skips null requests"),
    ("MPI_Request_get_status_some", "skips null requests"),
    ("MPI_Comm_get_name", "the null handle has a name"),
    ("MPI_Type_get_name", "the null handle has a name"),
    ("MPI_Win_get_name", "the null handle has a name"),
    ("MPI_File_set_errhandler", "the null file holds the default handler"),
    ("MPI_File_get_errhandler", "the null file holds the default handler"),
    ("MPI_File_call_errhandler", "the null file holds the default handler"),
];

/// The kinds of handles, in the order of the enumeration in `handles.c`.
pub const HANDLES: &[&str] = &[
    "comm",
    "datatype",
    "errhandler",
    "file",
    "group",
    "info",
    "message",
    "op",
    "request",
    "session",
    "win",
    "t_enum",
    "t_cvar_handle",
    "t_pvar_handle",
    "t_pvar_session",
    "t_event_registration",
    "t_event_instance",
];

pub fn run(args: &[String]) -> Outcome {
    let Some(options) = Options::parse(args)? else {
        println!("{HELP}");
        return Ok(());
    };
    let api = Api::read(&root().join("api"))?;
    let dir = &options.build;
    std::fs::create_dir_all(dir).map_err(|e| format!("cannot make {}: {e}", dir.display()))?;
    let cases = dir.join("cases.h");
    std::fs::write(&cases, cases_h(&api)).map_err(|e| format!("cannot write {}: {e}", cases.display()))?;
    let program = dir.join("handles");
    let mut compile = Command::new(options.prefix.join("bin/mpicc"));
    compile.args(["-O1", "-Wall", "-Werror", "-Wno-deprecated-declarations", "-I"]).arg(dir);
    compile.arg(root().join("tests/fuzz/handles.c")).arg("-o").arg(&program);
    succeed(&mut compile)?;
    let mut run = Command::new(options.prefix.join("bin/mpirun"));
    // Without the handler, the calls before MPI_Init would end the job.
    run.args(["-n", "1", "--initial-errhandler", "mpi_errors_return"]).arg(&program);
    succeed(run.args([options.calls.to_string(), options.seed.to_string()]).current_dir(dir))
}

struct Options {
    prefix: PathBuf,
    build: PathBuf,
    calls: u64,
    seed: u64,
}

impl Options {
    /// `None`: the user asked for help.
    fn parse(args: &[String]) -> Result<Option<Options>, String> {
        let root = root();
        let (prefix, build) = (root.join("build/prefix"), root.join("build/fuzz"));
        let mut options = Options { prefix, build, calls: 1_000_000, seed: 1 };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().cloned().ok_or_else(|| format!("{arg} needs a value"));
            let number = |text: String| text.parse().map_err(|_| format!("{arg} needs a number, not `{text}`"));
            match arg.as_str() {
                "--help" | "-h" => return Ok(None),
                "--prefix" => options.prefix = value()?.into(),
                "--build" => options.build = value()?.into(),
                "--calls" => options.calls = number(value()?)?,
                "--seed" => options.seed = number(value()?)?,
                other => return Err(format!("unknown option `{other}`\n{HELP}")),
            }
        }
        for path in [&mut options.prefix, &mut options.build] {
            *path = std::path::absolute(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(Some(options))
    }
}

fn succeed(command: &mut Command) -> Outcome {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|e| format!("cannot start {name}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{name}: {status}")) }
}

/// The predefined handles, the calls, and the table of the calls.
fn cases_h(api: &Api) -> String {
    let mut out = String::from("/* Generated by `cargo xtask fuzz-handles` from api/; do not edit. */\n");
    out.push_str("static const struct predefined predefined[] = {\n");
    for constant in api.groups.iter().flat_map(|g| &g.constants) {
        let kind = constant.c_type.strip_prefix("MPI_").map(str::to_lowercase).unwrap_or_default();
        // The null handles of the tool interface are 0, which is one of the other bad values.
        if HANDLES.contains(&kind.as_str()) && !kind.starts_with("t_") {
            let _ = writeln!(out, "    {{K_{kind}, {}}},", constant.value);
        }
    }
    out.push_str("};\n\n");
    let mut table = String::from("static const struct test tests[] = {\n");
    let mut number = 0;
    for function in &api.functions {
        if SKIPPED.iter().any(|(name, _)| *name == function.name) {
            continue;
        }
        for (i, param) in function.fixed_params().enumerate() {
            if !can_be_bad(function, param) {
                continue;
            }
            let _ = writeln!(out, "static int case_{number}(uintptr_t bad)\n{{\n{}}}\n", body(function, i));
            let flags = flags(function, param);
            let kind = if param.kind == "keyval" { keyval(function) } else { &param.kind };
            let _ =
                writeln!(table, "    {{\"{}\", \"{}\", K_{kind}, {flags}, case_{number}}},", function.name, param.name);
            number += 1;
        }
    }
    table.push_str("};\n");
    out + &table
}

fn is_handle(param: &Param) -> bool {
    HANDLES.contains(&param.kind.as_str())
}

/// Handle arguments, integers that represent handles, and attribute keys, which are handles except
/// in type.
fn can_be_bad(function: &Function, param: &Param) -> bool {
    let is_number = matches!(param.kind.as_str(), "serial" | "fint") && function.returns_value();
    param.dir != Dir::Out && (is_handle(param) || is_number || param.kind == "keyval")
}

/// The kind of attribute key that a function takes, and the name of a good one in `handles.c`.
fn keyval(function: &Function) -> &'static str {
    match function.name.split('_').nth(1) {
        Some("Type") => "type_keyval",
        Some("Win") => "win_keyval",
        _ => "comm_keyval",
    }
}

fn flags(function: &Function, param: &Param) -> String {
    let mut flags = vec!["0"];
    if function.returns_value() {
        flags.push("NO_CODE");
    }
    let name = function.name.trim_end_matches("_c");
    // An info object is optional unless the call is about it.
    let is_hint = param.kind == "info" && !name.starts_with("MPI_Info_");
    if is_hint || NULL_ALLOWED.iter().any(|(allowed, _)| *allowed == name && param.kind != "errhandler") {
        flags.push("NULL_ALLOWED");
    }
    if param.is_array {
        flags.push("ARRAY");
    }
    flags.join(" | ")
}

/// The call with the parameter of number `bad_at` bad.
fn body(function: &Function, bad_at: usize) -> String {
    let mut locals = String::new();
    let mut args = Vec::new();
    let bad_is_array = function.fixed_params().nth(bad_at).is_some_and(|p| p.is_array);
    // A list of handles has two, one of them bad; the first number before the list is its length.
    let length_at = function
        .fixed_params()
        .position(|p| p.dir == Dir::In && !p.is_array && matches!(p.kind.as_str(), "length" | "count"))
        .filter(|at| bad_is_array && *at < bad_at);
    for (i, param) in function.fixed_params().enumerate() {
        let c = ctype::parse(&param.c_decl);
        let handle = |text: &str| format!("({}){text}", c.base);
        let arg = if i == bad_at {
            let bad = handle("bad");
            match (c.pointers, param.is_array) {
                (0, _) => bad,
                (_, false) => {
                    let _ = writeln!(locals, "    {} a{i} = {bad};", c.base);
                    format!("&a{i}")
                }
                (_, true) => {
                    let good = handle(&format!("good[K_{}]", param.kind));
                    let _ = writeln!(locals, "    {} a{i}[2] = {{{good}, {good}}};", c.base);
                    let at = if length_at.is_some() { "bad_at" } else { "0" };
                    let _ = writeln!(locals, "    a{i}[{at}] = {bad};");
                    format!("a{i}")
                }
            }
        } else if is_handle(param) && param.dir != Dir::Out {
            let good = handle(&format!("good[K_{}]", param.kind));
            match c.pointers {
                0 => good,
                // The called function cannot distinguish a pointer to one handle from a list.
                _ => {
                    let _ = writeln!(locals, "    {} a{i}[2] = {{{good}, {good}}};", c.base);
                    format!("a{i}")
                }
            }
        } else if Some(i) == length_at {
            "count_of(2)".into()
        } else {
            plausible(function, param, i)
        };
        args.push(arg);
    }
    let call = format!("{}({})", function.name, args.join(", "));
    match function.returns_value() {
        true => format!("{locals}    (void){call};\n    return MPI_SUCCESS;\n"),
        false => format!("{locals}    return {call};\n"),
    }
}

/// A good value for a parameter that is not a handle.
fn plausible(function: &Function, param: &Param, i: usize) -> String {
    let c = ctype::parse(&param.c_decl);
    let kind = param.kind.as_str();
    let counts = matches!(kind, "count" | "size" | "stride" | "extent" | "length" | "disp_unit" | "byte_size");
    if ctype::is_callback(kind) {
        return format!("({} *)do_nothing", c.base);
    }
    if kind == "string" && param.dir == Dir::In && c.pointers == 1 {
        return match param.name.as_str() {
            "datarep" => "\"external32\"".into(),
            "pset_name" => "\"mpi://SELF\"".into(),
            _ => "\"fuzz\"".into(),
        };
    }
    if c.pointers > 0 || param.is_array {
        return match (param.dir, c.base) {
            _ if kind == "argv" => "0".into(),
            (Dir::In, "int") if counts && c.inner.is_none() => "one_ints".into(),
            (Dir::In, "MPI_Count" | "MPI_Aint") if counts => "one_counts".into(),
            _ => format!("room({i})"),
        };
    }
    let by_name = match param.name.as_str() {
        "split_type" => "MPI_COMM_TYPE_SHARED",
        "order" => "MPI_ORDER_C",
        "whence" => "MPI_SEEK_SET",
        "lock_type" => "MPI_LOCK_SHARED",
        "amode" => "MPI_MODE_RDONLY",
        "errorcode" => "MPI_ERR_OTHER",
        _ if kind == "keyval" => keyval(function),
        _ if counts || matches!(kind, "aint_size" | "large_count") => return format!("({})count_of(1)", c.base),
        _ => "0",
    };
    format!("({})number_of({by_name})", c.base)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str, bad_at: usize) -> String {
        let api = Api::read(&root().join("api")).unwrap();
        body(api.functions.iter().find(|f| f.name == name).unwrap(), bad_at)
    }

    #[test]
    fn one_handle_is_bad_and_the_rest_is_plausible() {
        assert_eq!(
            case("MPI_Send", 2),
            "    return MPI_Send(room(0), (int)count_of(1), (MPI_Datatype)bad, (int)number_of(0), (int)number_of(0), \
             (MPI_Comm)good[K_comm]);\n"
        );
        assert!(case("MPI_Comm_free", 0).contains("MPI_Comm a0 = (MPI_Comm)bad;"));
        assert!(
            case("MPI_Waitall", 1).contains("a1[bad_at] = (MPI_Request)bad;\n    return MPI_Waitall(count_of(2), a1,")
        );
    }

    #[test]
    fn lists_of_exceptions_name_functions_that_there_are() {
        let api = Api::read(&root().join("api")).unwrap();
        for (name, _) in SKIPPED.iter().chain(NULL_ALLOWED) {
            assert!(api.functions.iter().any(|f| f.name == *name), "{name}");
        }
    }
}
