//! The client library of PMIx, `libpmix.so.2`, which is loaded when a process needs it: nothing of OxMPI is linked with it.
//! The few functions that a rank uses, as safe ones; no policy here.
//!
//! The layouts and numbers are those of the PMIx standard, versions 2 to 5. Whatever the library returns is checked: a
//! text must end, a number must have the type of a number.

mod abi;

use std::ffi::{CStr, CString, OsStr, OsString, c_char};
use std::path::Path;

use abi::{COLLECT, Info, Proc, SCOPE_GLOBAL, SUCCESS, Value, WILDCARD};
use libloading::Library;

/// The name under which the loader finds the library.
pub const NAME: &str = "libpmix.so.2";

/// The library, and this process as a client of a PMIx server.
pub struct Client {
    functions: Functions,
    /// This process.
    own: Proc,
    /// For people.
    version: String,
}

/// The functions of the library, which is never unloaded: it has threads.
pub struct Functions {
    finalize: unsafe extern "C" fn(*const Info, usize) -> i32,
    abort: unsafe extern "C" fn(i32, *const c_char, *mut Proc, usize) -> i32,
    put: unsafe extern "C" fn(u8, *const c_char, *mut Value) -> i32,
    commit: unsafe extern "C" fn() -> i32,
    fence: unsafe extern "C" fn(*const Proc, usize, *const Info, usize) -> i32,
    get: unsafe extern "C" fn(*const Proc, *const c_char, *const Info, usize, *mut *mut Value) -> i32,
    error_string: unsafe extern "C" fn(i32) -> *const c_char,
    init: unsafe extern "C" fn(*mut Proc, *mut Info, usize) -> i32,
    get_version: unsafe extern "C" fn() -> *const c_char,
}

unsafe extern "C" {
    /// Of the C library, which the PMIx library allocates with.
    fn free(memory: *mut std::ffi::c_void);
}

/// Why the library, or a function of it, cannot be used; for people.
pub type Result<T> = std::result::Result<T, String>;

impl Client {
    /// Connects to the server that the environment names.
    pub fn connect(functions: Functions) -> Result<Client> {
        let mut own = Proc::new();
        // SAFETY: the function has this signature in all versions; it fills `own` and reads no infos.
        let rc = unsafe { (functions.init)(&raw mut own, std::ptr::null_mut(), 0) };
        functions.check("PMIx_Init", rc)?;
        if own.namespace().is_none() {
            return Err("PMIx_Init gives the job no name".into());
        }
        // SAFETY: returns a text that lives as long as the library.
        let text = unsafe { text((functions.get_version)()) };
        let version = text.and_then(short_version).unwrap_or_else(|| "of an unknown version".into());
        Ok(Client { functions, own, version })
    }

    /// The version of the library: `4.2.2`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The name of the job.
    pub fn namespace(&self) -> &str {
        self.own.namespace().unwrap_or_default()
    }

    pub fn rank(&self) -> u32 {
        self.own.rank
    }

    /// Gives a text to all ranks, after a [fence](Client::fence).
    pub fn put(&mut self, key: &str, value: &str) -> Result<()> {
        let (key, text) = (word(key)?, word(value)?);
        let mut value = Value::of_text(&text);
        // SAFETY: key and text live during the call, and the library copies both.
        let rc = unsafe { (self.functions.put)(SCOPE_GLOBAL, key.as_ptr(), &raw mut value) };
        self.functions.check("PMIx_Put", rc)?;
        // SAFETY: the function has no arguments.
        let rc = unsafe { (self.functions.commit)() };
        self.functions.check("PMIx_Commit", rc)
    }

    /// Waits until all ranks of the job are here, and collects what they have put.
    pub fn fence(&mut self) -> Result<()> {
        let collect = Info::flag(COLLECT);
        // SAFETY: no list of processes means all of the job; the info lives during the call.
        let rc = unsafe { (self.functions.fence)(std::ptr::null(), 0, &raw const collect, 1) };
        self.functions.check("PMIx_Fence", rc)
    }

    /// A text that a rank has put.
    pub fn get(&self, rank: u32, key: &str) -> Result<String> {
        self.read(rank, key, |value| {
            // SAFETY: a value of the library, whose text ends, if it is a text.
            value.text().and_then(|at| unsafe { text(at) }).map(String::from)
        })
    }

    /// A number that the server says about the job.
    pub fn number_of_job(&self, key: &str) -> Result<u64> {
        self.read(WILDCARD, key, Value::number)
    }

    /// A number that the server says about this process.
    pub fn own_number(&self, key: &str) -> Result<u64> {
        self.read(self.own.rank, key, Value::number)
    }

