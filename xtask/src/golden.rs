//! `cargo xtask golden`: records the answer of every function to good and to bad arguments. From
//! `api/` it writes a C function for each MPI function, in which each argument is good or one of
//! some bad values. `tests/golden/arguments.c` makes the calls with good arguments, with one and
//! with two bad ones, and prints the outputs, or error class and text. The list must equal
//! `tests/golden/arguments.txt`. So the outputs, the classes, the texts and the order of the checks
//! cannot change unnoticed. With `--abi` the calls are made through the ABI of MPICH or of Open MPI,
//! and the list must be the same but for what `foreign.rs` says. `fuzz.rs` checks answers without a
//! list.

use crate::api::{Api, Dir, Function, Param};
use crate::{Outcome, ctype, read, root};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

mod foreign;
mod outputs;

use foreign::Abi;

const HELP: &str = "\
cargo xtask golden [OPTIONS]
  --prefix P     the installation to test (default: build/prefix)
  --build B      where the program goes (default: build/golden)
  --abi A        the ABI of the program: mpich or openmpi
  --write        write the list anew, when the change is meant";

/// Functions that are not called.
const SKIPPED: &[(&str, &str)] = &[
    ("MPI_Abort", "ends the job whatever its communicator is"),
    ("MPI_Init", "only once in a process"),
    ("MPI_Init_thread", "only once in a process"),
    ("MPI_Finalize", "only once in a process"),
    ("MPI_T_finalize", "the other functions for tools need it to be initialised"),
    ("MPI_Comm_accept", "waits for another program"),
    ("MPI_Comm_connect", "waits for another program"),
    ("MPI_Comm_join", "waits for another program"),
    ("MPI_Comm_spawn", "starts programs"),
    ("MPI_Comm_spawn_multiple", "starts programs"),
];

pub fn run(args: &[String]) -> Outcome {
    let Some(options) = Options::parse(args)? else {
        println!("{HELP}");
        return Ok(());
    };
    let rows = make_list(&options)?;
    let path = root().join("tests/golden/arguments.txt");
    if let Some(abi) = options.abi {
        return abi.compare(&read(&path)?, &rows);
    }
    let rows = without_twins(&rows);
    if options.write {
        std::fs::write(&path, &rows).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    }
    let wanted = read(&path)?;
    let differences = differences(&wanted, &rows);
    if differences.is_empty() {
        println!("golden: {} rows are as in tests/golden/arguments.txt", wanted.lines().count());
        return Ok(());
    }
    let shown = differences.iter().take(40).map(String::as_str).collect::<Vec<_>>().join("\n  ");
    Err(format!(
        "{} rows differ from tests/golden/arguments.txt:\n  {shown}\nWhere that is meant, run `cargo xtask golden --write` and commit \
         the list with the change.",
        differences.len(),
    ))
}

struct Options {
    prefix: PathBuf,
    build: PathBuf,
    abi: Option<Abi>,
    write: bool,
}

impl Options {
    /// `None`: the user asked for help.
    fn parse(args: &[String]) -> Result<Option<Options>, String> {
        let root = root();
        let mut options =
            Options { prefix: root.join("build/prefix"), build: root.join("build/golden"), abi: None, write: false };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().cloned().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--help" | "-h" => return Ok(None),
                "--prefix" => options.prefix = value()?.into(),
                "--build" => options.build = value()?.into(),
                "--abi" => options.abi = Some(Abi::named(&value()?)?),
                "--write" => options.write = true,
                other => return Err(format!("unknown option `{other}`\n{HELP}")),
            }
        }
        for path in [&mut options.prefix, &mut options.build] {
            *path = std::path::absolute(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(Some(options))
    }
}

