//! The library carries the name and version of the standard ABI and needs `libmpi_abi.so.1`, which
//! lies beside it once installed. At this point only its name is known, so an empty library of that
//! name stands in for it.
//!
//! The package `oxmpi-fortran-i8` has this build script too: it compiles the same files for INTEGERs
//! of eight bytes.

use std::path::Path;
use std::process::Command;

fn main() {
    let folder = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let package = std::env::var("CARGO_PKG_NAME").expect("cargo sets CARGO_PKG_NAME");
    let stand_in = Path::new(&folder).join("libmpi_abi.so");
    let status = Command::new("cc")
        .args(["-shared", "-nostdlib", "-x", "c", "/dev/null", "-Wl,-soname,libmpi_abi.so.1", "-o"])
        .arg(&stand_in)
        .status()
        .expect("cc, which also links Rust programs, can be started");
    assert!(status.success(), "cc cannot make {}", stand_in.display());
    let name = if package.ends_with("-i8") { "libmpifort_abi_i8.so.1" } else { "libmpifort_abi.so.1" };
    if package.ends_with("-i8") {
        println!("cargo:rustc-cfg=integer8");
    }
    println!("cargo:rustc-check-cfg=cfg(integer8)");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{name}");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--no-as-needed");
    println!("cargo:rustc-cdylib-link-arg={}", stand_in.display());
    println!("cargo:rerun-if-changed=../oxmpi-fortran/build.rs");
}