    fn read<T>(&self, rank: u32, key: &str, take: impl FnOnce(&Value) -> Option<T>) -> Result<T> {
        let (of, name) = (self.own.with_rank(rank), word(key)?);
        let mut found: *mut Value = std::ptr::null_mut();
        // SAFETY: process and key live during the call; the library stores the address of a value that it has allocated.
        let rc = unsafe { (self.functions.get)(&raw const of, name.as_ptr(), std::ptr::null(), 0, &raw mut found) };
        self.functions.check(&format!("PMIx_Get of {key}"), rc)?;
        // SAFETY: the address is null or that of a value that is ours from now on.
        let Some(value) = (unsafe { found.as_ref() }) else { return Err(format!("PMIx_Get gives nothing for {key}")) };
        let taken = take(value).ok_or_else(|| format!("PMIx_Get of {key} gives a value of type {}", value.kind()));
        // SAFETY: the library allocates values and their texts with `malloc`, and gives both away; nothing refers to
        // them any more, since `taken` owns what it has.
        unsafe {
            if let Some(text) = value.text() {
                free(text.cast());
            }
            free(found.cast());
        }
        taken
    }

    /// Asks the server to end the job. It may end this process before this returns.
    pub fn abort(&mut self, code: i32, text: &str) {
        let text = word(&text.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the text lives during the call; no list of processes means all of the job.
        unsafe { (self.functions.abort)(code, text.as_ptr(), std::ptr::null_mut(), 0) };
    }

    /// Leaves the server.
    pub fn finish(&mut self) -> Result<()> {
        // SAFETY: reads no infos.
        let rc = unsafe { (self.functions.finalize)(std::ptr::null(), 0) };
        self.functions.check("PMIx_Finalize", rc)
    }
}

impl Functions {
    /// Loads the library. `folders`: where to look for it before the loader looks itself.
    pub fn load(folders: &[OsString]) -> Result<Functions> {
        let library = open(folders)?;
        let missing = |error: libloading::Error| format!("{NAME} is no PMIx library that OxMPI knows: {error}");
        // SAFETY: each function has this signature in the PMIx standard since version 2, and the library stays loaded.
        unsafe {
            Ok(Functions {
                finalize: *library.get(b"PMIx_Finalize\0").map_err(missing)?,
                abort: *library.get(b"PMIx_Abort\0").map_err(missing)?,
                put: *library.get(b"PMIx_Put\0").map_err(missing)?,
                commit: *library.get(b"PMIx_Commit\0").map_err(missing)?,
                fence: *library.get(b"PMIx_Fence\0").map_err(missing)?,
                get: *library.get(b"PMIx_Get\0").map_err(missing)?,
                error_string: *library.get(b"PMIx_Error_string\0").map_err(missing)?,
                init: *library.get(b"PMIx_Init\0").map_err(missing)?,
                get_version: *library.get(b"PMIx_Get_version\0").map_err(missing)?,
            })
        }
    }

    fn check(&self, call: &str, rc: i32) -> Result<()> {
        if rc == SUCCESS {
            return Ok(());
        }
        // SAFETY: returns a text that lives as long as the library, for any number.
        let name = unsafe { text((self.error_string)(rc)) }.unwrap_or("an error without a name");
        Err(format!("{call} fails: {name} ({rc})"))
    }
}

/// The first library that can be loaded. It stays loaded.
fn open(folders: &[OsString]) -> Result<&'static Library> {
    let there = folders.iter().map(|folder| Path::new(folder).join(NAME)).filter(|file| file.exists());
    let mut files: Vec<OsString> = there.map(OsString::from).collect();
    files.push(NAME.into());
    let mut first = None;
    for file in &files {
        // SAFETY: code of the library runs when it is loaded, as it does in every client of PMIx.
        match unsafe { Library::new::<&OsStr>(file) } {
            Ok(library) => return Ok(Box::leak(Box::new(library))),
            Err(error) => first = first.or(Some(error)),
        }
    }
    let why = first.map_or(String::new(), |error| format!(": {error}"));
    Err(format!("{NAME} cannot be loaded{why}"))
}

/// `4.2.2` of `OpenPMIx 4.2.2rc2 (PMIx Standard: 4.2, …)`.
fn short_version(text: &str) -> Option<String> {
    let begin = text.find(|letter: char| letter.is_ascii_digit())?;
    let number: String = text[begin..].chars().take_while(|letter| letter.is_ascii_digit() || *letter == '.').collect();
    Some(number)
}

fn word(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| format!("a value with a zero byte cannot be given to {NAME}"))
}

/// A text of the library.
///
/// # Safety
/// The address is null, or that of bytes that end with a zero and stay unchanged for `'a`.
unsafe fn text<'a>(at: *const c_char) -> Option<&'a str> {
    if at.is_null() {
        return None;
    }
    // SAFETY: by the contract of this function.
    unsafe { CStr::from_ptr(at) }.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_short() {
        assert_eq!(short_version("OpenPMIx 4.2.2rc2 (PMIx Standard: 4.2)").as_deref(), Some("4.2.2"));
        assert_eq!(short_version("none"), None);
    }
}
