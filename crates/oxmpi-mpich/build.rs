//! The library has the name of MPICH's and needs `libmpi_abi.so.1`, which lies in the folder above
//! its own once installed, or in its own (in a wheel). At this point only its name is known, so an empty library of that name
//! stands in for it.
//!
//! The package `oxmpi-openmpi` has this build script too: it compiles the same files for Open MPI's ABI.

use std::path::Path;
use std::process::Command;

fn main() {
    let folder = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let stand_in = Path::new(&folder).join("libmpi_abi.so");
    let status = Command::new("cc")
        .args(["-shared", "-nostdlib", "-x", "c", "/dev/null", "-Wl,-soname,libmpi_abi.so.1", "-o"])
        .arg(&stand_in)
        .status()
        .expect("cc, which also links Rust programs, can be started");
    assert!(status.success(), "cc cannot make {}", stand_in.display());
    let is_openmpi = std::env::var("CARGO_PKG_NAME").is_ok_and(|package| package == "oxmpi-openmpi");
    if is_openmpi {
        println!("cargo:rustc-cfg=openmpi");
    }
    println!("cargo:rustc-check-cfg=cfg(openmpi)");
    let name = if is_openmpi { "libmpi.so.40" } else { "libmpi.so.12" };
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{name}");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN:$ORIGIN/..");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--no-as-needed");
    println!("cargo:rustc-cdylib-link-arg={}", stand_in.display());
    println!("cargo:rerun-if-changed=../oxmpi-mpich/build.rs");
}