/// Compiles and runs the program; returns its output.
fn make_list(options: &Options) -> Result<String, String> {
    let api = Api::read(&root().join("api"))?;
    let dir = &options.build;
    std::fs::create_dir_all(dir).map_err(|e| format!("cannot make {}: {e}", dir.display()))?;
    let calls = dir.join("calls.h");
    std::fs::write(&calls, calls_h(&api, options.abi)).map_err(|e| format!("cannot write {}: {e}", calls.display()))?;
    let program = dir.join("arguments");
    let mut compile = match options.abi {
        None => Command::new(options.prefix.join("bin/mpicc")),
        Some(_) => Command::new("gcc"),
    };
    let sources = root().join("tests/golden");
    match options.abi {
        None => compile.args(["-Wall", "-Werror", "-Wno-deprecated-declarations", "-Wno-nonnull"]),
        // Its sentinels are addresses without memory, which a compiler may dislike.
        Some(_) => compile.arg("-w"),
    };
    compile
        .arg("-O0")
        .arg("-I")
        .arg(dir)
        .arg("-I")
        .arg(&sources)
        .arg(sources.join("arguments.c"))
        .arg("-o")
        .arg(&program);
    if let Some(abi) = options.abi {
        abi.link(&options.prefix, &mut compile);
    }
    let status = compile.status().map_err(|e| format!("cannot start {compile:?}: {e}"))?;
    if !status.success() {
        return Err(format!("{compile:?}: {status}"));
    }
    let mut run = Command::new(options.prefix.join("bin/mpirun"));
    run.args(["-n", "1", "--initial-errhandler", "mpi_errors_return"]).arg(&program).current_dir(dir);
    let output = run.output().map_err(|e| format!("cannot start {run:?}: {e}"))?;
    let rows = String::from_utf8_lossy(&output.stdout).into_owned();
    // The program ends with MPI_Abort; its last line shows that it got that far.
    let Some(list) = rows.strip_suffix("end\n") else {
        let last = rows.lines().last().unwrap_or_default();
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{run:?}: {}; the last row is\n  {last}\n{said}", output.status));
    };
    Ok(list.into())
}

/// The rows; a large-count twin shares the row of its small form if their answers are equal.
fn without_twins(list: &str) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in list.lines() {
        let name = line.split(' ').next().unwrap_or_default();
        match groups.last_mut() {
            Some((last, rows)) if *last == name => rows.push(line),
            _ => groups.push((name, vec![line])),
        }
    }
    let mut out = String::new();
    for (name, rows) in &groups {
        let small = name.strip_suffix("_c").and_then(|small| groups.iter().find(|(other, _)| *other == small));
        let as_small = |row: &&str| row.replace(name, name.trim_end_matches("_c"));
        match small {
            Some((small, wanted)) if rows.iter().map(as_small).eq(wanted.iter().map(|row| row.to_string())) => {
                let _ = writeln!(out, "{name} -> as {small}");
            }
            _ => rows.iter().for_each(|row| {
                let _ = writeln!(out, "{row}");
            }),
        }
    }
    out
}

/// The lines that are in one list only. Rows of a function stay together, so the first lines
/// explain the difference.
fn differences(wanted: &str, rows: &str) -> Vec<String> {
    let key = |line: &str| line.split(" -> ").next().unwrap_or_default().to_string();
    let index = |text: &str| -> std::collections::BTreeMap<String, String> {
        text.lines().map(|line| (key(line), line.to_string())).collect()
    };
    let (before, after) = (index(wanted), index(rows));
    let mut list = Vec::new();
    for line in wanted.lines() {
        match after.get(&key(line)) {
            Some(now) if now == line => {}
            Some(now) => list.push(format!("was {line}\n   is {now}")),
            None => list.push(format!("was {line}\n   is gone")),
        }
    }
    list.extend(rows.lines().filter(|line| !before.contains_key(&key(line))).map(|line| format!("new {line}")));
    list
}

