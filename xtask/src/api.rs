//! Reads the tables in `api/`. It knows their format, but not the files that are generated from
//! them. A mistake in a table is an error that names file and line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The whole interface.
pub struct Api {
    /// In the order of the tables, which is that of the chapters; a large-count twin follows its
    /// small form.
    pub functions: Vec<Function>,
    /// The titles of the chapters.
    pub chapters: BTreeMap<u8, String>,
    pub groups: Vec<ConstantGroup>,
    pub types: Types,
    pub kinds: BTreeMap<String, Kind>,
    /// The purposes of functions, by their names without `MPI_` (names with `MPIX_` are whole).
    pub purposes: BTreeMap<String, String>,
}

/// The meaning of a parameter, and its C types.
pub struct Kind {
    pub c_type: String,
    /// The C type in the large-count twin.
    pub c_type_large: String,
    pub meaning: String,
}

#[derive(Clone)]
pub struct Function {
    /// `MPI_Send`
    pub name: String,
    pub chapter: u8,
    /// The C return type; `int` is an error code unless [`Function::returns_value`].
    pub returns: String,
    pub params: Vec<Param>,
    /// Set on a twin that was derived from its small form.
    pub is_derived_twin: bool,
    /// Not a function of the standard ABI: removed from MPI, or left out of the ABI.
    pub is_extra: bool,
    /// The Fortran forms that have it.
    pub fortran: Fortran,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fortran {
    /// In C only.
    No,
    /// In `mpif.h` and the `mpi` module, in the older form.
    Old,
    /// In all three.
    All,
}

#[derive(Clone)]
pub struct Param {
    pub dir: Dir,
    /// `...` for the end of a variadic function.
    pub name: String,
    /// What messages call it.
    pub label: String,
    pub kind: String,
    pub is_array: bool,
    /// The text in the brackets of an array or string.
    pub length: Option<String>,
    /// The declaration in C, `const int recvcounts[]`.
    pub c_decl: String,
    /// The declaration differs between the function and its large-count twin.
    pub widens: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Dir {
    In,
    Out,
    InOut,
}

pub struct ConstantGroup {
    pub title: String,
    /// Not part of the standard ABI.
    pub is_extra: bool,
    pub constants: Vec<Constant>,
}

pub struct Constant {
    pub name: String,
    /// A C type, or `alias`.
    pub c_type: String,
    pub value: String,
}

#[derive(Default)]
pub struct Types {
    pub handles: Vec<String>,
    pub callbacks: Vec<Callback>,
    pub enums: Vec<String>,
    pub synonyms: Vec<(String, String)>,
    /// Declarations, `MPI_Fint *MPI_F_STATUS_IGNORE`.
    pub variables: Vec<String>,
}

pub struct Callback {
    pub returns: String,
    pub name: String,
    pub params: Vec<String>,
}

impl Function {
    /// The function returns a value, not an error code.
    pub fn returns_value(&self) -> bool {
        self.returns != "int" || self.name.ends_with("_toint")
    }

    pub fn is_variadic(&self) -> bool {
        self.params.iter().any(|p| p.name == "...")
    }

    /// One of the functions that OxMPI adds to MPI, such as `MPIX_Comm_agree`.
    pub fn is_extension(&self) -> bool {
        self.name.starts_with("MPIX_")
    }

    /// The parameters as C declares them, without `...`.
    pub fn fixed_params(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|p| p.name != "...")
    }

    /// `int MPI_Send(const void *buf, …)`, as the standard prints it.
    pub fn prototype(&self) -> String {
        let params: Vec<&str> = self.params.iter().map(|p| p.c_decl.as_str()).collect();
        let params = if params.is_empty() { "void".to_string() } else { params.join(", ") };
        format!("{} {}({params})", self.returns, self.name)
    }
}

impl Api {
    pub fn read(dir: &Path) -> Result<Api, String> {
        let kinds = read_kinds(&dir.join("kinds.txt"))?;
        let types = read_types(&dir.join("types.txt"))?;
        let groups = read_constants(&dir.join("constants.txt"))?;
        let mut files: Vec<_> = std::fs::read_dir(dir)
            .map_err(|e| format!("cannot list {}: {e}", dir.display()))?
            .filter_map(|entry| entry.ok().map(|e| e.path()))
            .filter(|path| chapter_of(path).is_some())
            .collect();
        files.sort();
        let mut functions = Vec::new();
        let mut chapters = BTreeMap::new();
        let mut names = BTreeSet::new();
        for file in &files {
            let (title, in_chapter) = read_functions(file, &kinds)?;
            chapters.extend(in_chapter.first().map(|f| (f.chapter, title)));
            for function in in_chapter {
                if !names.insert(function.name.clone()) {
                    return Err(format!("{}: {} is there twice", file.display(), function.name));
                }
                functions.push(function);
            }
        }
        let purposes = read_purposes(&dir.join("purposes.txt"), &names)?;
        Ok(Api { functions, chapters, groups, types, kinds, purposes })
    }
}

/// The chapter of a table of functions: the first two digits of its file name.
fn chapter_of(path: &Path) -> Option<u8> {
    let name = path.file_name()?.to_str()?;
    let (number, _) = name.strip_suffix(".txt")?.split_once('-')?;
    number.parse().ok()
}

/// The lines of a table that are not empty and not comments, with their numbers.
fn lines(path: &Path) -> Result<Vec<(usize, String)>, String> {
    Ok(crate::read(path)?
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|(i, line)| (i + 1, line.to_string()))
        .collect())
}

