//! From the arguments of a C function to the typed values that its body takes. The body's own declaration says what it wants for
//! each parameter (`&[u8]` for a string, `SourceArg` for a buffer with its count and type, `&Cell<Comm>` for a handle that it
//! replaces), and what it gives back goes to the output parameters that it does not take. The values are made here, in one
//! place, from what `api/` says of the parameters; `gen_capi.rs` writes the entry points around them.

use crate::api::{Dir, Function, Param};
use crate::ctype;

/// What the body is called with after the call, and the beginning of the expression that stores what it gives back.
pub fn arguments(
    function: &Function,
    wanted: &[(String, String)],
    returns: &str,
) -> Result<(Vec<String>, Option<String>), String> {
    let all: Vec<&Param> = function.fixed_params().collect();
    let mut taken = vec![false; all.len()];
    let mut args = Vec::new();
    for (name, ty) in wanted {
        let (value, uses) = match ty.as_str() {
            "At" => region(&all, name)?,
            _ => {
                let at = all.iter().position(|param| param.name == *name);
                let at = at.ok_or_else(|| format!("{} has no parameter {name}", function.name))?;
                value(function, &all, at, ty)?
            }
        };
        args.push(value);
        uses.into_iter().for_each(|at| taken[at] = true);
    }
    // The length of an array goes with the array.
    let is_length = |param: &Param| all.iter().any(|other| other.length.as_deref() == Some(&param.name));
    let left: Vec<&Param> = all
        .iter()
        .zip(&taken)
        .filter(|(param, taken)| !**taken && !is_length(param))
        .map(|(param, _)| *param)
        .collect();
    if let Some(lost) = left.iter().find(|param| param.dir != Dir::Out) {
        return Err(format!("nothing takes the parameter {} of {}", lost.name, function.name));
    }
    Ok((args, outputs(&left, returns)?))
}

/// Where an access to a window goes: the parameters that begin with the name.
fn region(all: &[&Param], name: &str) -> Result<(String, Vec<usize>), String> {
    let find = |name: &str| all.iter().position(|param| param.name == name);
    let [rank, disp] = ["rank", "disp"].map(|part| find(&format!("{name}_{part}")));
    let count = find(&format!("{name}_count"));
    let datatype = find(&format!("{name}_datatype")).or_else(|| find("datatype"));
    let (Some(rank), Some(disp), Some(datatype)) = (rank, disp, datatype) else {
        return Err(format!("there is no rank, displacement or datatype for {name}"));
    };
    let elements = count.map_or("1".to_string(), |count| integer(all[count]));
    let names = [rank, disp, datatype].map(|at| all[at].name.as_str());
    let value = format!("At::new({}, {}, {elements}, {})", names[0], names[1], names[2]);
    Ok((value, [rank, disp, datatype].into_iter().chain(count).collect()))
}