/// The names of the error classes, the calls, and the table of the calls.
fn calls_h(api: &Api, abi: Option<Abi>) -> String {
    let mut out = String::from("/* Generated by `cargo xtask golden` from api/; do not edit. */\n");
    out.push_str(&outputs::tables(api, abi.is_some()));
    out.push_str("static const struct name class_names[] = {\n");
    for constant in api.groups.iter().flat_map(|g| &g.constants) {
        let is_class =
            ["MPI_SUCCESS", "MPI_ERR_", "MPI_T_ERR_", "MPIX_ERR_"].iter().any(|start| constant.name.starts_with(start));
        if is_class && constant.c_type == "int" && constant.name != "MPI_ERR_LASTCODE" {
            let _ = writeln!(out, "#ifdef {0}\n    {{{0}, \"{0}\"}},\n#endif", constant.name);
        }
    }
    out.push_str("};\n\n#include \"outputs.h\"\n\n");
    let mut table = String::from("static const struct function functions[] = {\n");
    let skipped = |f: &Function| SKIPPED.iter().any(|(name, _)| *name == f.name);
    for (number, f) in
        api.functions.iter().filter(|f| !f.returns_value() && !f.is_variadic() && !skipped(f)).enumerate()
    {
        let params: Vec<Choice> = f.fixed_params().enumerate().map(|(i, p)| possible(choice(f, p, i), abi)).collect();
        let exprs: Vec<String> = params.iter().enumerate().map(|(i, p)| p.expression(i)).collect();
        let unused = if params.is_empty() { "    (void)c;\n" } else { "" };
        let _ = writeln!(
            out,
            "static int call_{number}(const int *c)\n{{\n{unused}    return {}({});\n}}\n",
            f.name,
            exprs.join(",\n        ")
        );
        let shown = outputs::show(f);
        let unused = if shown.is_empty() { "    (void)c;\n" } else { "" };
        let _ = writeln!(out, "static void show_{number}(const int *c)\n{{\n{unused}{shown}}}\n");
        let flags = flags(f);
        let _ = writeln!(table, "    {{\"{}\", call_{number}, show_{number}, {flags}, {{", f.name);
        for (param, p) in params.iter().zip(f.fixed_params()) {
            let labels: Vec<String> = param.bad.iter().map(|(label, _)| format!("\"{label}\"")).collect();
            let _ = writeln!(
                table,
                "        {{\"{}\", {{{}}}}},",
                p.name,
                if labels.is_empty() { "0".into() } else { labels.join(", ") }
            );
        }
        table.push_str("    }},\n");
    }
    table.push_str("};\n\n");
    out + &table + &outputs::values(api)
}

/// The choice without what an ABI cannot tell.
fn possible(mut choice: Choice, abi: Option<Abi>) -> Choice {
    choice.bad.retain(|(label, _)| abi.is_none_or(|abi| abi.tells(label)));
    choice
}

/// What must have been done before a good call, which would wait for it.
fn flags(function: &Function) -> &'static str {
    let name = function.name.to_lowercase();
    match () {
        _ if is_access(name.trim_start_matches("mpi_")) => "ACCESSES",
        _ if name == "mpi_win_start" => "STARTS",
        _ if name.contains("bsend") => "SENDS | BUFFERS",
        _ if ["detach", "flush"].iter().any(|part| name.contains(part)) && name.contains("buffer") => "BUFFERS",
        _ if name.contains("sendrecv") => "0",
        _ if ["recv", "probe"].iter().any(|part| name.contains(part)) => "RECEIVES",
        _ if name.contains("send") => "SENDS",
        _ => "0",
    }
}

/// The values of an argument: the good one, and the bad ones with their names.
struct Choice {
    good: String,
    bad: Vec<(String, String)>,
}

impl Choice {
    /// The expression for argument `i`: the value that `c[i]` selects. Only that one is evaluated.
    fn expression(&self, i: usize) -> String {
        let mut text = String::new();
        for (k, (_, value)) in self.bad.iter().enumerate() {
            let _ = write!(text, "c[{i}] == {} ? {value} : ", k + 1);
        }
        format!("({text}{})", self.good)
    }
}