fn read_kinds(path: &Path) -> Result<BTreeMap<String, Kind>, String> {
    let mut kinds = BTreeMap::new();
    for (number, line) in lines(path)? {
        let columns: Vec<&str> = line.split("  ").map(str::trim).filter(|c| !c.is_empty()).collect();
        let [kind, c_type, large, meaning] = columns[..] else {
            return Err(format!("{}:{number}: four columns expected, two spaces apart", path.display()));
        };
        let large = if large == "-" { c_type } else { large };
        let value = Kind { c_type: c_type.into(), c_type_large: large.into(), meaning: meaning.into() };
        if kinds.insert(kind.to_string(), value).is_some() {
            return Err(format!("{}:{number}: kind {kind} is there twice", path.display()));
        }
    }
    Ok(kinds)
}

fn read_purposes(path: &Path, names: &BTreeSet<String>) -> Result<BTreeMap<String, String>, String> {
    let mut purposes = BTreeMap::new();
    for (number, line) in lines(path)? {
        let at = |text: &str| format!("{}:{number}: {text}", path.display());
        let (name, purpose) = line.split_once("  ").ok_or_else(|| at("a name and a text, two spaces apart"))?;
        if !names.contains(&format!("MPI_{name}")) && !names.contains(name) {
            return Err(at(&format!("there is no MPI_{name}")));
        }
        if purposes.insert(name.to_string(), purpose.trim().to_string()).is_some() {
            return Err(at(&format!("{name} is there twice")));
        }
    }
    Ok(purposes)
}

/// A parameter as written in the table, before its C declaration is made.
struct Row {
    dir: Dir,
    name: String,
    kind: String,
    length: Option<String>,
    c_decl: Option<String>,
}

/// A table of functions: its title, and the functions with their twins.
fn read_functions(path: &Path, kinds: &BTreeMap<String, Kind>) -> Result<(String, Vec<Function>), String> {
    let chapter = chapter_of(path).ok_or_else(|| format!("{}: no chapter in the name", path.display()))?;
    let mut title = String::new();
    let mut records: Vec<(usize, String, Vec<Row>)> = Vec::new();
    for (number, line) in lines(path)? {
        let at = |text: &str| format!("{}:{number}: {text}", path.display());
        if let Some(text) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            title = text.to_string();
        } else if line.starts_with(' ') {
            let Some(record) = records.last_mut() else { return Err(at("a parameter before any function")) };
            let row = read_row(&line).map_err(|text| at(&text))?;
            if !kinds.contains_key(&row.kind) && row.name != "..." {
                return Err(at(&format!("kind '{}' is not in kinds.txt", row.kind)));
            }
            record.2.push(row);
        } else {
            records.push((number, line, Vec::new()));
        }
    }
    let mut functions = Vec::new();
    for (number, header, rows) in &records {
        let at = |text: &str| format!("{}:{number}: {text}", path.display());
        let (name, returns, flags) = read_header(header).map_err(|text| at(&text))?;
        let has_twin = flags.contains("large");
        let widens = |row: &Row| kinds.get(&row.kind).is_some_and(|k| k.c_type != k.c_type_large);
        if has_twin != rows.iter().any(widens) {
            return Err(at(&format!("{name}: 'large' and parameters that widen belong together")));
        }
        for row in rows {
            check_length(row, rows).map_err(|text| at(&format!("{name}: {text}")))?;
        }
        let make = |is_derived_twin: bool| Function {
            name: if is_derived_twin { format!("{name}_c") } else { name.clone() },
            chapter,
            returns: returns.clone(),
            params: rows
                .iter()
                .map(|row| Param {
                    dir: row.dir,
                    name: row.name.clone(),
                    label: row.name.clone(),
                    kind: row.kind.clone(),
                    is_array: row.length.is_some(),
                    length: row.length.clone(),
                    c_decl: c_decl(row, kinds, is_derived_twin),
                    widens: widens(row),
                })
                .collect(),
            is_derived_twin,
            is_extra: flags.contains("extra"),
            fortran: match (flags.contains("c-only"), flags.contains("no-f08")) {
                (true, _) => Fortran::No,
                (_, true) => Fortran::Old,
                _ => Fortran::All,
            },
        };
        functions.push(make(false));
        if has_twin {
            functions.push(make(true));
        }
    }
    Ok((title, functions))
}

