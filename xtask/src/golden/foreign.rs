//! The program of `cargo xtask golden` in the ABI of MPICH or of Open MPI.

use crate::{Outcome, root};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Abi {
    Mpich,
    OpenMpi,
}

impl Abi {
    pub fn named(name: &str) -> Result<Abi, String> {
        match name {
            "mpich" => Ok(Abi::Mpich),
            "openmpi" => Ok(Abi::OpenMpi),
            other => Err(format!("there is no ABI `{other}`; there are mpich and openmpi")),
        }
    }

    fn header_and_library(self) -> (&'static str, &'static str) {
        match self {
            Abi::Mpich => ("mpich", "libmpi.so.12"),
            Abi::OpenMpi => ("openmpi", "libmpi.so.40"),
        }
    }

    /// Whether a bad argument with this label is told. A handle of MPICH has no room for a generation, so that of an object
    /// that there was may be that of a new one.
    pub fn tells(self, label: &str) -> bool {
        self != Abi::Mpich || label != "freed"
    }

    /// The arguments of a compiler for this ABI.
    pub fn link(self, prefix: &Path, compile: &mut Command) {
        let (header, library) = self.header_and_library();
        compile.arg("-I").arg(root().join("tests/foreign-abi").join(header).join("generated"));
        compile.arg(prefix.join("lib/compat").join(library));
        compile.arg(format!("-Wl,-rpath-link,{}", prefix.join("lib").display()));
    }
}

/// What differs in an ABI: the row, what it says there, and why.
type Exception = (&'static str, &'static str, &'static str);

const BOTH: &[Exception] = &[
    ("MPI_Abi_get_version", "MPI_SUCCESS abi_major=-1 abi_minor=-1", "programs ask for the standard ABI so"),
    ("MPI_Abi_get_version pairs", "nothing", OWN_TEXT),
    ("MPI_Status_c2f pairs", "nothing", OWN_TEXT),
    ("MPI_Status_c2f08 pairs", "nothing", OWN_TEXT),
    ("MPI_Status_f082c pairs", "nothing", OWN_TEXT),
    ("MPI_Status_f082f pairs", "nothing", OWN_TEXT),
    ("MPI_Status_f2c pairs", "nothing", OWN_TEXT),
    ("MPI_Status_f2f08 pairs", "nothing", OWN_TEXT),
    (
        "MPI_T_pvar_handle_alloc pairs",
        "session+pvar_index: pvar_index; session+handle: session; session+count: session; pvar_index+handle: pvar_index; \
         pvar_index+count: pvar_index;",
        "the variable says what kind of handle obj_handle is",
    ),
];

const OWN_TEXT: &str = "the library of the ABI answers itself, with one text for all arguments";

const MPICH: &[Exception] = &[
    ("MPI_File_call_errhandler fh=zero", "MPI_SUCCESS", "MPI_FILE_NULL is 0, and holds the default handler"),
    ("MPI_File_get_errhandler file=zero", "MPI_SUCCESS", "MPI_FILE_NULL is 0, and holds the default handler"),
    ("MPI_File_set_errhandler file=zero", "MPI_SUCCESS", "MPI_FILE_NULL is 0, and holds the default handler"),
];

/// Classes that Open MPI does not have, and what it says instead.
const ONE_CLASS: &[(&str, &str)] = &[
    ("MPI_ERR_ERRHANDLER", "MPI_ERR_ARG"),
    ("MPI_T_ERR_NOT_ACCESSIBLE", "MPI_T_ERR_INVALID"),
    ("MPI_T_ERR_NOT_SUPPORTED", "MPI_T_ERR_INVALID"),
    // No class, but an enumeration that it does not have: a number.
    ("MPI_T_SOURCE_UNORDERED", "2"),
];

impl Abi {
    /// Compares what the program has printed with the list of the standard ABI: outputs, classes, and which of two mistakes is
    /// reported. The texts are free.
    pub fn compare(self, standard: &str, rows: &str) -> Outcome {
        let own = if self == Abi::Mpich { MPICH } else { &[] };
        let exceptions: Vec<&Exception> = BOTH.iter().chain(own).collect();
        let (wanted, rows) = (answers(standard), answers(rows));
        let one_class = |answer: &str| match self {
            Abi::Mpich => answer.to_string(),
            Abi::OpenMpi => {
                ONE_CLASS.iter().fold(answer.to_string(), |text, (class, other)| text.replace(class, other))
            }
        };
        let mut wrong = Vec::new();
        for (row, answer) in
            wanted.iter().filter(|(row, _)| row.split('=').next_back().is_none_or(|label| self.tells(label)))
        {
            let says = rows.get(row).map_or("nothing", String::as_str);
            match exceptions.iter().find(|(name, _, _)| name == row) {
                Some((_, there, why)) if says != *there => wrong.push(format!("{row}: {says}, not {there} ({why})")),
                None if one_class(says) != one_class(answer) => {
                    wrong.push(format!("{row}: {says}\n    the standard ABI says {answer}"))
                }
                _ => {}
            }
        }
        wrong.extend(rows.keys().filter(|row| !wanted.contains_key(*row)).map(|row| format!("{row} is new")));
        let unknown = exceptions.iter().filter(|(row, _, _)| !wanted.contains_key(*row));
        wrong.extend(unknown.map(|(row, _, _)| format!("{row} is an exception, but no row")));
        if wrong.is_empty() {
            println!("golden: {} rows are as in the standard ABI, but for {}", rows.len(), exceptions.len());
            return Ok(());
        }
        Err(format!("{} rows differ from the standard ABI:\n  {}", wrong.len(), wrong.join("\n  ")))
    }
}

/// The answers by their calls. An error is its class.
fn answers(list: &str) -> BTreeMap<String, String> {
    let mut map = BTreeMap::new();
    for line in list.lines() {
        let (row, answer) = line.split_once(" ->").unwrap_or((line, ""));
        let answer = answer.trim();
        if let Some(small) = answer.strip_prefix("as ") {
            let twins =
                of(&map, small).into_iter().map(|(of_small, answer)| (of_small.replacen(small, row, 1), answer));
            map.extend(twins);
            continue;
        }
        let class = answer.split_once(": ").map(|(class, _)| class);
        let is_class =
            |text: &&str| text.contains("_ERR_") && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        map.insert(row.to_string(), class.filter(is_class).unwrap_or(answer).to_string());
    }
    map
}

/// The rows of a function.
fn of(map: &BTreeMap<String, String>, name: &str) -> Vec<(String, String)> {
    let start = format!("{name} ");
    let rows = map.iter().filter(|(row, _)| *row == name || row.starts_with(&start));
    rows.map(|(row, answer)| (row.clone(), answer.clone())).collect()
}
