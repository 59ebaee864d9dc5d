//! Exports the symbols of the MPIR interface (`src/mpir.rs`) from `mpirun`: a debugger finds them by name, also in an
//! executable without other symbols.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol=MPIR_*");
}
