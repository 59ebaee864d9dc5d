//! PMIx: `srun --mpi=pmix`, PRRTE's `prterun` and Open MPI's `mpirun` speak it, through the library `libpmix.so.2`, which is
//! loaded from the launcher's installation or from where the loader finds it.
//!
//! Values are collected by fences of the whole job, so that no rank asks another one's server for them later.

use std::ffi::OsString;
use std::path::Path;

use oxmpi_pmix::{Client, Functions, Result};

use super::{Manager, Told};

/// The server takes longer values; pieces of records are shorter.
const MOST_BYTES: usize = 1 << 14;

/// Keys of the PMIx standard.
const JOB_SIZE: &str = "pmix.job.size";
const UNIVERSE_SIZE: &str = "pmix.univ.size";
const APPNUM: &str = "pmix.appnum";

/// Variables in which a launcher says where it is installed, and the folders there that may have the library.
const PREFIXES: [&str; 2] = ["PMIX_PREFIX", "OPAL_PREFIX"];
const FOLDERS: [&str; 3] = ["lib", "lib64", "lib/openmpi"];

pub struct Pmix {
    client: Client,
    told: Told,
}

/// Whether the environment names a PMIx server.
pub fn is_there(var: &impl Fn(&str) -> Option<String>) -> bool {
    var("PMIX_NAMESPACE").is_some() && var("PMIX_RANK").is_some()
}

/// Loads the library that a rank uses.
pub fn library(var: &impl Fn(&str) -> Option<String>) -> Result<Functions> {
    let with_cure = |error: String| {
        format!(
            "{error}; install it (Debian and Ubuntu: libpmix2) or name its folder in LD_LIBRARY_PATH, or use another \
             process manager (srun --mpi=pmi2)"
        )
    };
    Functions::load(&folders(var)).map_err(with_cure)
}

/// Reaches the server that the environment names. `launcher`: its name.
pub fn connect(var: &impl Fn(&str) -> Option<String>, launcher: &str) -> Result<Pmix> {
    let client = Client::connect(library(var)?).map_err(|error| {
        format!(
            "{error}; the PMIx server of the launcher has ended or cannot be reached, or another program than the \
             launcher has started this one (unset PMIX_NAMESPACE to run it alone)"
        )
    })?;
    Pmix::over(client, launcher)
}

fn folders(var: &impl Fn(&str) -> Option<String>) -> Vec<OsString> {
    let prefixes = PREFIXES.iter().filter_map(|name| var(name)).filter(|prefix| Path::new(prefix).is_absolute());
    prefixes.flat_map(|prefix| FOLDERS.map(|folder| Path::new(&prefix).join(folder).into())).collect()
}

impl Pmix {
    fn over(client: Client, launcher: &str) -> Result<Pmix> {
        let size = client.number_of_job(JOB_SIZE)?;
        let rank = client.rank() as usize;
        let size = usize::try_from(size).ok().filter(|&size| size < i32::MAX as usize);
        let size = size.ok_or("it says that the job has no sensible number of processes")?;
        if rank >= size {
            return Err(format!("it says that this process is rank {rank} of {size}"));
        }
        // Not every server says these.
        let appnum = client.own_number(APPNUM).ok().and_then(|number| i32::try_from(number).ok());
        let universe = client.number_of_job(UNIVERSE_SIZE).ok().and_then(|size| usize::try_from(size).ok());
        let told = Told {
            launcher: format!("{launcher} (PMIx {})", client.version()),
            rank,
            size,
            appnum: appnum.unwrap_or(0),
            universe_size: universe.filter(|&universe| (size..i32::MAX as usize).contains(&universe)),
            job: client.namespace().into(),
        };
        Ok(Pmix { client, told })
    }
}

impl Manager for Pmix {
    fn told(&self) -> &Told {
        &self.told
    }

    fn most_bytes(&self) -> usize {
        MOST_BYTES
    }

    fn put(&mut self, key: &str, value: &str) -> Result<()> {
        self.client.put(key, value)
    }

    fn fence(&mut self) -> Result<()> {
        self.client.fence()
    }

    fn get(&mut self, owner: usize, key: &str) -> Result<String> {
        let owner = u32::try_from(owner).map_err(|_| format!("there is no rank {owner}"))?;
        self.client.get(owner, key)
    }

    fn abort(&mut self, code: i32, text: &str) {
        self.client.abort(code, text);
    }

    fn finish(&mut self) {
        // One that has gone meanwhile needs to hear nothing.
        let _ = self.client.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launchers_own_library_comes_first() {
        let var = |name: &str| match name {
            "PMIX_PREFIX" => Some("/opt/pmix".to_string()),
            "OPAL_PREFIX" => Some("relative".to_string()),
            _ => None,
        };
        assert_eq!(folders(&var), ["/opt/pmix/lib", "/opt/pmix/lib64", "/opt/pmix/lib/openmpi"]);
        assert!(folders(&|_: &str| None).is_empty());
    }

    #[test]
    fn a_server_needs_two_variables() {
        let of = |vars: &'static [&str]| is_there(&|name: &str| vars.contains(&name).then(|| "0".into()));
        assert!(of(&["PMIX_NAMESPACE", "PMIX_RANK"]) && !of(&["PMIX_RANK"]) && !of(&["PMIX_NAMESPACE"]));
    }
}
