//! The standard ABI names the library `mpi_abi` with major version 1, so the soname is fixed here.
fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    println!("cargo:rerun-if-changed=build.rs");
}
