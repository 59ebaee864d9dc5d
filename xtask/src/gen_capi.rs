//! Writes the C entry points: one Rust file a chapter, `MPI_X` and `PMPI_X` for every function. A function whose body
//! stands in `crates/oxmpi-capi/src/bodies/` calls it; any other answers that it is not supported yet.

use crate::api::{Api, Dir, Function, Param};
use crate::codegen::Output;
use crate::forms::Member;
use crate::{Outcome, ctype, forms, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// The bodies that are written.
pub struct Bodies {
    /// Name of the function to name of the module.
    modules: BTreeMap<String, String>,
    /// Those that serve all forms of a collective; see `forms.rs`.
    formed: BTreeSet<String>,
}

impl Bodies {
    /// Looks for lines that start with `pub unsafe fn NAME(` in the bodies of `oxmpi-capi` and among the collective operations
    /// of `oxmpi`, which take a form: the source is the only list.
    pub fn scan() -> Result<Bodies, String> {
        let crates = root().join("crates");
        let mut bodies = Bodies { modules: BTreeMap::new(), formed: BTreeSet::new() };
        let dir = crates.join("oxmpi-capi/src/bodies");
        let entries = std::fs::read_dir(&dir).map_err(|e| format!("cannot list {}: {e}", dir.display()))?;
        for entry in entries.flatten() {
            let path = entry.path();
            let (Some("rs"), Some(module)) = (ext(&path), path.file_stem().and_then(|s| s.to_str())) else { continue };
            bodies.scan_file(&path, module)?;
        }
        bodies.scan_file(&crates.join("oxmpi/src/coll/mod.rs"), COLLECTIVES)?;
        Ok(bodies)
    }

    fn scan_file(&mut self, path: &Path, module: &str) -> Outcome {
        let text = crate::read(path)?;
        for (_, rest) in text.match_indices("\npub unsafe fn ").map(|(at, start)| text.split_at(at + start.len())) {
            if let Some((name, _)) = rest.split_once(['(', '<']) {
                self.add(name, module)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, name: &str, module: &str) -> Outcome {
        if let Some(other) = self.modules.insert(name.to_string(), module.to_string()) {
            return Err(format!("the body {name} stands in both modules {other} and {module}"));
        }
        if module == COLLECTIVES {
            self.formed.insert(name.to_string());
        }
        Ok(())
    }

    /// Names of the bodies that serve all forms of a collective.
    pub fn formed(&self) -> impl Iterator<Item = &str> {
        self.formed.iter().map(String::as_str)
    }

    /// Whether a collective, `Bcast`, has one.
    pub fn takes_form(&self, name: &str) -> bool {
        self.formed.contains(&name.to_lowercase())
    }

    /// A body by its name, `pt2pt::send`.
    pub fn named(&self, name: &str) -> Option<String> {
        self.modules.get(name).map(|module| format!("{module}::{name}"))
    }
}

/// The body of a function, and what it is handed.
struct Call {
    body: String,
    args: Vec<String>,
    uses: &'static str,
    /// It returns a request, which the entry point stores.
    makes_request: bool,
}

/// The module of the collective operations. Its functions take a form.
const COLLECTIVES: &str = "coll";

/// How a function is carried out; `None` while it is not built.
fn call_of(function: &Function, api: &Api, bodies: &Bodies) -> Result<Option<Call>, String> {
    if let Some(member) = forms::member(function, api, bodies)? {
        let Member { body, args, uses, makes_request } = member;
        return Ok(Some(Call { body, args, uses, makes_request }));
    }
    let args = function.fixed_params().map(argument).collect();
    Ok(bodies.named(&body_name(function)).map(|body| Call { body, args, uses: "", makes_request: false }))
}

/// Whether a function is built.
pub fn is_built(function: &Function, api: &Api, bodies: &Bodies) -> Result<bool, String> {
    Ok(call_of(function, api, bodies)?.is_some())
}

fn ext(path: &Path) -> Option<&str> {
    path.extension().and_then(|e| e.to_str())
}

/// `MPI_Type_create_f90_real` has the body `type_create_f90_real`. A twin shares the body of its small form unless a
/// callback differs between them.
fn body_name(function: &Function) -> String {
    let name = function.name.trim_start_matches("MPI_").to_lowercase();
    let own_body = function.params.iter().any(|p| p.widens && is_callback(p));
    match name.strip_suffix("_c") {
        Some(small) if function.is_derived_twin && !own_body => small.to_string(),
        _ => name,
    }
}

/// A function of the tool information interface: it answers with a code and never calls an error handler.
fn is_tool(function: &Function) -> bool {
    function.name.starts_with("MPI_T_")
}

fn is_callback(param: &Param) -> bool {
    param.kind.ends_with("_function")
}

pub fn outputs(api: &Api, bodies: &Bodies) -> Result<Vec<Output>, String> {
    forms::check(api, bodies)?;
    let dir = Path::new("crates/oxmpi-capi/src/generated");
    let chapters: BTreeSet<u8> = api.functions.iter().map(|f| f.chapter).collect();
    let mut outputs = vec![
        Output { path: dir.join("mod.rs"), text: module(&chapters) },
        Output { path: dir.join("callbacks.rs"), text: callbacks(api) },
        Output { path: dir.join("variables.rs"), text: variables(api) },
    ];
    for chapter in chapters {
        let functions: Vec<&Function> = api.functions.iter().filter(|f| f.chapter == chapter).collect();
        let text = entries(chapter, &functions, api, bodies)?;
        outputs.push(Output { path: dir.join(format!("ch{chapter:02}.rs")), text });
    }
    Ok(outputs)
}

/// The chapter on files.
const FILES: u8 = 15;

const HEAD: &str = "//! Generated by `cargo xtask codegen` from `api/`; do not edit.\n";

fn module(chapters: &BTreeSet<u8>) -> String {
    let mut out = String::from(HEAD);
    out.push_str("//! The C entry points, a file a chapter of the standard.\n");
    out.push_str("#![allow(non_snake_case, unused_imports, unused_variables, clippy::too_many_arguments)]\n\n");
    out.push_str("pub mod callbacks;\n");
    for chapter in chapters {
        let _ = writeln!(out, "mod ch{chapter:02};");
    }
    out.push_str("pub mod variables;\n");
    out
}

fn callbacks(api: &Api) -> String {
    let mut out = String::from(HEAD);
    out.push_str(
        "//! The functions that a user hands to MPI. `None` is the null pointer, which some predefined ones are.\n\n",
    );
    out.push_str("use oxmpi_abi::handle::*;\nuse oxmpi_abi::types::*;\nuse oxmpi_abi::Status;\nuse std::ffi::{c_int, c_void};\n\n");
    for callback in &api.types.callbacks {
        let params: Vec<String> =
            callback.params.iter().map(|p| if p == "..." { p.clone() } else { ctype::rust_param(p) }).collect();
        let returns = if callback.returns == "void" {
            String::new()
        } else {
            format!(" -> {}", ctype::rust_base(&callback.returns))
        };
        let name = ctype::rust_base(&callback.name);
        let _ = writeln!(out, "/// `{}`", callback.name);
        let _ = writeln!(out, "pub type {name} = Option<unsafe extern \"C\" fn({}){returns}>;", params.join(", "));
    }
    out
}

fn variables(api: &Api) -> String {
    let mut out = String::from(HEAD);
    out.push_str(
        "//! Variables that C programs see. The Fortran library stores the addresses of its own constants in them.\n\n",
    );
    out.push_str("use oxmpi_abi::types::*;\nuse std::ptr::null_mut;\nuse std::sync::atomic::AtomicPtr;\n\n");
    for variable in &api.types.variables {
        let c = ctype::parse(variable);
        let _ = writeln!(
            out,
            "#[unsafe(no_mangle)]\npub static {}: AtomicPtr<{}> = AtomicPtr::new(null_mut());",
            c.name,
            ctype::rust_base(c.base)
        );
    }
    out
}

fn entries(chapter: u8, functions: &[&Function], api: &Api, bodies: &Bodies) -> Result<String, String> {
    let mut calls = Vec::new();
    for function in functions {
        calls.push((*function, call_of(function, api, bodies)?));
    }
    let mut out = String::from(HEAD);
    let _ = writeln!(out, "//! The C entry points of chapter {chapter} of the standard.\n");
    out.push_str("use super::callbacks::*;\nuse crate::args::{Ints, OutInt, peek};\n");
    let built = || calls.iter().filter_map(|(_, call)| call.as_ref());
    let modules = built().filter_map(|call| call.body.split("::").next()).filter(|module| *module != COLLECTIVES);
    let modules: BTreeSet<&str> = modules.collect();
    if !modules.is_empty() {
        let list: Vec<&str> = modules.into_iter().collect();
        let _ = writeln!(out, "use crate::bodies::{{{}}};", list.join(", "));
    }
    out.extend(built().map(|call| call.uses).collect::<BTreeSet<&str>>());
    let answer = if functions.iter().any(|f| is_tool(f)) { "answer, " } else { "" };
    let started = if built().any(|call| call.makes_request) { "started, " } else { "" };
    let _ = writeln!(out, "use crate::call::{{On, {answer}call, or_null, {started}unsupported}};");
    out.push_str("use oxmpi_abi::Status;\nuse oxmpi_abi::constants::*;\nuse oxmpi_abi::functions::Fun;\nuse oxmpi_abi::handle::*;\nuse oxmpi_abi::types::*;\n");
    out.push_str("use std::ffi::{c_char, c_int, c_void};\n\n");
    for (function, call) in &calls {
        for prefix in ["", "P"] {
            entry(&mut out, function, prefix, call.as_ref());
        }
    }
    Ok(out)
}

fn entry(out: &mut String, function: &Function, prefix: &str, call: Option<&Call>) {
    let params: Vec<String> =
        function.fixed_params().map(|p| format!("{}: {}", p.name, ctype::rust_param(&p.c_decl))).collect();
    let _ =
        writeln!(out, "/// # Safety\n/// The arguments are what the standard asks of a caller of `{}`.", function.name);
    if function.is_variadic() {
        out.push_str("///\n/// Variadic in C; what follows the fixed arguments is not looked at.\n");
    }
    out.push_str("#[unsafe(no_mangle)]\n");
    let returns = ctype::rust_base(&function.returns);
    let _ =
        writeln!(out, "pub unsafe extern \"C\" fn {prefix}{}({}) -> {returns} {{", function.name, params.join(", "));
    let fun = ctype::variant(&function.name);
    match (call, function.returns_value()) {
        (Some(Call { body, args, .. }), true) => {
            let _ = writeln!(out, "// SAFETY: passed on from the caller.\nunsafe {{ {body}({}) }}", args.join(", "));
        }
        (Some(Call { body, args, .. }), false) if is_tool(function) => {
            let call = format!("answer(|| {body}({}))", args.join(", "));
            let call = makes(function).fold(call, or_null);
            let _ = writeln!(out, "// SAFETY: passed on from the caller.\nunsafe {{ {call} }}");
        }
        (Some(Call { body, args, makes_request, .. }), false) => {
            let form = args.first().map_or("", String::as_str);
            let args: String = args.iter().map(|a| format!(", {a}")).collect();
            let (on, _) = raised_on(function);
            let _ = writeln!(out, "// SAFETY: passed on from the caller.");
            let call = match makes_request {
                true => format!("started(cx, {form}, request, || {body}(cx{args}))"),
                false => format!("{body}(cx{args})"),
            };
            let call = format!("call(Fun::{fun}, {on}, |cx| {call})");
            let _ = writeln!(out, "unsafe {{ {} }}", makes(function).fold(call, or_null));
        }
        (None, returns_value) => {
            let (on, is_unsafe) = raised_on(function);
            let answer = format!("unsupported(Fun::{fun}, {on})");
            if is_tool(function) {
                let _ = writeln!(out, "MPI_T_ERR_NOT_SUPPORTED");
            } else if returns_value {
                let _ = writeln!(out, "{answer};\n{}", nothing(function));
            } else if is_unsafe {
                let _ = writeln!(out, "// SAFETY: passed on from the caller.\nunsafe {{ {answer} }}");
            } else {
                let _ = writeln!(out, "{answer}");
            }
        }
    }
    out.push_str("}\n\n");
}

/// `cargo xtask body MPI_X`: prints what the body of a function must look like.
pub fn print_body(args: &[String]) -> Outcome {
    let [name] = args else { return Err("usage: cargo xtask body MPI_X".into()) };
    let api = Api::read(&root().join("api"))?;
    let function =
        api.functions.iter().find(|f| f.name == *name).ok_or_else(|| format!("there is no {name} in api/"))?;
    println!("{}", signature(function));
    Ok(())
}

/// The signature of the body of a function.
fn signature(function: &Function) -> String {
    let params = function.fixed_params().map(|p| format!("{}: {}", p.name, body_type(p)));
    let (context, returns) = match function.returns_value() {
        true => (None, ctype::rust_base(&function.returns)),
        false if is_tool(function) => (None, "Answer".to_string()),
        false => (Some("cx: &Call".to_string()), "Result<()>".to_string()),
    };
    let params: Vec<String> = context.into_iter().chain(params).collect();
    format!("pub unsafe fn {}({}) -> {returns}", body_name(function), params.join(", "))
}

/// The type of what a body is handed for a parameter; [`argument`] makes the value.
fn body_type(param: &Param) -> String {
    match (param.dir, param.is_array) {
        _ if !param.widens || is_callback(param) => ctype::rust_param(&param.c_decl),
        (Dir::In, false) => "i64".into(),
        (Dir::In, true) => "Ints".into(),
        (_, _) => "OutInt".into(),
    }
}

/// What a body is handed for a parameter: where the twins differ, a form that holds both.
pub fn argument(param: &Param) -> String {
    let name = &param.name;
    if !param.widens || is_callback(param) {
        return name.clone();
    }
    let is_int = ctype::parse(&param.c_decl).base == "int";
    let width = if is_int { "narrow" } else { "wide" };
    match (param.dir, param.is_array) {
        (Dir::In, false) if is_int => format!("i64::from({name})"),
        (Dir::In, false) => name.clone(),
        (Dir::In, true) => format!("Ints::{width}({name})"),
        (_, _) => format!("OutInt::{width}({name})"),
    }
}

/// The handles that a function makes, one each.
fn makes(function: &Function) -> impl Iterator<Item = &Param> {
    const KINDS: [&str; 11] =
        ["comm", "datatype", "errhandler", "file", "group", "info", "message", "op", "request", "session", "win"];
    function.fixed_params().filter(|p| p.dir == Dir::Out && !p.is_array && KINDS.contains(&p.kind.as_str()))
}

/// A call that leaves a null handle behind where it fails.
fn or_null(call: String, made: &Param) -> String {
    format!("or_null({call}, {}, MPI_{}_NULL)", made.name, made.kind.to_uppercase())
}

/// The object whose error handler hears of an error, and whether it takes `unsafe` to name it: the first
/// communicator, window, file or session that is handed in; else that of the world.
fn raised_on(function: &Function) -> (String, bool) {
    let object =
        |p: &&Param| p.dir != Dir::Out && !p.is_array && ["comm", "win", "file", "session"].contains(&p.kind.as_str());
    // A call of the chapter on files that is handed no file speaks to the default handler of files.
    let is_file = |p: &Param| p.kind == "file" && p.dir != Dir::Out;
    if function.chapter == FILES && !function.params.iter().any(is_file) {
        return ("On::File(MPI_FILE_NULL)".into(), false);
    }
    let Some(param) = function.params.iter().find(object) else { return ("On::World".into(), false) };
    let variant = ctype::rust_base(&format!("MPI_{}", param.kind[..1].to_uppercase() + &param.kind[1..]));
    match param.dir {
        Dir::In => (format!("On::{variant}({})", param.name), false),
        _ => (format!("On::{variant}(peek({}))", param.name), true),
    }
}

/// What a function that has no error code gives back while it is not built.
fn nothing(function: &Function) -> String {
    match function.returns.as_str() {
        "int" | "MPI_Fint" | "MPI_Aint" => "0".into(),
        "double" => "0.0".into(),
        handle => format!("{}(0)", ctype::rust_base(handle)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str) -> Function {
        let api = Api::read(&root().join("api")).unwrap();
        api.functions.into_iter().find(|f| f.name == name).unwrap()
    }

    #[test]
    fn twins_share_a_body_unless_their_callbacks_or_parameters_differ() {
        assert_eq!(body_name(&function("MPI_Send_c")), "send");
        assert_eq!(body_name(&function("MPI_Op_create_c")), "op_create_c");
        assert_eq!(body_name(&function("MPI_Type_get_envelope_c")), "type_get_envelope_c");
        assert_eq!(signature(&function("MPI_Gatherv")), signature(&function("MPI_Gatherv_c")));
    }

    #[test]
    fn a_body_gets_one_form_of_what_differs_between_twins() {
        assert_eq!(
            signature(&function("MPI_Pack_c")),
            "pub unsafe fn pack(cx: &Call, inbuf: *const c_void, incount: i64, datatype: Datatype, outbuf: *mut c_void, \
             outsize: i64, position: OutInt, comm: Comm) -> Result<()>"
        );
        assert_eq!(signature(&function("MPI_Wtime")), "pub unsafe fn wtime() -> f64");
        let of_tools = "pub unsafe fn t_cvar_read(handle: TCvarHandle, buf: *mut c_void) -> Answer";
        assert_eq!(signature(&function("MPI_T_cvar_read")), of_tools);
    }

    #[test]
    fn what_a_failed_call_was_to_make_is_null() {
        let made = |name| makes(&function(name)).map(|param| param.name.clone()).collect::<Vec<_>>();
        assert_eq!(made("MPI_Comm_idup"), ["newcomm", "request"]);
        assert_eq!(made("MPI_Comm_free"), [""; 0]);
        assert_eq!(made("MPI_Type_get_contents"), [""; 0]);
        let call = makes(&function("MPI_Cart_create")).fold("call()".into(), or_null);
        assert_eq!(call, "or_null(call(), comm_cart, MPI_COMM_NULL)");
    }

    #[test]
    fn errors_go_to_the_object_of_the_call() {
        assert_eq!(raised_on(&function("MPI_Send")), ("On::Comm(comm)".into(), false));
        assert_eq!(raised_on(&function("MPI_Win_free")), ("On::Win(peek(win))".into(), true));
        assert_eq!(raised_on(&function("MPI_File_open")), ("On::File(MPI_FILE_NULL)".into(), false));
        assert_eq!(raised_on(&function("MPI_Wait")), ("On::World".into(), false));
    }
}
