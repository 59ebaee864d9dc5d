//! What a call that succeeds has put into its output arguments, in words that are equal in every ABI: the part of the
//! generated calls that prints them with the functions of `tests/golden/outputs.h`.

use crate::api::{Api, Dir, Function, Param};
use crate::ctype;
use crate::fuzz::HANDLES;
use std::fmt::Write;

/// Outputs that differ from run to run, or from one installation to another.
const UNSTABLE: &[(&str, &str)] = &[
    ("MPI_Get_library_version", "names the version"),
    ("MPI_Get_processor_name", "names the machine"),
    ("MPI_Open_port", "the name of a port is secret"),
    ("MPI_T_category_changed", "counts what the library has done"),
    ("MPI_T_cvar_read", "is a setting of the user"),
    ("MPI_T_pvar_read", "measures"),
    ("MPI_T_pvar_readreset", "measures"),
    ("MPI_T_source_get_timestamp", "is a time"),
    ("MPI_Get_hw_resource_info", "describes the machine"),
];

/// Outputs that are one of some named constants: kind, parameter (empty: all), the title of the constants.
const NAMED: &[(&str, &str, &str)] = &[
    ("choice", "combiner", "How a datatype was made"),
    ("choice", "result", "Results of comparisons"),
    ("choice", "status", "Topologies"),
    ("choice", "verbosity", "Tools: verbosity"),
    ("choice", "bind", "Tools: what a variable is bound to"),
    ("choice", "scope", "Tools: scope of a control variable"),
    ("choice", "var_class", "Tools: classes of performance variables"),
    ("thread_level", "", "Thread levels"),
    ("t_source_order", "", "Tools: order of a source's events"),
    ("rank", "", RANKS),
    ("root", "", RANKS),
    ("tag", "", TAGS),
    ("index", "", "The undefined integer"),
    ("length", "", "The undefined integer"),
    ("count", "", "The undefined integer"),
    ("large_count", "", "The undefined integer"),
    ("access_mode", "", "Access modes of files"),
];

/// The two halves of a group, because a tag may be the same number as a rank.
const RANKS: &str = "Ranks with a meaning";
const TAGS: &str = "Tags with a meaning";

/// Kinds of numbers that are printed as they are.
const NUMBERS: &[&str] = &[
    "count",
    "size",
    "stride",
    "position",
    "extent",
    "element_disp",
    "displ",
    "disp_unit",
    "byte_disp",
    "byte_size",
    "byte_position",
    "large_count",
    "aint",
    "aint_size",
    "offset",
    "int",
    "length",
    "index",
    "logical",
    "color",
    "partition",
];

/// The tables of names: one for each title in [`NAMED`], and the predefined handles.
pub fn tables(api: &Api, is_foreign: bool) -> String {
    let mut out = String::new();
    let mut titles: Vec<&str> = NAMED.iter().map(|(_, _, title)| *title).collect();
    titles.sort_unstable();
    titles.dedup();
    for title in titles {
        let table = table_of(title);
        let _ = writeln!(out, "static const struct name {table}[] = {{");
        let title = if title == RANKS || title == TAGS { "Ranks and tags with a meaning" } else { title };
        let group = api.groups.iter().find(|group| group.title == title);
        for constant in group.iter().flat_map(|group| &group.constants) {
            let name = &constant.name;
            if table == table_of(RANKS) && name.contains("TAG") || table == table_of(TAGS) && !name.contains("TAG") {
                continue;
            }
            // Another ABI may lack a constant. In the standard one some are of an enumeration.
            let _ = match is_foreign {
                true => writeln!(out, "#ifdef {name}\n    {{{name}, \"{name}\"}},\n#endif"),
                false => writeln!(out, "    {{{name}, \"{name}\"}},"),
            };
        }
        out.push_str("    {0, 0},\n};\n\n");
    }
    out.push_str("static const struct predefined predefined[] = {\n");
    for constant in api.groups.iter().flat_map(|group| &group.constants) {
        let kind = constant.c_type.strip_prefix("MPI_").map(str::to_lowercase).unwrap_or_default();
        let name = &constant.name;
        if is_mpi_handle(&kind) {
            let _ = writeln!(out, "#ifdef {name}\n    {{K_{kind}, (uintptr_t){name}, \"{name}\"}},\n#endif");
        }
    }
    out + "};\n\n"
}

/// Of the tool interface no handle is predefined.
fn is_mpi_handle(kind: &str) -> bool {
    HANDLES.contains(&kind) && !kind.starts_with("t_")
}

