//! Generates the C entry points: one Rust file for each chapter, `MPI_X` and `PMPI_X` for every
//! function. An entry point calls the function's body, which is in `crates/oxmpi-capi/src/bodies/`,
//! `crates/oxmpi/src/p2p/` or `crates/oxmpi/src/ft/mod.rs`; a function without a body returns an error.

use crate::api::{Api, Dir, Function, Param};
use crate::forms::Member;
use crate::generated_file::Output;
use crate::{Outcome, ctype, forms, root, typed};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// The bodies that exist.
pub struct Bodies {
    by_name: BTreeMap<String, Body>,
    /// The path of a module with bodies, by its name.
    homes: BTreeMap<String, &'static str>,
}

/// A function that implements an MPI function, as its source declares it.
struct Body {
    /// The module, by its path in the code of an entry point.
    module: String,
    /// Names and types, without the call.
    params: Vec<(String, String)>,
    takes_call: bool,
    returns: String,
    /// Whether it takes C's arguments unchanged.
    is_raw: bool,
    /// Whether it serves all forms of a collective; see `forms.rs`.
    takes_form: bool,
}

impl Bodies {
    /// Searches for lines that start with `pub fn NAME(` or `pub unsafe fn NAME(` in the
    /// [directories](HOMES) of bodies, and among the collective operations of `oxmpi`, which take a
    /// form. There is no other list of bodies.
    pub fn scan() -> Result<Bodies, String> {
        let crates = root().join("crates");
        let mut bodies = Bodies { by_name: BTreeMap::new(), homes: BTreeMap::new() };
        for (dir, home) in HOMES {
            let dir = crates.join(dir);
            let entries = std::fs::read_dir(&dir).map_err(|e| format!("cannot list {}: {e}", dir.display()))?;
            for path in entries.flatten().map(|entry| entry.path()).filter(|path| ext(path) == Some("rs")) {
                let Some(module) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
                bodies.scan_file(&path, module, "\npub fn ")?;
                bodies.scan_file(&path, module, "\npub unsafe fn ")?;
                bodies.homes.insert(module.to_string(), home);
            }
        }
        bodies.scan_file(&crates.join("oxmpi/src/coll/mod.rs"), COLLECTIVES, "\npub unsafe fn ")?;
        for (file, module) in EXTENSIONS {
            let file = crates.join(file);
            bodies.scan_file(&file, module, "\npub fn ")?;
            bodies.scan_file(&file, module, "\npub unsafe fn ")?;
        }
        Ok(bodies)
    }

    fn scan_file(&mut self, path: &Path, module: &str, start: &str) -> Outcome {
        let text = crate::read(path)?;
        for (at, _) in text.match_indices(start) {
            let declared = &text[at + start.len()..];
            let (name, mut body) =
                declaration(declared).ok_or_else(|| format!("{}: cannot read {declared:.60}", path.display()))?;
            body.module = module.to_string();
            body.is_raw = start.contains("unsafe") && !is_extension(module);
            body.takes_form = module == COLLECTIVES;
            if let Some(other) = self.by_name.insert(name.to_string(), body) {
                return Err(format!("the body {name} stands in both modules {} and {module}", other.module));
            }
        }
        Ok(())
    }

    /// Names of the bodies that serve all forms of a collective.
    pub fn formed(&self) -> impl Iterator<Item = &str> {
        self.by_name.iter().filter(|(_, body)| body.takes_form).map(|(name, _)| name.as_str())
    }

    /// Whether the body of a collective, such as `Bcast`, takes a form.
    pub fn takes_form(&self, name: &str) -> bool {
        self.by_name.get(&name.to_lowercase()).is_some_and(|body| body.takes_form)
    }

    /// A body by its name, `send::send`.
    pub fn named(&self, name: &str) -> Option<String> {
        self.by_name.get(name).map(|body| format!("{}::{name}", body.module))
    }
}