/// The value for one parameter of the body, and which of C's it is made from.
fn value(function: &Function, all: &[&Param], at: usize, ty: &str) -> Result<(String, Vec<usize>), String> {
    let param = all[at];
    let (name, label) = (&param.name, &param.label);
    let is_int = ctype::parse(&param.c_decl).base == "int";
    let width = if is_int { "narrow" } else { "wide" };
    let short = ty.split(['<', '(']).next().unwrap_or_default();
    let one = |value: String| Ok((value, vec![at]));
    match short {
        // The count and the datatype that follow describe it; where there is no count, it is one element.
        "SourceArg" | "TargetArg" => {
            let datatype = (at..all.len()).find(|&i| all[i].kind == "datatype" && !all[i].is_array);
            let datatype = datatype.ok_or_else(|| format!("{}: no datatype follows {name}", function.name))?;
            let count = (at..datatype).find(|&i| all[i].kind == "count" && !all[i].is_array);
            let elements = count.map_or("1".to_string(), |count| integer(all[count]));
            let value = format!("{short}::new({name}, {elements}, {})", all[datatype].name);
            Ok((value, [at, datatype].into_iter().chain(count).collect()))
        }
        "PackedSource" | "PackedTarget" => {
            let Some(size) = all.get(at + 1).filter(|size| size.kind.ends_with("size")) else {
                return Err(format!("{}: no size follows the buffer {name}", function.name));
            };
            Ok((format!("{short}::new({name}, {})", integer(size)), vec![at, at + 1]))
        }
        "Array" | "OutArray" | "Requests" | "Statuses" | "IntArray" | "OutText" => {
            let length = length(function, all, param)?;
            one(match short {
                "IntArray" => format!("IntArray::{width}({name}, {length})"),
                _ => format!("{short}::new({name}, {length})"),
            })
        }
        "OutInt" => one(format!("OutInt::{width}({name})")),
        "i64" => one(integer(param)),
        "Callback" | "Open" | "Out" | "OutStatus" | "Strings" | "Text" => one(format!("{short}::new({name})")),
        "&Cell" if param.kind == "status" => one(format!("status_cell({name})?")),
        "&Cell" => one(format!("cell({name}, \"{label}\")?")),
        "&Status" => one(format!("read_status({name})?")),
        "&[u8]" => one(format!("text({name}, \"{label}\")?")),
        "Option" if ty == "Option<&[u8]>" => one(format!("text({name}, \"{label}\").ok()")),
        "Option" => one(format!("cell({name}, \"{label}\").ok()")),
        "bool" => one(format!("{name} != 0")),
        "usize" => one(format!("{name}.expose_provenance()")),
        _ => one(name.clone()),
    }
}

/// A number in 64 bits.
fn integer(param: &Param) -> String {
    match ctype::parse(&param.c_decl).base {
        "int" => format!("i64::from({})", param.name),
        _ => param.name.clone(),
    }
}

/// The elements that an array has room for: another parameter, or a constant. An output array whose length the table leaves
/// open is as long as the array before it.
fn length(function: &Function, all: &[&Param], array: &Param) -> Result<String, String> {
    let find = |name: &str| all.iter().find(|param| param.name == name);
    match array.length.as_deref() {
        None => Err(format!("{}: {} is no array", function.name, array.name)),
        Some("*") => {
            let before = all.iter().take_while(|param| param.name != array.name).filter(|param| param.is_array).last();
            match before.filter(|_| array.dir == Dir::Out && matches!(array.kind.as_str(), "status" | "index" | "int"))
            {
                Some(before) => length(function, all, before),
                None => Err(format!("{}: the length of {} is not a parameter", function.name, array.name)),
            }
        }
        Some(length) => Ok(match find(length) {
            Some(param) if param.dir != Dir::In => format!("peek_int({length})"),
            // C has room for the null character beside the characters that are counted.
            Some(param) if array.kind == "string" => format!("{} + 1", integer(param)),
            Some(param) => integer(param),
            None => format!("i64::from({length})"),
        }),
    }
}

/// Stores the results of a body: its places are checked before it runs, so that nothing is made that cannot be handed out.
fn outputs(left: &[&Param], returns: &str) -> Result<Option<String>, String> {
    if returns == "Result<()>"
        || returns == "Answer"
        || !(returns.starts_with("Result<") || returns.starts_with("Answer<"))
    {
        return match left {
            [] => Ok(None),
            [first, ..] => Err(format!("nothing is stored in {}", first.name)),
        };
    }
    let place = |param: &Param| match param.kind.as_str() {
        "pointer" => format!("({}.cast::<usize>(), \"{}\")", param.name, param.label),
        _ => format!("({}, \"{}\")", param.name, param.label),
    };
    // What a call makes is made only where there is a place for it.
    let made = left.iter().any(|param| makes(&param.kind));
    let kinds: Vec<&str> = left.iter().map(|param| param.kind.as_str()).collect();
    Ok(Some(match kinds[..] {
        [] => return Err("what it gives back has no output parameter".into()),
        ["string"] => format!("out_text({}, {}", place(left[0]), constant(left[0])?),
        ["string", "length"] => {
            format!("out_text_length({}, {}, {}", place(left[0]), constant(left[0])?, place(left[1]))
        }
        ["attribute", "logical"] => format!("out_attribute({}, {}", place(left[0]), place(left[1])),
        _ => {
            let places: Vec<String> = left.iter().map(|param| place(param)).collect();
            match made {
                true => format!("made{}(cx, {}", places.len(), places.join(", ")),
                false => format!("out{}({}", places.len(), places.join(", ")),
            }
        }
    }))
}

