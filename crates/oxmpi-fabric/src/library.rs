//! `libfabric.so.1`, loaded when it is asked for.

use crate::abi::{Fabric, Info};
use libloading::os::unix::Library;
use oxmpi_base::trust;
use std::ffi::{CStr, c_char, c_int, c_void};

/// The name under which the loader finds the library.
pub const NAME: &str = "libfabric.so.1";
/// The environment variable with the path of the library, where the loader does not find it or finds another one.
pub const PATH: &str = "OXMPI_LIBFABRIC";

type GetInfo = unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const Info, *mut *mut Info) -> c_int;

/// The exported functions that are used; all others are in tables of objects. The library is never unloaded: its providers
/// may have threads.
#[derive(Clone, Copy)]
pub struct Functions {
    pub getinfo: GetInfo,
    pub dupinfo: unsafe extern "C" fn(*const Info) -> *mut Info,
    pub freeinfo: unsafe extern "C" fn(*mut Info),
    pub fabric: unsafe extern "C" fn(*mut c_void, *mut *mut Fabric, *mut c_void) -> c_int,
    strerror: unsafe extern "C" fn(c_int) -> *const c_char,
    version: unsafe extern "C" fn() -> u32,
}

unsafe extern "C" {
    /// Of the C library: a symbol in a certain version.
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

impl Functions {
    pub fn load() -> Result<Functions, String> {
        let path = trust::variable(PATH).unwrap_or_else(|| NAME.into());
        // SAFETY: code of the library runs when it is loaded, as it does in every program that is linked with it.
        let library = unsafe { Library::new(&path) };
        let library = library.map_err(|error| format!("{} cannot be loaded: {error}", path.display()))?;
        let handle = library.into_raw();
        let find = |name: &CStr, version: &CStr| {
            // SAFETY: the handle is that of a loaded library, and the texts end.
            let found = unsafe { dlvsym(handle, name.as_ptr(), version.as_ptr()) };
            let missing =
                || format!("{NAME} has no {} of version {}", name.to_string_lossy(), version.to_string_lossy());
            if found.is_null() { Err(missing()) } else { Ok(found) }
        };
        // SAFETY: in these versions the functions have these signatures; the library stays loaded.
        unsafe {
            Ok(Functions {
                getinfo: std::mem::transmute::<*mut c_void, GetInfo>(find(c"fi_getinfo", c"FABRIC_1.3")?),
                dupinfo: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const Info) -> *mut Info>(find(
                    c"fi_dupinfo",
                    c"FABRIC_1.3",
                )?),
                freeinfo: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut Info)>(find(
                    c"fi_freeinfo",
                    c"FABRIC_1.3",
                )?),
                fabric: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*mut c_void, *mut *mut Fabric, *mut c_void) -> c_int,
                >(find(c"fi_fabric", c"FABRIC_1.1")?),
                strerror: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> *const c_char>(find(
                    c"fi_strerror",
                    c"FABRIC_1.0",
                )?),
                version: std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> u32>(find(
                    c"fi_version",
                    c"FABRIC_1.0",
                )?),
            })
        }
    }

    /// `1.17`.
    pub fn version(&self) -> String {
        // SAFETY: the function has no arguments.
        let version = unsafe { (self.version)() };
        format!("{}.{}", version >> 16, version & 0xffff)
    }

    /// An error number of a function, in words.
    pub fn error(&self, call: &str, rc: isize) -> String {
        let number = c_int::try_from(-rc).unwrap_or(0);
        // SAFETY: returns a text that lives as long as the library, for any number.
        let text = unsafe { CStr::from_ptr((self.strerror)(number)) };
        format!("{call} fails: {} ({rc})", text.to_string_lossy())
    }
}
