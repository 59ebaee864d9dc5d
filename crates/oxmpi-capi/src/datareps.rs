//! Representations of data in files that the program defines: functions of its own convert between them and memory, and say how
//! long elements are there. They are called with no lock held.

use crate::generated::callbacks::{DatarepConversionFn, DatarepConversionFnC, DatarepExtentFn};
use crate::library::LIBRARY;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle;
use oxmpi_abi::{Result, bail};
use oxmpi_datatype::{Datatype, Named};
use oxmpi_io::{Representation, Users};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the program has registered; none is ever forgotten. A representation's number is its place.
static REGISTERED: Mutex<Vec<(Arc<Users>, Arc<Functions>)>> = Mutex::new(Vec::new());

fn registered() -> MutexGuard<'static, Vec<(Arc<Users>, Arc<Functions>)>> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How the program's functions count elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// In an `int`.
    Int,
    /// In an `MPI_Count`.
    Count,
}

/// The program's functions by their addresses, zero for none.
pub struct Functions {
    pub name: Vec<u8>,
    /// Which type of counts the conversions have.
    pub form: Form,
    pub read: usize,
    pub write: usize,
    pub extent: usize,
    pub extra_state: usize,
    /// Lengths that were asked for.
    pub lengths: Mutex<BTreeMap<usize, i64>>,
}

/// Takes a representation in.
pub fn register(functions: Functions) -> Result<()> {
    let name = &functions.name;
    let shown = String::from_utf8_lossy(name).into_owned();
    if name.is_empty() || name.len() >= MPI_MAX_DATAREP_STRING as usize {
        bail!(MPI_ERR_ARG, "the name \"{shown}\" must have 1 to {} characters", MPI_MAX_DATAREP_STRING - 1);
    }
    let mut registered = registered();
    if Representation::predefined(name).is_some() || registered.iter().any(|(users, _)| users.name == *name) {
        bail!(MPI_ERR_DUP_DATAREP, "there is a data representation \"{shown}\" already");
    }
    let (name, functions) = (name.clone(), Arc::new(functions));
    let asked = Arc::clone(&functions);
    let users = Users { name, number: registered.len(), length: Box::new(move |named| asked.length(named)) };
    registered.push((Arc::new(users), functions));
    Ok(())
}

/// The representation of that name.
pub fn find(name: &[u8]) -> Result<Representation> {
    if let Some(predefined) = Representation::predefined(name) {
        return Ok(predefined);
    }
    match registered().iter().find(|(users, _)| users.name == name) {
        Some((users, _)) => Ok(Representation::Users(Arc::clone(users))),
        None => bail!(
            MPI_ERR_UNSUPPORTED_DATAREP,
            "the data representation \"{}\" is not known; there are \"native\", \"internal\", \"external32\" and those that \
             the program registers",
            String::from_utf8_lossy(name)
        ),
    }
}

/// The functions of a representation.
pub fn functions(users: &Users) -> Arc<Functions> {
    Arc::clone(&registered()[users.number].1)
}

impl Functions {
    /// How many bytes a predefined type has in the file.
    fn length(&self, named: &'static Named) -> Result<i64> {
        let handle = usize::from(named.handle);
        let lengths = || self.lengths.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&length) = lengths().get(&handle) {
            return Ok(length);
        }
        let mut length = 0;
        // SAFETY: the program registered a function of this type, and what it is to be given.
        let code = LIBRARY.call_user(|| unsafe {
            let function = transmute::<usize, DatarepExtentFn>(self.extent);
            function.map_or(MPI_SUCCESS, |call| {
                call(handle::Datatype(handle), &mut length, self.extra_state as *mut c_void)
            })
        });
        let (name, of) = (String::from_utf8_lossy(&self.name), named.name);
        if code != MPI_SUCCESS {
            bail!(MPI_ERR_CONVERSION, "the extent function of \"{name}\" returned {code} for {of}");
        }
        if length == i64::from(MPI_UNDEFINED) {
            bail!(MPI_ERR_VALUE_TOO_LARGE, "the extent function of \"{name}\" does not know the length of {of}");
        }
        if length < 0 {
            bail!(MPI_ERR_CONVERSION, "the extent function of \"{name}\" says that {of} has {length} bytes");
        }
        lengths().insert(handle, length);
        Ok(length)
    }
}

/// Elements in memory that are converted.
pub struct Conversion {
    pub functions: Arc<Functions>,
    pub base: *mut u8,
    pub count: u64,
    pub handle: handle::Datatype,
    pub datatype: Arc<Datatype>,
    /// That one element of the type has in the file.
    pub bytes: usize,
}

impl Conversion {
    /// Converts as many entries of the elements' type maps, from or to `stage`.
    ///
    /// # Safety
    /// Memory and stage are as large as the elements need.
    pub unsafe fn convert(&self, writes: bool, stage: *mut u8, items: u64) -> Result<()> {
        let functions = &*self.functions;
        let address = if writes { functions.write } else { functions.read };
        let each = items_of(&self.datatype).max(1);
        // Whole elements at a time, as many as the function can count.
        let most = if functions.form == Form::Int { c_int::MAX as u64 } else { i64::MAX as u64 };
        let part = most / each * each;
        if part == 0 {
            bail!(
                MPI_ERR_COUNT,
                "an element of {each} entries is too long for a conversion function without large counts"
            );
        }
        let (base, extra_state) = (self.base.cast::<c_void>(), functions.extra_state as *mut c_void);
        let mut done = 0;
        while done < items {
            let (now, position) = ((items - done).min(part), done as i64);
            let at = stage.wrapping_add((done / each) as usize * self.bytes).cast();
            // SAFETY: the program registered a function of this type; the rest is as the caller says.
            let code = LIBRARY.call_user(|| unsafe {
                match functions.form {
                    Form::Int => transmute::<usize, DatarepConversionFn>(address)
                        .map_or(MPI_SUCCESS, |call| call(base, self.handle, now as c_int, at, position, extra_state)),
                    Form::Count => transmute::<usize, DatarepConversionFnC>(address)
                        .map_or(MPI_SUCCESS, |call| call(base, self.handle, now as i64, at, position, extra_state)),
                }
            });
            if code != MPI_SUCCESS {
                let (name, way) = (String::from_utf8_lossy(&functions.name), if writes { "write" } else { "read" });
                bail!(MPI_ERR_CONVERSION, "the {way} conversion function of \"{name}\" returned {code}");
            }
            done += now;
        }
        Ok(())
    }

    /// All entries, and the bytes that they have in memory.
    pub fn whole(&self) -> (u64, usize) {
        (items_of(&self.datatype) * self.count, (self.datatype.size() * i128::from(self.count)) as usize)
    }

    /// The entries that so many bytes of the file hold, and the bytes that they have in memory.
    pub fn part(&self, mut in_file: usize) -> Result<(u64, usize)> {
        let (mut items, mut in_memory) = (0, 0);
        for _ in 0..self.count {
            for run in self.datatype.runs() {
                let length = self.functions.length(run.named)? as usize;
                let count = run.count as usize;
                let whole = in_file.checked_div(length).map_or(count, |fit| fit.min(count));
                in_file -= whole * length;
                items += whole as u64;
                in_memory += whole * run.named.size();
                if whole < count {
                    return Ok((items, in_memory));
                }
            }
        }
        Ok((items, in_memory))
    }
}

/// The entries of a type map.
fn items_of(datatype: &Datatype) -> u64 {
    datatype.runs().map(|run| run.count as u64).sum()
}