/// Whether an output of a kind is something that the call makes.
fn makes(kind: &str) -> bool {
    const MADE: [&str; 12] = [
        "comm",
        "datatype",
        "errhandler",
        "file",
        "group",
        "info",
        "message",
        "op",
        "pointer",
        "request",
        "session",
        "win",
    ];
    MADE.contains(&kind)
}

/// The constant that says how long an output string can be.
fn constant(string: &Param) -> Result<&str, String> {
    string
        .length
        .as_deref()
        .filter(|length| length.starts_with("MPI_MAX"))
        .ok_or_else(|| format!("the room that {} has is not a constant", string.name))
}

/// What a body can take for the parameters of a function, and what it gives back.
pub fn signature(function: &Function) -> (Vec<String>, Vec<String>) {
    let all: Vec<&Param> = function.fixed_params().collect();
    let (mut params, mut results) = (Vec::new(), Vec::new());
    let is_length = |param: &Param| all.iter().any(|array| array.length.as_deref() == Some(&param.name));
    let mut at = 0;
    while at < all.len() {
        let param = all[at];
        let c_type = ctype::rust_param(&param.c_decl);
        let target = c_type.trim_start_matches("*const ").trim_start_matches("*mut ").to_string();
        let next = |by: usize| all.get(at + by).map_or("", |param| param.kind.as_str());
        let mut used = 1;
        let is_source = param.dir == Dir::In;
        let ty = match (param.kind.as_str(), param.dir) {
            ("buffer" | "async_buffer", _) if next(1) == "count" && next(2) == "datatype" => {
                used = 3;
                let lifetime = if param.kind == "buffer" { "" } else { "<'static>" };
                format!("{}{lifetime}", if is_source { "SourceArg" } else { "TargetArg" })
            }
            ("buffer", _) if next(1).ends_with("size") => {
                used = 2;
                String::from(if is_source { "PackedSource" } else { "PackedTarget" })
            }
            ("string", Dir::In) => "&[u8]".into(),
            ("string", _) if next(1) == "length" && !is_length(all[at + 1]) => {
                used = 2;
                results.push("Vec<u8>".into());
                String::new()
            }
            ("string", _) => "OutText".into(),
            ("status", Dir::In) => "&Status".into(),
            ("status", _) => String::from(if param.is_array { "Statuses" } else { "OutStatus" }),
            ("request", _) if param.is_array => "Requests".into(),
            (_, Dir::In) if param.is_array && param.widens => "IntArray".into(),
            (_, Dir::In) if param.is_array => format!("Array<{target}>"),
            (_, _) if param.is_array => format!("OutArray<{target}>"),
            (kind, _) if ctype::is_callback(kind) => format!("Callback<{c_type}>"),
            (_, Dir::In) if is_length(param) => String::new(),
            (_, Dir::In) if param.widens => "i64".into(),
            (_, Dir::In) => c_type,
            (_, _) if param.widens => "OutInt".into(),
            (_, Dir::InOut) => format!("&Cell<{target}>"),
            (kind, Dir::Out) => {
                results.push(if kind == "logical" { "bool".into() } else { target });
                String::new()
            }
        };
        if !ty.is_empty() {
            params.push(format!("{}: {ty}", param.name));
        }
        at += used;
    }
    (params, results)
}
