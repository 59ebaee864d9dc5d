//! Queries about the environment: time, names, versions, the ABI. All may be called at any time.

use crate::args::null_pointer;
use crate::call::Call;
use crate::library::LIBRARY;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Info as InfoHandle;
use oxmpi_abi::types::{Aint, Count, Offset};
use oxmpi_abi::{Result, bail};
use oxmpi_core::info::Info;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

// ---- time ----

/// Seconds since the machine started, without a system call; the same for all processes of a node.
pub fn wtime() -> f64 {
    let now = clock(libc::clock_gettime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

pub fn wtick() -> f64 {
    let step = clock(libc::clock_getres);
    step.tv_sec as f64 + step.tv_nsec as f64 * 1e-9
}

fn clock(ask: unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int) -> libc::timespec {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` may be written. The call cannot fail for this clock.
    unsafe { ask(libc::CLOCK_MONOTONIC, &mut time) };
    time
}

// ---- names and versions ----

pub fn get_processor_name(cx: &Call) -> Result<Vec<u8>> {
    let guard = cx.enter()?;
    let mut buffer = [0 as c_char; MPI_MAX_PROCESSOR_NAME as usize];
    // SAFETY: the kernel writes at most the given number of bytes; the last one stays zero, so the string ends.
    let host = unsafe {
        if libc::gethostname(buffer.as_mut_ptr(), buffer.len() - 1) != 0 {
            bail!(MPI_ERR_OTHER, "the host has no name: {}", std::io::Error::last_os_error());
        }
        CStr::from_ptr(buffer.as_ptr())
    };
    Ok(guard.name_of_host(host.to_bytes()))
}

pub fn get_version() -> Result<(c_int, c_int)> {
    Ok((MPI_VERSION, MPI_SUBVERSION))
}

pub fn get_library_version() -> Result<String> {
    Ok(format!(
        "OxMPI {} (MPI {MPI_VERSION}.{MPI_SUBVERSION}, ABI {MPI_ABI_VERSION}.{MPI_ABI_SUBVERSION}, {} {}{})",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH,
        std::env::consts::OS,
        if cfg!(debug_assertions) { ", with debug assertions" } else { "" },
    ))
}

pub fn pcontrol(_level: c_int) -> Result<()> {
    // A profiling library may define it; this one does nothing.
    Ok(())
}

// ---- the ABI ----

pub fn abi_get_version() -> Result<(c_int, c_int)> {
    Ok((MPI_ABI_VERSION, MPI_ABI_SUBVERSION))
}

pub fn abi_get_info() -> Result<InfoHandle> {
    let mut facts = Info::new();
    let sizes = [
        ("mpi_aint_size", size_of::<Aint>()),
        ("mpi_count_size", size_of::<Count>()),
        ("mpi_offset_size", size_of::<Offset>()),
    ];
    for (key, size) in sizes {
        facts.set(key.as_bytes(), size.to_string().as_bytes())?;
    }
    LIBRARY.add_info(facts)
}

/// What the program, or its Fortran library, said about the Fortran compiler: set once.
static FORTRAN: Mutex<Fortran> = Mutex::new(Fortran { info: None, booleans: None });

struct Fortran {
    info: Option<Info>,
    booleans: Option<Booleans>,
}

#[derive(Clone, Copy)]
struct Booleans {
    size: usize,
    yes: [u8; LARGEST_LOGICAL],
    no: [u8; LARGEST_LOGICAL],
}

const LARGEST_LOGICAL: usize = 16;

fn fortran() -> std::sync::MutexGuard<'static, Fortran> {
    FORTRAN.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn abi_get_fortran_info() -> Result<InfoHandle> {
    let known = fortran().info.clone();
    known.map_or(Ok(MPI_INFO_NULL), |info| LIBRARY.add_info(info))
}

pub fn abi_set_fortran_info(info: InfoHandle) -> Result<()> {
    if info == MPI_INFO_NULL {
        bail!(MPI_ERR_INFO, "the info object is MPI_INFO_NULL");
    }
    let given = LIBRARY.info(info)?;
    check_fortran(&given)?;
    let mut fortran = fortran();
    if fortran.info.is_some() {
        bail!(MPI_ERR_ABI, "the properties of the Fortran compiler have been set already");
    }
    fortran.info = Some(given);
    Ok(())
}

/// The predefined datatypes have fixed sizes; a compiler that disagrees gets an error.
fn check_fortran(info: &Info) -> Result<()> {
    let sizes = [
        ("mpi_logical_size", MPI_LOGICAL),
        ("mpi_integer_size", MPI_INTEGER),
        ("mpi_real_size", MPI_REAL),
        ("mpi_double_precision_size", MPI_DOUBLE_PRECISION),
    ];
    for (key, datatype) in sizes {
        let Some(text) = info.text(key) else { continue };
        let ours = oxmpi_datatype::dense_size(datatype.0).unwrap_or(0);
        if text.parse() != Ok(ours) {
            bail!(MPI_ERR_ABI, "{key} is \"{text}\", but this library was built for a compiler where it is {ours}");
        }
    }
    for (key, value) in info.iter() {
        if key.ends_with(b"_supported") && !matches!(value.trim_ascii(), b"true" | b"false") {
            let (key, value) = (String::from_utf8_lossy(key), String::from_utf8_lossy(value));
            bail!(MPI_ERR_INFO_VALUE, "{key} is \"{value}\"; it must be \"true\" or \"false\"");
        }
    }
    Ok(())
}

pub unsafe fn abi_get_fortran_booleans(
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
    is_set: *mut c_int,
) -> Result<()> {
    let size = logical_bytes(logical_size)?;
    check(logical_true, "logical_true")?;
    check(logical_false, "logical_false")?;
    check(is_set, "is_set")?;
    let known = fortran().booleans;
    if let Some(known) = &known {
        if known.size != size {
            bail!(MPI_ERR_ARG, "logical_size is {logical_size}, but a LOGICAL of {} bytes was set", known.size);
        }
        // SAFETY: neither is null, so each is a LOGICAL of `logical_size` bytes; the arrays have
        // that.
        unsafe {
            logical_true.cast::<u8>().copy_from_nonoverlapping(known.yes.as_ptr(), size);
            logical_false.cast::<u8>().copy_from_nonoverlapping(known.no.as_ptr(), size);
        }
    }
    // SAFETY: not null, so an integer can be written there.
    unsafe { is_set.write(known.is_some().into()) };
    Ok(())
}

fn check<T>(place: *mut T, name: &str) -> Result<()> {
    if place.is_null() { Err(null_pointer(name)) } else { Ok(()) }
}

pub unsafe fn abi_set_fortran_booleans(
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
) -> Result<()> {
    let size = logical_bytes(logical_size)?;
    check(logical_true, "logical_true")?;
    check(logical_false, "logical_false")?;
    let mut given = Booleans { size, yes: [0; LARGEST_LOGICAL], no: [0; LARGEST_LOGICAL] };
    // SAFETY: both are not null, so each is a LOGICAL of `logical_size` bytes, which is at most that of the arrays.
    unsafe {
        given.yes.as_mut_ptr().copy_from_nonoverlapping(logical_true.cast(), size);
        given.no.as_mut_ptr().copy_from_nonoverlapping(logical_false.cast(), size);
    }
    if given.yes == given.no {
        bail!(MPI_ERR_ARG, "logical_true and logical_false are the same");
    }
    let mut fortran = fortran();
    if fortran.booleans.is_some() {
        bail!(MPI_ERR_ABI, "the values of Fortran's .TRUE. and .FALSE. have been set already");
    }
    oxmpi_ops::set_fortran_false(&given.no[..size]);
    fortran.booleans = Some(given);
    Ok(())
}

fn logical_bytes(size: c_int) -> Result<usize> {
    match size {
        1 | 2 | 4 | 8 | 16 => Ok(size as usize),
        _ => bail!(MPI_ERR_ARG, "logical_size is {size}; a LOGICAL has 1, 2, 4, 8 or 16 bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_forward_in_ticks() {
        let (first, second, tick) = (wtime(), wtime(), wtick());
        assert!(first > 0.0 && second >= first);
        assert!(tick > 0.0 && tick < 1e-3);
    }

    #[test]
    fn a_fortran_compiler_must_agree_with_the_datatypes() {
        let with = |key: &str, value: &str| {
            let mut info = Info::new();
            info.set(key.as_bytes(), value.as_bytes()).unwrap();
            check_fortran(&info).map_err(|error| error.class())
        };
        assert_eq!(with("mpi_integer_size", "4"), Ok(()));
        assert_eq!(with("mpi_double_precision_size", "8"), Ok(()));
        assert_eq!(with("mpi_integer_size", "8"), Err(MPI_ERR_ABI));
        assert_eq!(with("mpi_real16_supported", "true"), Ok(()));
        assert_eq!(with("mpi_real16_supported", "yes"), Err(MPI_ERR_INFO_VALUE));
    }
}