fn table_of(title: &str) -> String {
    title.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

/// Whether the argument has room for one value only; what is behind it must not change.
pub fn is_one_value(param: &Param) -> bool {
    let c = ctype::parse(&param.c_decl);
    let sized = NUMBERS.contains(&param.kind.as_str()) || param.kind == "status" || HANDLES.contains(&&*param.kind);
    param.dir == Dir::Out && !param.is_array && c.pointers == 1 && (sized || table_for(param).is_some())
}

fn table_for(param: &Param) -> Option<String> {
    let row = NAMED.iter().find(|(kind, name, _)| *kind == param.kind && (name.is_empty() || *name == param.name));
    row.map(|(_, _, title)| table_of(title))
}

/// The statements that print the outputs. An argument that was no memory of ours is left out.
pub fn show(function: &Function) -> String {
    let mut out = String::new();
    if UNSTABLE.iter().any(|(name, _)| *name == function.name) {
        return out;
    }
    // A request first: what it stands for changes the other outputs.
    let is_new_request = |p: &&Param| p.kind == "request" && p.dir == Dir::Out;
    let params: Vec<(usize, &Param)> = function.fixed_params().enumerate().collect();
    let (first, rest): (Vec<_>, Vec<_>) = params.into_iter().partition(|(_, p)| is_new_request(p));
    for (i, param) in first.into_iter().chain(rest).filter(|(_, p)| p.dir != Dir::In) {
        if let Some(call) = show_param(function, param, i) {
            let _ = writeln!(out, "    if (!c[{i}]) {call};");
        }
    }
    out
}

fn show_param(function: &Function, param: &Param, i: usize) -> Option<String> {
    let c = ctype::parse(&param.c_decl);
    let (kind, name) = (param.kind.as_str(), &param.name);
    let base = c.base;
    let elements = if param.is_array { 2 } else { 1 };
    if kind == "request" && param.dir == Dir::Out {
        let what = match function.name.trim_end_matches("_c") {
            "MPI_Grequest_start" | "MPI_Psend_init" | "MPI_Precv_init" => "NEEDS_OTHERS",
            persistent if persistent.ends_with("_init") => "PERSISTENT",
            _ => "STARTED",
        };
        return Some(format!("show_operation({i}, \"{name}\", {what})"));
    }
    if HANDLES.contains(&kind) {
        return Some(format!("show_handles({i}, \"{name}\", K_{kind}, sizeof({base}), {elements})"));
    }
    if let Some(table) = table_for(param) {
        return Some(format!("show_named({i}, \"{name}\", sizeof({base}), {elements}, {table})"));
    }
    Some(match kind {
        "status" => format!("show_statuses({i}, \"{name}\", {elements})"),
        "f_status" => format!("show_f_status({i}, \"{name}\")"),
        "f08_status" => format!("show_f08_status({i}, \"{name}\")"),
        "error_code" | "error_class" => format!("show_class({i}, \"{name}\")"),
        "string" => format!("show_text({i}, \"{name}\")"),
        "buffer" | "async_buffer" => format!("show_bytes({i}, \"{name}\")"),
        _ if NUMBERS.contains(&kind) => format!("show_numbers({i}, \"{name}\", sizeof({base}), {elements})"),
        _ => return None,
    })
}

/// Functions that return a value: expressions that are 1 in every ABI.
pub fn values(api: &Api) -> String {
    let mut out = String::from("static const struct value values[] = {\n");
    for function in api.functions.iter().filter(|f| f.returns_value()) {
        let name = &function.name;
        let text = match name.rsplit_once('_') {
            Some((stem, to @ ("c2f" | "toint"))) => {
                let back = if to == "c2f" { "f2c" } else { "fromint" };
                let kind =
                    if stem == "MPI_Type" { "datatype".into() } else { stem.trim_start_matches("MPI_").to_lowercase() };
                let c_type = if stem == "MPI_Type" { "MPI_Datatype" } else { stem };
                let null = format!("{}_NULL", c_type.to_uppercase());
                let good = format!("({c_type})good[K_{kind}]");
                format!("{stem}_{back}({name}({good})) == {good} && {stem}_{back}({name}({null})) == {null}")
            }
            // With the function above.
            Some((_, "f2c" | "fromint")) => continue,
            _ => match name.as_str() {
                "MPI_Aint_add" => "MPI_Aint_add(16, 5) == 21".into(),
                "MPI_Aint_diff" => "MPI_Aint_diff(16, 5) == 11".into(),
                "MPI_Wtime" => "MPI_Wtime() > 0".into(),
                "MPI_Wtick" => "MPI_Wtick() > 0".into(),
                _ => panic!("golden: nothing calls {name}, which returns a value"),
            },
        };
        let _ = writeln!(out, "    {{\"{name}\", value_of_{name}}},");
        out.insert_str(0, &format!("static int value_of_{name}(void)\n{{\n    return {text};\n}}\n\n"));
    }
    out + "};\n"
}
