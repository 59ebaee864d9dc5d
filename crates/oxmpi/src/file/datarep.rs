//! User-defined data representations: functions of the program convert between memory and file, and
//! return the length of elements in the file. They are called with no lock held.

use oxmpi_abi::constants::*;
use oxmpi_abi::handle;
use oxmpi_abi::{Result, bail};
use oxmpi_core::call::Call;
use oxmpi_core::library::Library;
use oxmpi_datatype::Datatype;
use oxmpi_io::{Conversion, Functions, Representation, UserDatarep};
use std::sync::Arc;

/// Registers a representation.
pub fn register(library: &Library, name: Vec<u8>, functions: Box<dyn Functions>) -> Result<()> {
    let shown = String::from_utf8_lossy(&name);
    if name.is_empty() || name.len() >= MPI_MAX_DATAREP_STRING as usize {
        bail!(MPI_ERR_ARG, "the name \"{shown}\" must have 1 to {} characters", MPI_MAX_DATAREP_STRING - 1);
    }
    let mut registered = library.datareps();
    if Representation::predefined(&name).is_some() || registered.iter().any(|users| users.name == name) {
        bail!(MPI_ERR_DUP_DATAREP, "there is a data representation \"{shown}\" already");
    }
    registered.push(Arc::new(UserDatarep::new(name, functions)));
    Ok(())
}

/// The representation of that name.
pub fn find(library: &Library, name: &[u8]) -> Result<Representation> {
    if let Some(predefined) = Representation::predefined(name) {
        return Ok(predefined);
    }
    match library.datareps().iter().find(|users| users.name == name) {
        Some(users) => Ok(Representation::Users(Arc::clone(users))),
        None => bail!(
            MPI_ERR_UNSUPPORTED_DATAREP,
            "the data representation \"{}\" is not known; there are \"native\", \"internal\", \"external32\" and those that \
             the program registers",
            String::from_utf8_lossy(name)
        ),
    }
}

/// Elements in memory that user functions convert.
pub(super) struct Elements {
    pub users: Arc<UserDatarep>,
    pub base: *mut u8,
    pub count: u64,
    pub handle: handle::Datatype,
    pub datatype: Arc<Datatype>,
    /// Bytes per element in the file.
    pub bytes: usize,
}

impl Elements {
    /// Converts the entries of the elements' type maps from or to `stage`.
    ///
    /// # Safety
    /// Memory and stage are as large as the elements need, and nothing else uses them during the
    /// call.
    pub unsafe fn convert(&self, call: &Call, writes: bool, stage: *mut u8, items: u64) -> Result<()> {
        let functions = &*self.users.functions;
        let each = entries_of(&self.datatype).max(1);
        // Whole elements at a time, as many as the function can count.
        let part = functions.most_entries() / each * each;
        if part == 0 {
            bail!(
                MPI_ERR_COUNT,
                "an element of {each} entries is too long for a conversion function without large counts"
            );
        }
        let mut done = 0;
        while done < items {
            let entries = (items - done).min(part);
            let file = stage.wrapping_add((done / each) as usize * self.bytes);
            let data = Conversion { memory: self.base, datatype: self.handle, entries, file, position: done };
            // SAFETY: memory and stage hold all of the elements, and these entries are some of
            // them; nothing else uses them.
            if let Err(code) = call.library().call_user(|| unsafe { functions.convert(writes, &data) }) {
                let (name, way) = (String::from_utf8_lossy(&self.users.name), if writes { "write" } else { "read" });
                bail!(MPI_ERR_CONVERSION, "the {way} conversion function of \"{name}\" returned {code}");
            }
            done += entries;
        }
        Ok(())
    }

    /// All entries, and the bytes that they have in memory.
    pub fn whole(&self) -> (u64, usize) {
        (entries_of(&self.datatype) * self.count, (self.datatype.size() * i128::from(self.count)) as usize)
    }

    /// The entries in so many bytes of the file, and their bytes in memory.
    pub fn part(&self, call: &Call, mut in_file: usize) -> Result<(u64, usize)> {
        let (mut items, mut in_memory) = (0, 0);
        for _ in 0..self.count {
            for run in self.datatype.runs() {
                let length = call.library().call_user(|| self.users.length(run.named))? as usize;
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
fn entries_of(datatype: &Datatype) -> u64 {
    datatype.runs().map(|run| run.count as u64).sum()
}
