//! How gdb is started for a rank, by `mpirun --debug` and `oxmpi gdb`.

use std::ffi::OsString;

use crate::compat;

/// The name of the program, which is searched in `PATH`.
pub const PROGRAM: &str = "gdb";

/// Its first options: it may load the script of this installation, and its prompt names the rank.
pub fn options(rank: impl std::fmt::Display) -> Vec<OsString> {
    let mut load = OsString::from("add-auto-load-safe-path ");
    load.push(compat::own_libraries());
    vec!["-q".into(), "-iex".into(), load, "-ex".into(), format!("set prompt (gdb {rank}) ").into()]
}