/// The name and types of a function, from the text that follows `fn `.
fn declaration(text: &str) -> Option<(&str, Body)> {
    let open = text.find('(')?;
    let name = text[..open].split('<').next()?;
    let close = open + closing(&text[open..])?;
    let returns = text[close + 1..].split('{').next()?.trim().trim_start_matches("->").trim().to_string();
    let mut params = Vec::new();
    let mut takes_call = false;
    for param in split_top(&text[open + 1..close]) {
        let (name, ty) = param.split_once(':')?;
        match ty.trim() {
            "&Call" => takes_call = true,
            ty => params.push((name.trim().trim_start_matches('_').to_string(), ty.to_string())),
        }
    }
    let takes_form = params.first().is_some_and(|(_, ty)| ty == "Form");
    Some((name, Body { module: String::new(), params, takes_call, returns, is_raw: false, takes_form }))
}

/// The position of the bracket that closes the first one.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().find_map(|(at, c)| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        (depth == 0).then_some(at)
    })
}

/// The parts between the commas that are in no bracket.
fn split_top(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' | '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// The body of a function, and its arguments.
struct Call {
    body: String,
    args: Vec<String>,
    takes_call: bool,
    /// How its results are stored.
    outputs: Option<String>,
    uses: &'static str,
}

/// Directories of modules with bodies, and the path by which an entry point names each.
const HOMES: [(&str, &str); 2] = [("oxmpi-capi/src/bodies", "crate::bodies"), ("oxmpi/src/p2p", "oxmpi::p2p")];

/// Files with the functions that OxMPI adds to MPI, and their modules.
const EXTENSIONS: [(&str, &str); 2] = [("oxmpi/src/extra_state.rs", "extra_state"), ("oxmpi/src/ft/mod.rs", "ft")];

fn is_extension(module: &str) -> bool {
    EXTENSIONS.iter().any(|(_, extension)| *extension == module)
}

/// Functions with which a function of the program may come to its end.
const FREES: &[&str] = &[
    "MPI_Comm_disconnect",
    "MPI_Comm_free",
    "MPI_Comm_set_errhandler",
    "MPI_Errhandler_free",
    "MPI_Errhandler_set",
    "MPI_File_close",
    "MPI_File_set_errhandler",
    "MPI_Finalize",
    "MPI_Op_free",
    "MPI_Session_finalize",
    "MPI_Session_set_errhandler",
    "MPI_Win_free",
    "MPI_Win_set_errhandler",
];

/// The module of the collective operations. Its functions take a form.
const COLLECTIVES: &str = "coll";

impl Call {
    /// Whether it returns a request, which the entry point stores.
    fn starts(&self) -> bool {
        self.outputs.as_deref().is_some_and(|outputs| outputs.starts_with(STARTED))
    }

    /// The call of the body, with code that stores its results.
    fn expression(&self) -> String {
        let cx = self.takes_call.then(|| "cx".to_string());
        let args: Vec<String> = cx.into_iter().chain(self.args.iter().cloned()).collect();
        let call = format!("{}({})", self.body, args.join(", "));
        match &self.outputs {
            Some(outputs) => format!("{outputs}, || {call})"),
            None => call,
        }
    }
}

/// The beginning of a call that stores the request of a form.
const STARTED: &str = "started(";

/// How a function is implemented; `None` if it is not.
fn call_of(function: &Function, api: &Api, bodies: &Bodies) -> Result<Option<Call>, String> {
    let function = &named_as_body(function, api);
    if let Some(member) = forms::member(function, api, bodies)? {
        let Member { body, args, uses, makes_request } = member;
        let form = args.first().map_or("", String::as_str);
        let outputs = makes_request.then(|| format!("{STARTED}cx, {form}, request"));
        return Ok(Some(Call { body, args, takes_call: true, outputs, uses }));
    }
    let name = body_name(function);
    let Some(body) = bodies.by_name.get(&name) else { return Ok(None) };
    let (args, outputs) = match body.is_raw {
        true => (function.fixed_params().map(argument).collect(), None),
        false => typed::arguments(function, &body.params, &body.returns)
            .map_err(|text| format!("bodies/{}.rs: {name}: {text}", body.module))?,
    };
    let takes_call = body.takes_call;
    Ok(Some(Call { body: format!("{}::{name}", body.module), args, takes_call, outputs, uses: "" }))
}

/// Whether a function is implemented.
pub fn is_built(function: &Function, api: &Api, bodies: &Bodies) -> Result<bool, String> {
    Ok(call_of(function, api, bodies)?.is_some())
}

fn ext(path: &Path) -> Option<&str> {
    path.extension().and_then(|e| e.to_str())
}

/// Functions that do the same as another one, under an older name or for another integer type.
const SAME: &[(&str, &str)] = &[
    ("address", "get_address"),
    ("attr_delete", "comm_delete_attr"),
    ("attr_get", "comm_get_attr"),
    ("attr_put", "comm_set_attr"),
    ("errhandler_create", "comm_create_errhandler"),
    ("errhandler_get", "comm_get_errhandler"),
    ("errhandler_set", "comm_set_errhandler"),
    ("get_elements_x", "get_elements"),
    // A standard send may be used for a ready send.
    ("irsend", "isend"),
    ("keyval_create", "comm_create_keyval"),
    ("keyval_free", "comm_free_keyval"),
    ("rsend", "send"),
    ("rsend_init", "send_init"),
    ("status_set_elements_x", "status_set_elements"),
    ("type_get_extent_x", "type_get_extent"),
    ("type_get_true_extent_x", "type_get_true_extent"),
    ("type_hindexed", "type_create_hindexed"),
    ("type_hvector", "type_create_hvector"),
    ("type_size_x", "type_size"),
    ("type_struct", "type_create_struct"),
];

/// `MPI_Type_create_f90_real` has the body `type_create_f90_real`. A twin shares the body of its small form unless a
/// callback differs between them.
fn body_name(function: &Function) -> String {
    let name = function.name.trim_start_matches("MPIX_").trim_start_matches("MPI_").to_lowercase();
    let own_body = function.params.iter().any(|p| p.widens && is_callback(p));
    let name = match name.strip_suffix("_c") {
        Some(small) if function.is_derived_twin && !own_body => small.to_string(),
        _ => name,
    };
    if let Some((_, same)) = SAME.iter().find(|(old, _)| *old == name) {
        return same.to_string();
    }
    let converted = |suffix: &str| name.strip_suffix(suffix).filter(|object| *object != "status");
    match (converted("_c2f"), converted("_f2c")) {
        (Some(object), _) => format!("{object}_toint"),
        (_, Some(object)) => format!("{object}_fromint"),
        _ => name,
    }
}

/// Whether a function belongs to the tool information interface: it returns a code and never calls
/// an error handler.
fn is_tool(function: &Function) -> bool {
    function.name.starts_with("MPI_T_")
}

fn is_callback(param: &Param) -> bool {
    ctype::is_callback(&param.kind)
}

pub fn outputs(api: &Api, bodies: &Bodies) -> Result<Vec<Output>, String> {
    forms::check(api, bodies)?;
    let dir = Path::new("crates/oxmpi-capi/src/generated");
    let chapters: BTreeSet<u8> = api.functions.iter().map(|f| f.chapter).collect();
    let mut outputs = vec![
        Output { path: dir.join("mod.rs"), text: module(&chapters) },
        Output { path: "crates/oxmpi-abi/src/generated/callbacks.rs".into(), text: callbacks(api) },
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
    out.push_str(
        "#![allow(non_snake_case, unused_imports, unused_unsafe, unused_variables, clippy::redundant_closure, clippy::too_many_arguments)]\n\n",
    );
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
    out.push_str("use crate::Status;\nuse crate::handle::*;\nuse crate::types::*;\nuse std::ffi::{c_int, c_void};\n\n");
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
        calls.push((named_as_body(function, api), call_of(function, api, bodies)?));
    }
    let mut out = String::from(HEAD);
    let _ = writeln!(out, "//! The C entry points of chapter {chapter} of the standard.\n");
    out.push_str("use crate::args::*;\n");
    let built = || calls.iter().filter_map(|(_, call)| call.as_ref());
    let modules = built().filter_map(|call| call.body.split("::").next()).filter(|module| *module != COLLECTIVES);
    let modules: BTreeSet<&str> = modules.collect();
    for module in modules.iter().filter(|module| is_extension(module)) {
        let _ = writeln!(out, "use oxmpi::{module};");
    }
    for (_, home) in HOMES {
        let list: Vec<&str> =
            modules.iter().copied().filter(|module| bodies.homes.get(*module) == Some(&home)).collect();
        if !list.is_empty() {
            let _ = writeln!(out, "use {home}::{{{}}};", list.join(", "));
        }
    }
    out.extend(built().map(|call| call.uses).collect::<BTreeSet<&str>>());
    let answer = if functions.iter().any(|f| is_tool(f)) { "answer, " } else { "" };
    let started = if built().any(|call| call.starts()) { "started, " } else { "" };
    let _ = writeln!(out, "use crate::call::{{On, {answer}call, entry, or_null, {started}unsupported}};");
    out.push_str("use oxmpi_abi::Status;\nuse oxmpi_abi::callbacks::*;\nuse oxmpi_abi::constants::*;\nuse oxmpi_abi::functions::Fun;\nuse oxmpi_abi::handle::*;\nuse oxmpi_abi::types::*;\n");
    out.push_str("use std::ffi::{c_char, c_int, c_void};\n\n");
    for (function, call) in &calls {
        entry(&mut out, function, call.as_ref());
    }
    Ok(out)
}

/// The function with the parameter names of the one whose body it uses.
fn named_as_body(function: &Function, api: &Api) -> Function {
    let mut renamed = function.clone();
    let body = format!("mpi_{}", body_name(function));
    if let Some(base) = api.functions.iter().find(|other| other.name.to_lowercase() == body)
        && base.params.len() == function.params.len()
    {
        for (param, from) in renamed.params.iter_mut().zip(&base.params) {
            param.name = from.name.clone();
            param.length = from.length.clone();
        }
    }
    renamed
}

fn entry(out: &mut String, function: &Function, call: Option<&Call>) {
    let params: Vec<String> =
        function.fixed_params().map(|p| format!("{}: {}", p.name, ctype::rust_param(&p.c_decl))).collect();
    if function.is_variadic() {
        out.push_str("// Variadic in C; what follows the fixed arguments is not looked at.\n");
    }
    let name = &function.name;
    let returns = ctype::rust_base(&function.returns);
    let private = crate::gen_foreign::private_name(name);
    let head = format!("    {name} P{name} {private}({}) -> {returns}", params.join(", "));
    let _ = writeln!(out, "entry! {{\n{}", wrapped(&head, "        "));
    let fun = ctype::variant(name);
    let on = raised_on(function);
    let (value, is_tool) = (function.returns_value(), is_tool(function));
    let expression = match call {
        Some(call) if value => of_any_abi(function, call.expression()),
        Some(call) if is_tool => makes(function).fold(format!("answer(|| {})", call.expression()), or_null),
        Some(call) => {
            let expression = call.expression();
            let cx = if expression.contains("(cx") { "cx" } else { "_" };
            let called = format!("call(Fun::{fun}, {on}, |{cx}| {expression})");
            let called = match FREES.contains(&name.as_str()) {
                true => format!("oxmpi::extra_state::after(&crate::library::LIBRARY, {called})"),
                false => called,
            };
            makes(function).fold(called, or_null)
        }
        None if is_tool => "MPI_T_ERR_NOT_SUPPORTED".to_string(),
        None if value => format!("{{ unsupported(Fun::{fun}, {on}); {} }}", nothing(function)),
        None => format!("unsupported(Fun::{fun}, {on})"),
    };
    let _ = writeln!(out, "{}\n}}\n", wrapped(&format!("        => {expression}"), "            "));
}

/// `MPI_Comm_f2c` and its kin also take the integers of predefined handles in the Fortran of other ABIs.
fn of_any_abi(function: &Function, expression: String) -> String {
    match (crate::gen_foreign::table_of(&function.returns), function.params.first()) {
        (Some(table), Some(param)) if function.name.ends_with("_f2c") => {
            let name = &param.name;
            let integers = "oxmpi_abi::foreign_integers";
            expression.replace(&format!("({name})"), &format!("({integers}::standard({integers}::{table}, {name}))"))
        }
        _ => expression,
    }
}

/// Lines of at most 118 columns, broken after commas: rustfmt does not format the inside of a
/// macro.
fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for part in text.split_inclusive(", ") {
        let full = lines.last().is_some_and(|line| line.len() + part.trim_end().len() > 118 && !line.trim().is_empty());
        if full {
            lines.push(indent.to_string());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(part);
        }
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

/// `cargo xtask body MPI_X`: prints the signature that the body of a function must have.
pub fn print_body(args: &[String]) -> Outcome {
    let [name] = args else { return Err("usage: cargo xtask body MPI_X".into()) };
    let api = Api::read(&root().join("api"))?;
    let function =
        api.functions.iter().find(|f| f.name == *name).ok_or_else(|| format!("there is no {name} in api/"))?;
    println!("{}", signature(function));
    Ok(())
}

/// A signature that the body of a function can have.
fn signature(function: &Function) -> String {
    let (params, results) = typed::signature(function);
    let result = match &results[..] {
        [] => "()".to_string(),
        [one] => one.clone(),
        several => format!("({})", several.join(", ")),
    };
    let (context, returns) = match function.returns_value() {
        true => (None, ctype::rust_base(&function.returns)),
        false if is_tool(function) => (None, "Answer".to_string()),
        false => (Some("cx: &Call".to_string()), format!("Result<{result}>")),
    };
    let params: Vec<String> = context.into_iter().chain(params).collect();
    format!("pub fn {}({}) -> {returns}", body_name(function), params.join(", "))
}

/// What a body gets for a parameter: if the twins differ, a type for both.
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

/// The handles that a function makes.
fn makes(function: &Function) -> impl Iterator<Item = &Param> {
    const KINDS: [&str; 11] =
        ["comm", "datatype", "errhandler", "file", "group", "info", "message", "op", "request", "session", "win"];
    function.fixed_params().filter(|p| p.dir == Dir::Out && !p.is_array && KINDS.contains(&p.kind.as_str()))
}

/// A call that stores a null handle if it fails.
fn or_null(call: String, made: &Param) -> String {
    format!("or_null({call}, {}, MPI_{}_NULL)", made.name, made.kind.to_uppercase())
}

/// The object whose error handler gets an error: the first communicator, window, file or session
/// among the arguments; otherwise that of the world.
fn raised_on(function: &Function) -> String {
    let object =
        |p: &&Param| p.dir != Dir::Out && !p.is_array && ["comm", "win", "file", "session"].contains(&p.kind.as_str());
    // A call of the chapter on files without a file uses the default handler of files.
    let is_file = |p: &Param| p.kind == "file" && p.dir != Dir::Out;
    if function.chapter == FILES && !function.params.iter().any(is_file) {
        return "On::File(MPI_FILE_NULL)".into();
    }
    let Some(param) = function.params.iter().find(object) else { return "On::World".into() };
    let variant = ctype::rust_base(&format!("MPI_{}", param.kind[..1].to_uppercase() + &param.kind[1..]));
    match param.dir {
        Dir::In => format!("On::{variant}({})", param.name),
        _ => format!("On::{variant}(peek({}))", param.name),
    }
}

/// What a function without an error code returns if it is not implemented.
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
        assert_eq!(body_name(&function("MPI_Irsend_c")), "isend");
        assert_eq!(body_name(&function("MPI_Op_create_c")), "op_create_c");
        assert_eq!(body_name(&function("MPI_Type_get_envelope_c")), "type_get_envelope_c");
        assert_eq!(signature(&function("MPI_Gatherv")), signature(&function("MPI_Gatherv_c")));
    }

    #[test]
    fn a_body_gets_one_form_of_what_differs_between_twins() {
        assert_eq!(
            signature(&function("MPI_Pack_c")),
            "pub fn pack(cx: &Call, inbuf: SourceArg, outbuf: PackedTarget, position: OutInt, comm: Comm) -> Result<()>"
        );
        assert_eq!(signature(&function("MPI_Wtime")), "pub fn wtime() -> f64");
        assert_eq!(
            signature(&function("MPI_Irecv")),
            "pub fn irecv(cx: &Call, buf: TargetArg<'static>, source: c_int, tag: c_int, comm: Comm) -> Result<Request>"
        );
        assert_eq!(
            signature(&function("MPI_Info_get_string")),
            "pub fn info_get_string(cx: &Call, info: Info, key: &[u8], buflen: &Cell<c_int>, value: OutText) -> Result<bool>"
        );
    }

    fn expression(name: &str) -> String {
        let api = Api::read(&root().join("api")).unwrap();
        let bodies = Bodies::scan().unwrap();
        call_of(&function(name), &api, &bodies).unwrap().unwrap().expression()
    }

    #[test]
    fn typed_values_are_made_from_the_arguments_that_describe_them() {
        assert_eq!(
            expression("MPI_Isend"),
            "made1(cx, (request, \"request\"), || send::isend(cx, SourceArg::new(buf, i64::from(count), datatype), dest, tag, comm))"
        );
        assert!(expression("MPI_Fetch_and_op").contains(
            "SourceArg::new(origin_addr, 1, datatype), TargetArg::new(result_addr, 1, datatype), \
             At::new(target_rank, target_disp, 1, datatype)"
        ));
        assert!(
            expression("MPI_Waitsome").contains("OutArray::new(array_of_indices, i64::from(incount)), Statuses::new(")
        );
        assert!(expression("MPI_Type_hindexed").contains("IntArray::narrow(array_of_blocklengths, i64::from(count))"));
        assert!(expression("MPI_Info_get").contains("OutText::new(value, i64::from(valuelen) + 1)"));
        assert!(
            expression("MPI_Comm_get_name")
                .starts_with("out_text_length((comm_name, \"comm_name\"), MPI_MAX_OBJECT_NAME")
        );
        assert_eq!(expression("MPI_Comm_c2f"), "handles::comm_toint(comm)");
        assert!(expression("MPI_Keyval_free").contains("cell(comm_keyval, \"keyval\")?"));
    }

    #[test]
    fn every_function_has_a_body() {
        let api = Api::read(&root().join("api")).unwrap();
        let bodies = Bodies::scan().unwrap();
        let missing = api.functions.iter().filter(|f| !is_built(f, &api, &bodies).unwrap());
        assert_eq!(missing.map(|f| f.name.as_str()).collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn a_body_that_does_not_fit_its_function_is_refused() {
        let wanted = |params: &[(&str, &str)], returns: &str| {
            let params: Vec<_> = params.iter().map(|(name, ty)| (name.to_string(), ty.to_string())).collect();
            typed::arguments(&function("MPI_Comm_rank"), &params, returns)
        };
        assert!(wanted(&[("comm", "Comm")], "Result<c_int>").is_ok());
        assert!(wanted(&[("comm", "Comm")], "Result<()>").is_err());
        assert!(wanted(&[], "Result<c_int>").is_err());
        assert!(wanted(&[("comm", "Comm"), ("rang", "c_int")], "Result<c_int>").is_err());
        assert!(wanted(&[("comm", "Comm"), ("rank", "Out<c_int>")], "Result<c_int>").is_err());
    }

    #[test]
    fn a_failed_call_stores_a_null_handle() {
        let made = |name| makes(&function(name)).map(|param| param.name.clone()).collect::<Vec<_>>();
        assert_eq!(made("MPI_Comm_idup"), ["newcomm", "request"]);
        assert_eq!(made("MPI_Comm_free"), [""; 0]);
        assert_eq!(made("MPI_Type_get_contents"), [""; 0]);
        let call = makes(&function("MPI_Cart_create")).fold("call()".into(), or_null);
        assert_eq!(call, "or_null(call(), comm_cart, MPI_COMM_NULL)");
    }

    #[test]
    fn errors_go_to_the_object_of_the_call() {
        assert_eq!(raised_on(&function("MPI_Send")), "On::Comm(comm)");
        assert_eq!(raised_on(&function("MPI_Win_free")), "On::Win(peek(win))");
        assert_eq!(raised_on(&function("MPI_File_open")), "On::File(MPI_FILE_NULL)");
        assert_eq!(raised_on(&function("MPI_Wait")), "On::World");
    }
}
