//! The functions that a library with the same names stands in front of. Only a library that the loader has put in front of all
//! others can ask.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;

/// A symbol of our libraries: the next one after this library, or in a library that a program such as an interpreter has
/// loaded for itself.
pub fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a string and a handle that always exists.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if !next.is_null() {
        return Some(next);
    }
    let mut search = Search { name, found: null_mut() };
    // SAFETY: `look` gets `search`, which lives until the call returns.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    (!search.found.is_null()).then_some(search.found)
}

struct Search<'a> {
    name: &'a CStr,
    found: *mut c_void,
}

/// # Safety
/// `info` is valid, and `search` points to a [`Search`].
unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: the loader's description of a module, and the value of `find`, which waits for the loader.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    if info.dlpi_name.is_null() {
        return 0;
    }
    // SAFETY: a string that the loader keeps.
    let path = unsafe { CStr::from_ptr(info.dlpi_name) };
    let text = path.to_string_lossy();
    if !text.rsplit('/').next().unwrap_or_default().starts_with("libmpi") {
        return 0;
    }
    // SAFETY: a string; with this flag nothing is loaded. The handle only keeps what is loaded anyway.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
    if !library.is_null() {
        // SAFETY: an open library and a string.
        search.found = unsafe { libc::dlsym(library, search.name.as_ptr()) };
    }
    (!search.found.is_null()).into()
}
