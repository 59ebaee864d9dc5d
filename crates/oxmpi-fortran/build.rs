//! The library carries the name and version of the standard ABI and needs `libmpi_abi.so.1`, which
//! lies beside it once installed. At this point only its name is known, so an empty library of that
//! name stands in for it.
//!
//! Other packages have this build script too: they compile the same files for INTEGERs of eight bytes
//! (`oxmpi-fortran-i8`) and for other ABIs (`oxmpi-fortran-mpich`, `oxmpi-fortran-openmpi`).

use std::path::Path;
use std::process::Command;

fn main() {
    let folder = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let package = std::env::var("CARGO_PKG_NAME").expect("cargo sets CARGO_PKG_NAME");
    // What is compiled, the name of the library, and that of the C library that it needs.
    let (kind, name, needs) = match package.strip_prefix("oxmpi-fortran") {
        Some("-i8") => ("integer8", "libmpifort_abi_i8.so.1", "libmpi_abi.so.1"),
        Some("-mpich") => ("mpich", "libmpifort.so.12", "libmpi.so.12"),
        Some("-openmpi") => ("openmpi", "libmpi_mpifh.so.40", "libmpi.so.40"),
        _ => ("standard", "libmpifort_abi.so.1", "libmpi_abi.so.1"),
    };
    let stand_in = Path::new(&folder).join("libneeded.so");
    let status = Command::new("cc")
        .args(["-shared", "-nostdlib", "-x", "c", "/dev/null", &format!("-Wl,-soname,{needs}"), "-o"])
        .arg(&stand_in)
        .status()
        .expect("cc, which also links Rust programs, can be started");
    assert!(status.success(), "cc cannot make {}", stand_in.display());
    println!("cargo:rustc-cfg={kind}");
    println!("cargo:rustc-check-cfg=cfg(integer8, mpich, openmpi, standard)");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{name}");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--no-as-needed");
    println!("cargo:rustc-cdylib-link-arg={}", stand_in.display());
    println!("cargo:rerun-if-changed=../oxmpi-fortran/build.rs");
}
