//! The library has the name of MPICH's and needs `libmpi_abi.so.1`, which lies in the folder above
//! its own once installed. At this point only its name is known, so an empty library of that name
//! stands in for it.

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
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi.so.12");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN/..");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--no-as-needed");
    println!("cargo:rustc-cdylib-link-arg={}", stand_in.display());
    println!("cargo:rerun-if-changed=build.rs");
}