fn choice(function: &Function, param: &Param, i: usize) -> Choice {
    let c = ctype::parse(&param.c_decl);
    let kind = param.kind.as_str();
    let null = ("NULL".to_string(), "(void *)0".to_string());
    if ctype::is_callback(kind) {
        let null = ("NULL".to_string(), format!("({} *)0", c.base));
        return Choice { good: format!("({} *)do_nothing", c.base), bad: vec![null] };
    }
    if kind == "argv" {
        return Choice { good: "(void *)0".into(), bad: vec![] };
    }
    if let Some(handle) = handle(function, kind) {
        let bad = bad_handles(function, kind, !handle.starts_with("good"));
        if c.pointers == 0 {
            let cast = |value: &str| format!("({})({value})", c.base);
            return Choice { good: cast(&handle), bad: bad.into_iter().map(|(l, v)| (l, cast(&v))).collect() };
        }
        if param.dir != Dir::Out {
            let list = |value: &str| format!("handles({i}, sizeof({}), {handle}, {value})", c.base);
            let mut bad: Vec<_> = bad.into_iter().map(|(l, v)| (l, list(&v))).collect();
            bad.push(null);
            return Choice { good: list(&handle), bad };
        }
        return Choice { good: place(param, i), bad: vec![null] };
    }
    if kind == "string" && param.dir == Dir::In && c.pointers == 1 {
        let good = match param.name.as_str() {
            "datarep" => "\"native\"",
            "pset_name" => "\"mpi://SELF\"",
            "filename" => "\"golden.file\"",
            _ => "\"golden\"",
        };
        let bad = vec![
            ("NULL".into(), "(char *)0".into()),
            ("empty".into(), "\"\"".into()),
            ("long".into(), "long_text".into()),
        ];
        return Choice {
            good: format!("(char *){good}"),
            bad: bad.into_iter().map(|(l, v): (String, String)| (l, format!("(char *){v}"))).collect(),
        };
    }
    if matches!(kind, "buffer" | "async_buffer") {
        let mut bad = vec![("MPI_IN_PLACE".to_string(), "MPI_IN_PLACE".to_string())];
        let is_other = |p: &Param| matches!(p.kind.as_str(), "buffer" | "async_buffer") && p.name != param.name;
        if let Some(other) = function.fixed_params().position(is_other) {
            bad.push(("alias".into(), format!("room({other})")));
        }
        return Choice { good: if param.dir == Dir::Out { format!("room({i})") } else { format!("data({i})") }, bad };
    }
    // To ignore a status is not a mistake.
    if kind == "status" && param.dir == Dir::Out {
        let ignore = if param.is_array { "MPI_STATUSES_IGNORE" } else { "MPI_STATUS_IGNORE" };
        return Choice { good: place(param, i), bad: vec![(ignore.into(), ignore.into())] };
    }
    if matches!(param.name.as_str(), "weights" | "sourceweights" | "destweights") && param.dir == Dir::In {
        let bad = ["MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY"].map(|name| (name.to_string(), name.to_string()));
        return Choice { good: format!("ints({i}, 1, 1)"), bad: bad.into_iter().chain([null]).collect() };
    }
    if let ("status" | "f_status" | "f08_status", true) = (kind, param.dir != Dir::Out) {
        return Choice { good: format!("{kind}_room({i})"), bad: vec![null] };
    }
    let number = number(function, param);
    match number {
        Some((good, bad)) if c.pointers == 0 => {
            let cast = |value: &str| format!("({})({value})", c.base);
            let bad = bad.iter().map(|value| (value.to_string(), cast(value))).collect();
            Choice { good: cast(good), bad }
        }
        Some((good, bad)) if param.dir != Dir::Out && c.inner.is_none() && c.pointers == 1 => {
            let width = if c.base == "int" || c.base == "MPI_Fint" { "ints" } else { "wides" };
            let list = |value: &str| format!("{width}({i}, {good}, {value})");
            let mut bad: Vec<_> = bad.iter().map(|value| (value.to_string(), list(value))).collect();
            bad.push(null);
            Choice { good: list(good), bad }
        }
        _ if kind == "rank_range" => {
            let bad = ["99, 99, 1", "0, 0, 0", "-7, 0, 1"];
            let mut bad: Vec<_> = bad.iter().map(|v| (v.to_string(), format!("range({i}, {v})"))).collect();
            bad.push(null);
            Choice { good: format!("range({i}, 0, 0, 1)"), bad }
        }
        _ => Choice { good: place(param, i), bad: if kind == "extra_state" { vec![] } else { vec![null] } },
    }
}

/// Memory for an output. Behind the room for one value is a pattern, which must stay.
fn place(param: &Param, i: usize) -> String {
    match outputs::is_one_value(param) {
        true => format!("out({i}, sizeof({}))", ctype::parse(&param.c_decl).base),
        false => format!("room({i})"),
    }
}

