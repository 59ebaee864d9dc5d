//! What old C++ programs (`MPI::COMM_WORLD.Send(…)`) import from MPICH's `libmpicxx.so.12`: constants, some functions, and the virtual
//! tables of the constants. The other functions are inline code in the program, which calls those of C.
//!
//! ```text
//! tables.rs      each function and virtual table, as data
//! call.rs        what a line of them means
//! functions.rs   functions of the program that MPI calls
//! exceptions.rs  MPI::ERRORS_THROW_EXCEPTIONS
//! objects.rs     the classes, and constants that are objects
//! constants.rs   constants that are numbers
//! ```

mod call;
mod constants;
pub mod exceptions;
mod functions;
mod objects;
mod tables;
