//! Converts a C declaration of the tables to the Rust type with the same representation.

/// A parsed declaration: `const MPI_Datatype sendtypes[]` is `MPI_Datatype`, `sendtypes`, const,
/// one level.
pub struct CDecl<'a> {
    pub base: &'a str,
    pub name: &'a str,
    pub is_const: bool,
    /// The number of pointers (an array counts as one) between the parameter and its base type.
    pub pointers: usize,
    /// The second dimension of `int ranges[][3]`.
    pub inner: Option<&'a str>,
}

pub fn parse(decl: &str) -> CDecl<'_> {
    let (is_const, rest) = match decl.strip_prefix("const ") {
        Some(rest) => (true, rest),
        None => (false, decl),
    };
    let (head, tail) = match rest.find('[') {
        Some(i) => rest.split_at(i),
        None => (rest, ""),
    };
    let name_at = head.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |i| i + 1);
    let (types, name) = head.split_at(name_at);
    let stars = types.matches('*').count();
    let base = types.trim_end_matches(['*', ' ']);
    let inner = tail.strip_prefix("[][").and_then(|t| t.strip_suffix(']'));
    CDecl { base, name, is_const, pointers: stars + usize::from(!tail.is_empty()), inner }
}

/// The Rust type of a parameter. Callbacks are `Option`s of function pointers, because a predefined
/// one may be null.
pub fn rust_param(decl: &str) -> String {
    let c = parse(decl);
    let base = rust_base(c.base);
    if is_callback(c.base) {
        return base;
    }
    let base = match c.inner {
        Some(n) => format!("[{base}; {n}]"),
        None => base,
    };
    match c.pointers {
        0 => base,
        n => {
            let last = if c.is_const { "*const " } else { "*mut " };
            format!("{}{last}{base}", "*mut ".repeat(n - 1))
        }
    }
}

/// Whether a kind or a C type is that of a function of the program.
pub fn is_callback(name: &str) -> bool {
    ["_function", "_function_c", "_function_x"].iter().any(|end| name.ends_with(end))
}

/// The Rust type of a function's return value.
pub fn rust_base(c_type: &str) -> String {
    match c_type {
        "int" => "c_int".into(),
        "char" => "c_char".into(),
        "void" => "c_void".into(),
        "double" => "f64".into(),
        other => {
            let name = other.strip_prefix("MPIX_").or(other.strip_prefix("MPI_")).unwrap_or(other);
            name.replace("_function", "_fn").split('_').map(capital).collect()
        }
    }
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// The name of the variant of `Fun`: `CommGetName` for `MPI_Comm_get_name`.
pub fn variant(name: &str) -> String {
    name.trim_start_matches("MPI_").split('_').map(capital).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_become_types_of_the_same_representation() {
        assert_eq!(rust_param("const void *buf"), "*const c_void");
        assert_eq!(rust_param("const MPI_Datatype sendtypes[]"), "*const Datatype");
        assert_eq!(rust_param("char ***argv"), "*mut *mut *mut c_char");
        assert_eq!(rust_param("char **array_of_argv[]"), "*mut *mut *mut c_char");
        assert_eq!(rust_param("int ranges[][3]"), "*mut [c_int; 3]");
        assert_eq!(rust_param("const int level"), "c_int");
        assert_eq!(rust_param("MPI_T_pvar_handle *handle"), "*mut TPvarHandle");
        assert_eq!(rust_param("MPI_User_function_c *user_fn"), "UserFnC");
        assert_eq!(rust_param("MPIX_User_function_x *user_fn"), "UserFnX");
        assert_eq!(rust_param("MPI_T_event_cb_function event_cb_function"), "TEventCbFn");
        assert_eq!(parse("MPI_Fint *MPI_F_STATUS_IGNORE").name, "MPI_F_STATUS_IGNORE");
    }
}
