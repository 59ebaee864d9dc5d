//! The installed library, loaded as a program would: for the jobs that `oxmpi` starts itself.

use crate::info;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr::NonNull;

/// `libmpi_abi.so.1` of this installation. It is never unloaded.
pub struct Library(NonNull<c_void>);

/// A handle of the standard's ABI as C passes it.
pub fn handle(value: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(value)
}

impl Library {
    pub fn load() -> Result<Library, String> {
        let path = info::prefix().ok_or("the folder of the installation is unknown")?.join("lib/libmpi_abi.so.1");
        let path = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
        // SAFETY: a NUL-terminated path; the library is OxMPI's own, and its initialisers may run at
        // any time.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        NonNull::new(library).map(Library).ok_or_else(|| format!("the library cannot be loaded: {}", linker_error()))
    }

    /// A function of the library.
    ///
    /// # Safety
    /// `F` is a function pointer with the signature that the standard's ABI gives the function.
    pub unsafe fn function<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>(), "a function pointer") };
        // SAFETY: the library is loaded and never unloaded; the name is NUL-terminated.
        let found = unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) };
        if found.is_null() {
            return Err(format!("the library has no {}", name.to_string_lossy()));
        }
        // SAFETY: the address of a function, which has the signature `F` by the promise of the caller.
        Ok(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&found) })
    }

    /// `MPI_Init`, which must be called once, by the only thread.
    pub fn init(&self) -> Result<(), String> {
        type Init = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char) -> c_int;
        // SAFETY: the signature of MPI_Init, which takes null pointers.
        match unsafe { self.function::<Init>(c"MPI_Init")?(std::ptr::null_mut(), std::ptr::null_mut()) } {
            0 => Ok(()),
            code => Err(format!("MPI_Init returned {code}")),
        }
    }

    /// `MPI_Finalize`, after `init`.
    pub fn finalize(&self) -> Result<(), String> {
        type Finalize = unsafe extern "C" fn() -> c_int;
        // SAFETY: the signature of MPI_Finalize.
        match unsafe { self.function::<Finalize>(c"MPI_Finalize")?() } {
            0 => Ok(()),
            code => Err(format!("MPI_Finalize returned {code}")),
        }
    }
}

fn linker_error() -> String {
    // SAFETY: the text is valid until the next call of the dynamic linker by this thread.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() { "no reason is given".into() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}