/// A good handle for a function, if the kind is a handle.
fn handle(function: &Function, kind: &str) -> Option<String> {
    let name = function.name.trim_start_matches("MPI_");
    let lower = name.to_lowercase();
    let special = match kind {
        "comm" if lower.contains("neighbor_") => "cart",
        "comm" if lower.starts_with("cart_") && !lower.contains("create") && !lower.contains("map") => "cart",
        "comm" if lower == "cartdim_get" || lower == "topo_test" => "cart",
        "comm" if lower.starts_with("graph") && !lower.contains("create") && !lower.contains("map") => "graph",
        "comm" if lower.starts_with("dist_graph_neighbors") => "dist_graph",
        "request" if lower.starts_with("pready") => "partitioned_send",
        "request" if lower == "parrived" => "partitioned_recv",
        "request" if lower.starts_with("grequest") => "grequest",
        "datatype" if lower.starts_with("type_get_contents") || lower.starts_with("type_get_envelope") => "uncommitted",
        "win" if is_access(&lower) => "locked_win",
        "comm" | "datatype" | "errhandler" | "file" | "group" | "info" | "message" | "op" | "request" | "session"
        | "win" => return Some(format!("good[K_{kind}]")),
        "t_enum"
        | "t_cvar_handle"
        | "t_pvar_handle"
        | "t_pvar_session"
        | "t_event_registration"
        | "t_event_instance" => return Some(format!("good[K_{kind}]")),
        _ => return None,
    };
    Some(format!("(uintptr_t){special}"))
}

/// Whether a function needs a window in an epoch.
fn is_access(lower: &str) -> bool {
    const PREFIXES: &[&str] =
        &["put", "get", "rput", "rget", "raccumulate", "accumulate", "fetch_and_op", "compare_and_swap"];
    const NAMES: &[&str] =
        &["win_flush", "win_flush_all", "win_flush_local", "win_flush_local_all", "win_unlock_all", "win_sync"];
    let name = lower.trim_end_matches("_c");
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&name)
}

fn bad_handles(function: &Function, kind: &str, needs_topology: bool) -> Vec<(String, String)> {
    let mut list = vec![("zero".to_string(), "(uintptr_t)0".to_string())];
    if !kind.starts_with("t_") {
        list.insert(0, ("null".into(), format!("nulls[K_{kind}]")));
        let other = if kind == "comm" { "MPI_INT" } else { "MPI_COMM_WORLD" };
        list.push((other.into(), format!("(uintptr_t){other}")));
    }
    list.push(("freed".into(), format!("freed[K_{kind}]")));
    match kind {
        "datatype" => {
            list.push(("uncommitted".into(), "(uintptr_t)uncommitted".into()));
            let reduces = function.fixed_params().any(|p| p.kind == "op");
            for name in ["MPI_CHARACTER", "MPI_DOUBLE_INT", "MPI_PACKED"].into_iter().filter(|_| reduces) {
                list.push((name.into(), format!("(uintptr_t){name}")));
            }
        }
        "op" => {
            for name in ["MPI_REPLACE", "MPI_NO_OP", "MPI_MAXLOC"] {
                list.push((name.into(), format!("(uintptr_t){name}")));
            }
        }
        "comm" if needs_topology => list.push(("without topology".into(), "good[K_comm]".into())),
        "t_pvar_handle" if !function.name.ends_with("free") => {
            list.push(("MPI_T_PVAR_ALL_HANDLES".into(), "(uintptr_t)MPI_T_PVAR_ALL_HANDLES".into()));
        }
        _ => {}
    }
    list
}