/// A length is `*` (given by the call in another way), a constant, or a parameter, perhaps after
/// another dimension.
fn check_length(row: &Row, rows: &[Row]) -> Result<(), String> {
    let Some(length) = &row.length else { return Ok(()) };
    let known = |word: &str| word == "*" || word.starts_with("MPI_MAX_") || rows.iter().any(|r| r.name == word);
    if known(length) { Ok(()) } else { Err(format!("the length [{length}] of {} is no parameter", row.name)) }
}

/// `MPI_Wtime -> double large extra c-only no-f08 deprecated`
fn read_header(line: &str) -> Result<(String, String, BTreeSet<String>), String> {
    const FLAGS: &[&str] = &["large", "extra", "c-only", "no-f08", "deprecated"];
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default().to_string();
    let mut returns = "int".to_string();
    let mut flags = BTreeSet::new();
    while let Some(word) = words.next() {
        if word == "->" {
            returns = words.next().ok_or("a type is missing after '->'")?.to_string();
        } else if FLAGS.contains(&word) {
            flags.insert(word.to_string());
        } else {
            return Err(format!("flag '{word}' is none of {FLAGS:?}"));
        }
    }
    Ok((name, returns, flags))
}

/// `    in  recvcounts  count[*]  = const int recvcounts[]`
fn read_row(line: &str) -> Result<Row, String> {
    let (line, c_decl) = match line.split_once(" = ") {
        Some((line, c_decl)) => (line, Some(c_decl.trim().to_string())),
        None => (line, None),
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let (dir, name, kind) = match words[..] {
        [dir, "..."] => (dir, "...", ""),
        [dir, name, kind] => (dir, name, kind),
        _ => return Err("direction, name and kind expected".into()),
    };
    let dir = match dir {
        "in" => Dir::In,
        "out" => Dir::Out,
        "inout" => Dir::InOut,
        other => return Err(format!("direction '{other}' is none of in, out, inout")),
    };
    let (kind, length) = match kind.strip_suffix(']').and_then(|k| k.split_once('[')) {
        Some((kind, length)) => (kind, Some(length.to_string())),
        None => (kind, None),
    };
    Ok(Row { dir, name: name.into(), kind: kind.into(), length, c_decl })
}

/// Applies the rules at the head of api/kinds.txt.
fn c_decl(row: &Row, kinds: &BTreeMap<String, Kind>, large: bool) -> String {
    let (Some(kind), None) = (kinds.get(&row.kind), &row.c_decl) else {
        return row.c_decl.clone().unwrap_or_else(|| row.name.clone());
    };
    let c_type = if large { &kind.c_type_large } else { &kind.c_type };
    let name = &row.name;
    if c_type.ends_with('*') {
        let c_type = if row.dir == Dir::In { c_type } else { c_type.trim_start_matches("const ") };
        format!("{c_type}{name}")
    } else if row.length.is_some() {
        let const_ = if row.dir == Dir::In { "const " } else { "" };
        format!("{const_}{c_type} {name}[]")
    } else {
        let star = if row.dir == Dir::In { "" } else { "*" };
        format!("{c_type} {star}{name}")
    }
}

fn read_constants(path: &Path) -> Result<Vec<ConstantGroup>, String> {
    let mut groups: Vec<ConstantGroup> = Vec::new();
    for (number, line) in lines(path)? {
        let at = |text: &str| format!("{}:{number}: {text}", path.display());
        if let Some(title) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            let is_extra = title.contains("(extra)");
            groups.push(ConstantGroup { title: title.replace(" (extra)", ""), is_extra, constants: Vec::new() });
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, c_type, value] = words[..] else { return Err(at("name, type and value expected")) };
        let group = groups.last_mut().ok_or_else(|| at("a constant before any group"))?;
        group.constants.push(Constant { name: name.into(), c_type: c_type.into(), value: value.into() });
    }
    Ok(groups)
}

fn read_types(path: &Path) -> Result<Types, String> {
    let mut types = Types::default();
    for (number, line) in lines(path)? {
        let at = |text: &str| format!("{}:{number}: {text}", path.display());
        let (what, rest) = line.split_once(' ').ok_or_else(|| at("two words expected"))?;
        match what {
            "handle" => types.handles.push(rest.to_string()),
            "enum" => types.enums.push(rest.to_string()),
            "variable" => types.variables.push(rest.trim_end_matches(" (extra)").to_string()),
            "synonym" => {
                let (new, old) = rest.split_once(' ').ok_or_else(|| at("two names expected"))?;
                types.synonyms.push((new.into(), old.into()));
            }
            "callback" => {
                let parsed = rest.trim_end_matches(" (extra)").strip_suffix(')').and_then(|r| r.split_once('('));
                let (head, params) = parsed.ok_or_else(|| at("a prototype expected"))?;
                let (returns, name) = head.split_once(' ').ok_or_else(|| at("a return type expected"))?;
                types.callbacks.push(Callback {
                    returns: returns.into(),
                    name: name.into(),
                    params: params.split(", ").map(str::to_string).collect(),
                });
            }
            other => return Err(at(&format!("'{other}' is none of handle, enum, callback, synonym, variable"))),
        }
    }
    Ok(types)
}
