//! Describes the Fortran interface for the generators beside this module: its procedures, their
//! dummy arguments, the names of their symbols. [`crate::gen_fortran_rust`] writes the entry points
//! in Rust, [`crate::gen_fortran_text`] `mpif.h` and the modules.
//!
//! `mpif.h` and the module `mpi` share one form; `mpi_f08` has another, and large-count twins
//! beside it.

use crate::api::{Api, Fortran, Function, Param};
use crate::generated_file::Output;
use crate::{gen_fortran_foreign, gen_fortran_rust, gen_fortran_test, gen_fortran_text};

pub fn outputs(api: &Api) -> Vec<Output> {
    let mut outputs = gen_fortran_rust::outputs(api);
    outputs.extend(gen_fortran_foreign::outputs(api));
    outputs.extend(gen_fortran_text::outputs(api));
    outputs.extend(gen_fortran_test::outputs(api));
    outputs
}

/// The form of a procedure in Fortran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `mpif.h` and `mpi`: integer handles, buffers by address.
    Old,
    /// `mpi_f08`: handles of derived types, buffers by descriptor, `ierror` optional.
    F08,
}

/// A procedure in one form.
pub struct Procedure<'a> {
    /// The C function that does the work.
    pub function: &'a Function,
    /// `MPI_Send`, or `MPI_Send_c` for the large-count twin.
    pub name: String,
    pub form: Form,
    pub args: Vec<Arg<'a>>,
}

/// A dummy argument, `ierror` not counted.
pub struct Arg<'a> {
    pub param: &'a Param,
    /// Its name in Fortran, which programs can use as a keyword.
    pub name: &'a str,
    pub what: What,
}

/// The kind of a dummy argument: it determines its declaration and its conversion to C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    Integer(Width),
    Handle,
    Logical,
    Choice,
    Status,
    Text,
    /// An address: an integer, or `TYPE(C_PTR)`.
    Address,
    Callback,
    /// An array of strings.
    Texts,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    Default,
    Address,
    Count,
    Offset,
}

pub const HANDLES: &[&str] =
    &["comm", "datatype", "errhandler", "file", "group", "info", "message", "op", "request", "session", "win"];

/// All procedures of a form; the old form includes those that MPI removed.
pub fn procedures(api: &Api, form: Form) -> Vec<Procedure<'_>> {
    let wanted = |f: &&Function| match form {
        Form::Old => f.fortran != Fortran::No && !f.name.ends_with("_c"),
        Form::F08 => f.fortran == Fortran::All && !is_the_same_twin(f),
    };
    api.functions.iter().filter(wanted).map(|f| Procedure::new(api, f, form)).collect()
}

/// Fortran has only the form with the wide count of these.
const ALWAYS_LARGE: &[&str] = &["MPI_Psend_init", "MPI_Precv_init"];

/// A twin whose arguments have the same kinds as the small form's, as long as addresses and counts
/// have the same width.
fn is_the_same_twin(function: &Function) -> bool {
    let is_wider = |p: &Param| p.widens && !p.kind.starts_with("byte_");
    let small = function.name.trim_end_matches("_c");
    function.is_derived_twin && (!function.params.iter().any(is_wider) || ALWAYS_LARGE.contains(&small))
}

impl<'a> Procedure<'a> {
    fn new(api: &'a Api, function: &'a Function, form: Form) -> Procedure<'a> {
        let name = function.name.clone();
        let twin = format!("{name}_c");
        let function = match ALWAYS_LARGE.contains(&name.as_str()) {
            true => api.functions.iter().find(|f| f.name == twin).unwrap_or(function),
            false => function,
        };
        let args = function.params.iter().filter(|p| !is_only_in_c(function, p)).map(|param| Arg {
            param,
            name: keyword(&name, param),
            what: what(function, param),
        });
        let args = args.collect();
        Procedure { function, form, name, args }
    }

    /// `MPI_Send`: the name that a program calls. If only a callback distinguishes the twins, the
    /// large one keeps its `_c`.
    pub fn generic(&self) -> &str {
        let by_callback = self.args.iter().any(|a| a.what == What::Callback && a.param.widens);
        match self.name.strip_suffix("_c") {
            Some(small) if !by_callback => small,
            _ => &self.name,
        }
    }

    /// The name of the specific procedure, without the underscore that compilers add.
    pub fn specific(&self) -> String {
        let suffix = match (self.form, self.has_choice()) {
            (Form::Old, _) => "",
            (Form::F08, true) => "_f08ts",
            (Form::F08, false) => "_f08",
        };
        format!("{}{suffix}", self.name)
    }

    pub fn has_choice(&self) -> bool {
        self.args.iter().any(|a| a.what == What::Choice)
    }

    /// Whether the procedure is a function in Fortran too.
    pub fn is_function(&self) -> bool {
        self.function.returns_value()
    }

    /// Whether the last argument is `ierror`: in all subroutines except one.
    pub fn has_ierror(&self) -> bool {
        !self.is_function() && self.function.name != "MPI_Pcontrol"
    }
}

/// Fortran passes no command line, and has no variadic procedures.
fn is_only_in_c(function: &Function, param: &Param) -> bool {
    let has_command_line = function.params.iter().any(|p| p.name == "argc");
    param.name == "..." || has_command_line && ["argc", "argv"].contains(&param.name.as_str())
}

/// The names that differ from C's.
fn keyword<'a>(function: &str, param: &'a Param) -> &'a str {
    match (function, param.name.as_str()) {
        (_, "indx") => "index",
        ("MPI_Status_get_error" | "MPI_Status_set_error", "error") => "err",
        ("MPI_Precv_init", "dest") => "source",
        (_, name) => name,
    }
}

fn what(function: &Function, param: &Param) -> What {
    let width = |c_type: &str| match c_type {
        "MPI_Aint" => Width::Address,
        "MPI_Count" => Width::Count,
        "MPI_Offset" => Width::Offset,
        _ => Width::Default,
    };
    match param.kind.as_str() {
        kind if HANDLES.contains(&kind) => What::Handle,
        kind if kind.ends_with("_function") => What::Callback,
        "logical" | "value" => What::Logical,
        "buffer" | "async_buffer" | "memory" => What::Choice,
        "status" | "f_status" | "f08_status" => What::Status,
        "string" => What::Text,
        "argv" => What::Texts,
        "pointer" => What::Address,
        // Deprecated procedures use INTEGERs there.
        "attribute" | "extra_state" if function.fortran == Fortran::Old => What::Integer(Width::Default),
        "attribute" | "extra_state" => What::Integer(Width::Address),
        _ => What::Integer(width(crate::ctype::parse(&param.c_decl).base)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    fn api() -> Api {
        Api::read(&root().join("api")).unwrap()
    }

    fn names(form: Form) -> Vec<String> {
        procedures(&api(), form).iter().map(|p| p.specific()).collect()
    }

    #[test]
    fn specific_procedures_have_the_names_of_the_standard() {
        let new = names(Form::F08);
        for name in
            ["MPI_Send_f08ts", "MPI_Send_c_f08ts", "MPI_Comm_rank_f08", "MPI_Type_vector_c_f08", "MPI_Op_create_c_f08"]
        {
            assert!(new.iter().any(|n| n == name), "{name}");
        }
        // Equal to the small ones while addresses are as wide as counts; also for a procedure that
        // has only the wide form.
        for name in ["MPI_Type_get_extent_c_f08", "MPI_Psend_init_c_f08ts"] {
            assert!(!new.iter().any(|n| n == name), "{name}");
        }
        assert!(names(Form::Old).iter().all(|n| !n.ends_with("_c")));
    }
}