/// The good value of a number and the bad ones; `None` if the kind is not a number.
fn number(function: &Function, param: &Param) -> Option<(&'static str, &'static [&'static str])> {
    let lower = function.name.to_lowercase();
    // Receives that match anything are valid, and would block.
    let receives = lower.contains("recv") || lower.contains("probe");
    let good = match (param.kind.as_str(), param.name.as_str()) {
        (_, "split_type") => "MPI_COMM_TYPE_SHARED",
        (_, "order") => "MPI_ORDER_C",
        (_, "whence") => "MPI_SEEK_SET",
        (_, "lock_type") => "MPI_LOCK_SHARED",
        (_, "amode") => "MPI_MODE_RDWR | MPI_MODE_CREATE",
        (_, "array_of_distribs") => "MPI_DISTRIBUTE_NONE",
        (_, "array_of_dargs") => "MPI_DISTRIBUTE_DFLT_DARG",
        (_, "array_of_starts" | "array_of_displacements" | "periods") => "0",
        (_, "p" | "r") => "3",
        (_, "typeclass") => "MPI_TYPECLASS_INTEGER",
        (_, "logical_size") => "4",
        ("length", _) if param.dir == Dir::InOut => "60",
        (_, "errorcode" | "errorclass") => "MPI_ERR_OTHER",
        ("keyval", _) => keyval(function),
        (
            "count" | "size" | "stride" | "extent" | "length" | "disp_unit" | "byte_size" | "aint_size" | "large_count",
            _,
        ) => "1",
        (_, "array_of_psizes" | "dims" | "remain_dims" | "degrees") => "1",
        _ => "0",
    };
    let bad: &[&str] = match param.kind.as_str() {
        // -1 has a meaning in some ABIs.
        "offset" if param.name == "disp" => &["-7"],
        "count" | "size" | "length" | "large_count" | "aint_size" | "byte_size" | "extent" | "offset" => &["-1"],
        "disp_unit" => &["-1", "0"],
        "position" | "byte_position" | "aint" => &["-1", "99999"],
        "index" | "int" | "partition" | "choice" | "thread_level" | "assertion" => &["-1", "99"],
        "rank" if receives => &["-7", "1"],
        "rank" => &["-7", "1", "MPI_ANY_SOURCE"],
        "root" => &["-7", "1", "MPI_ROOT", "MPI_PROC_NULL"],
        "tag" if receives => &["-7"],
        "tag" => &["-7", "MPI_ANY_TAG"],
        "color" => &["-7"],
        "keyval" => &["MPI_KEYVAL_INVALID", "99999"],
        "error_code" | "error_class" | "serial" | "fint" => &["-1", "999999"],
        "access_mode" => &["0", "-1", "MPI_MODE_RDONLY | MPI_MODE_WRONLY"],
        "t_cb_safety" => &["99"],
        "fd" => &["-1"],
        "stride" | "element_disp" | "displ" | "byte_disp" | "logical" | "address" => &[],
        _ => return None,
    };
    Some((good, bad))
}

fn keyval(function: &Function) -> &'static str {
    match function.name.split('_').nth(1) {
        Some("Type") => "type_keyval",
        Some("Win") => "win_keyval",
        _ => "comm_keyval",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_argument_has_a_good_value_and_most_have_bad_ones() {
        let api = Api::read(&root().join("api")).unwrap();
        let send = api.functions.iter().find(|f| f.name == "MPI_Send").unwrap();
        let params: Vec<Choice> = send.fixed_params().enumerate().map(|(i, p)| choice(send, p, i)).collect();
        assert_eq!(params[1].expression(1), "(c[1] == 1 ? (int)(-1) : (int)(1))");
        assert!(params[5].bad.iter().any(|(label, _)| label == "null"));
    }

    #[test]
    fn differences_name_the_row() {
        assert!(differences("a -> 1\nb -> 2\n", "a -> 1\nb -> 2\n").is_empty());
        let list = differences("a -> 1\nb -> 2\nc -> 3\n", "a -> 1\nb -> 4\nd -> 5\n");
        assert_eq!(list, ["was b -> 2\n   is b -> 4", "was c -> 3\n   is gone", "new d -> 5"]);
    }

    #[test]
    fn a_twin_that_answers_alike_has_one_row() {
        let list =
            "MPI_A x=1 -> MPI_A: no\nMPI_A_c x=1 -> MPI_A_c: no\nMPI_B x=1 -> MPI_B: no\nMPI_B_c x=1 -> MPI_B_c: yes\n";
        let short =
            "MPI_A x=1 -> MPI_A: no\nMPI_A_c -> as MPI_A\nMPI_B x=1 -> MPI_B: no\nMPI_B_c x=1 -> MPI_B_c: yes\n";
        assert_eq!(without_twins(list), short);
    }

    #[test]
    fn functions_that_are_skipped_exist() {
        let api = Api::read(&root().join("api")).unwrap();
        assert!(SKIPPED.iter().all(|(name, _)| api.functions.iter().any(|f| f.name == *name)));
    }
}
