//! Starting processes, and the parents of this one. Only the root reads arguments for the root.

use crate::args::{Array, Strings, null_pointer, text};
use crate::call::Call;
use crate::library::LIBRARY;
use oxmpi::comm;
use oxmpi::dynamic::spawn::{self, Program, Refusal, Spawned};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Info};
use oxmpi_abi::{Result, bail};
use std::ffi::{c_char, c_int};

pub unsafe fn comm_spawn(
    cx: &Call,
    command: *const c_char,
    argv: *mut *mut c_char,
    maxprocs: c_int,
    info: Info,
    root: c_int,
    comm: Comm,
    intercomm: *mut Comm,
    array_of_errcodes: *mut c_int,
) -> Result<()> {
    // SAFETY: called at the root, where `command` is null or a string and `argv` null or strings up to a null pointer.
    let wanted = || unsafe { program(command, argv, maxprocs, info) }.map(|program| vec![program]);
    // SAFETY: `array_of_errcodes` is ignored or has room for a code of each of the `maxprocs` processes.
    unsafe { perform(cx, root, comm, wanted, intercomm, array_of_errcodes) }
}

pub unsafe fn comm_spawn_multiple(
    cx: &Call,
    count: c_int,
    array_of_commands: *mut *mut c_char,
    array_of_argv: *mut *mut *mut c_char,
    array_of_maxprocs: *const c_int,
    array_of_info: *const Info,
    root: c_int,
    comm: Comm,
    intercomm: *mut Comm,
    array_of_errcodes: *mut c_int,
) -> Result<()> {
    let wanted = || {
        if count < 1 {
            bail!(MPI_ERR_COUNT, "count is {count}; at least one command is needed");
        }
        // SAFETY: called at the root, where the arrays are significant and have `count` elements each.
        let (infos, commands, most) = unsafe {
            let count = count.into();
            (
                Array::new(array_of_info, count),
                Array::new(array_of_commands.cast_const(), count),
                Array::new(array_of_maxprocs, count),
            )
        };
        let infos = infos.elements("array_of_info", "count", MPI_ERR_COUNT)?;
        // Handles are checked first, as everywhere.
        infos.iter().try_for_each(|&info| LIBRARY.info(info).map(drop))?;
        let commands = commands.elements("array_of_commands", "count", MPI_ERR_COUNT)?;
        let most = most.elements("array_of_maxprocs", "count", MPI_ERR_COUNT)?;
        let each = |i: usize| {
            // SAFETY: at the root; `array_of_argv` is null, which stands for no arguments at all, or has `count` elements.
            unsafe {
                let argv = if array_of_argv.is_null() { std::ptr::null_mut() } else { *array_of_argv.add(i) };
                program(commands[i], argv, most[i], infos[i]).map_err(|error| error.within(format!("command {i}")))
            }
        };
        (0..count as usize).map(each).collect()
    };
    // SAFETY: `array_of_errcodes` is ignored or has room for a code of each of the processes of all commands.
    unsafe { perform(cx, root, comm, wanted, intercomm, array_of_errcodes) }
}

/// # Safety
/// `command` is null or a string, `argv` null or an array of strings that ends with a null pointer.
unsafe fn program(command: *const c_char, argv: *mut *mut c_char, maxprocs: c_int, info: Info) -> Result<Program> {
    // SAFETY: null or a string.
    let command = unsafe { text(command, "command")? }.to_vec();
    if maxprocs < 0 {
        bail!(MPI_ERR_ARG, "maxprocs is {maxprocs}; it must not be negative");
    }
    // SAFETY: null or strings up to a null pointer.
    let arguments = unsafe { Strings::new(argv) }.all().into_iter().map(<[u8]>::to_vec).collect();
    Ok(Program { command, arguments, most: maxprocs as usize, info: LIBRARY.info(info)? })
}

/// # Safety
/// `intercomm` is null or may be written, `codes` is null or has room for a code of every process that is wanted.
unsafe fn perform(
    cx: &Call,
    root: c_int,
    comm: Comm,
    wanted: impl FnOnce() -> Result<Vec<Program>>,
    intercomm: *mut Comm,
    codes: *mut c_int,
) -> Result<()> {
    let mut guard = cx.enter_world()?;
    let found = guard.comm(comm)?;
    let root = comm::root_of(found, root)?;
    if intercomm.is_null() {
        return Err(null_pointer("intercomm"));
    }
    let wanted = (found.rank as usize == root).then(wanted);
    match spawn::spawn(cx, &mut guard, comm, root, wanted) {
        Ok(Spawned { intercomm: made, counts }) => {
            let missing =
                spawn::shortage(&counts).map_or(MPI_SUCCESS, |error| LIBRARY.errors().code_for(&error, cx.fun.name()));
            // SAFETY: `codes` is ignored or has room for a code of every process that was wanted; `intercomm` is not null.
            unsafe {
                store_codes(codes, spawn::codes(&counts, missing));
                intercomm.write(made);
            }
            Ok(())
        }
        Err(Refusal { error, most }) => {
            let code = LIBRARY.errors().code_for(&error, cx.fun.name());
            // SAFETY: `codes` is ignored or has room for a code of every process that was wanted.
            unsafe { store_codes(codes, std::iter::repeat_n(code, most)) };
            Err(error)
        }
    }
}

/// # Safety
/// `to` is null or has room for the codes.
unsafe fn store_codes(to: *mut c_int, codes: impl Iterator<Item = c_int>) {
    if to as usize != MPI_ERRCODES_IGNORE {
        // SAFETY: not ignored, so there is room for each code.
        codes.enumerate().for_each(|(i, code)| unsafe { to.add(i).write(code) });
    }
}

/// The intercommunicator with the parents, as long as it exists.
pub fn comm_get_parent(cx: &Call) -> Result<Comm> {
    let guard = cx.enter()?;
    let known = Some(guard.parent).filter(|parent| guard.comm(*parent).is_ok());
    Ok(known.unwrap_or(MPI_COMM_NULL))
}
