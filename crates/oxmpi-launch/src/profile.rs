//! `--profile` and `--trace`: the ranks load the recorder, which leaves what it has seen in a folder of the job; after the job
//! it is put together here.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oxmpi_boot::compat;
use oxmpi_lines::{Origin, Position};
use oxmpi_profile::profile::Place;
use oxmpi_profile::record::{EVENTS, FOLDER, MOST_EVENTS, Rank, Site};
use oxmpi_profile::{Profile, trace};

use crate::options::Settings;
use crate::profile_options::Wanted;
use crate::sys;

/// The variable with the libraries that the loader puts in front of all others.
const PRELOAD: &str = "LD_PRELOAD";
/// The recorder, in the folder of our libraries.
const RECORDER: &str = "oxmpi/liboxmpi_recorder.so";

/// A job that is recorded.
pub struct Recording {
    wanted: Wanted,
    folder: Folder,
    began: SystemTime,
}

/// A folder that is removed with all that is in it. As long as its `mpirun` lives, a file in it is locked.
struct Folder {
    path: PathBuf,
    _lock: File,
}

const PREFIX: &str = "oxmpi-profile-";
const LOCK: &str = "lock";

impl Folder {
    /// Makes the folder of this process, and removes those of processes that were killed.
    fn make(parent: &Path) -> io::Result<Folder> {
        Folder::remove_abandoned(parent);
        let path = parent.join(format!("{PREFIX}{}", std::process::id()));
        // It gets its name when it is locked, so that nobody takes it for abandoned.
        let new = path.with_extension("new");
        fs::create_dir(&new)?;
        let lock = || {
            let file = File::create_new(new.join(LOCK))?;
            file.try_lock()?;
            fs::rename(&new, &path)?;
            Ok(file)
        };
        let locked: io::Result<File> = lock();
        match locked {
            Ok(lock) => Ok(Folder { path, _lock: lock }),
            Err(error) => {
                let _ = fs::remove_dir_all(&new);
                Err(error)
            }
        }
    }

    /// Removes the folders of this user that no process has locked. What cannot be removed stays.
    fn remove_abandoned(parent: &Path) {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let number =
                name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|pid| pid.parse::<u32>().ok());
            let is_ours = |found: &fs::Metadata| found.is_dir() && found.uid() == sys::own_user();
            if number.is_none() || !entry.metadata().is_ok_and(|found| is_ours(&found)) {
                continue;
            }
            let path = entry.path();
            if File::open(path.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok()) {
                let _ = fs::remove_dir_all(path);
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed stays.
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl Recording {
    /// Prepares a job for it; `None` if the user does not want it. An error is told before anything has started.
    pub fn begin(settings: &mut Settings) -> Result<Option<Recording>, String> {
        let wanted = settings.recorded.clone();
        if !wanted.is_any() {
            return Ok(None);
        }
        let name = if wanted.profile { "--profile" } else { "--trace" };
        if !cfg!(target_arch = "x86_64") {
            return Err(format!("{name} needs a processor of the kind x86-64"));
        }
        let recorder = compat::own_libraries().join(RECORDER);
        if !recorder.is_file() {
            return Err(format!("{name}: this installation has no {}", recorder.display()));
        }
        if wanted.file.is_some() && wanted.file == wanted.trace {
            return Err("--profile and --trace cannot write the same file".into());
        }
        for (option, file) in [("--profile", &wanted.file), ("--trace", &wanted.trace)] {
            if let Some(file) = file {
                try_to_write(file).map_err(|error| format!("{option}: cannot write {}: {error}", file.display()))?;
            }
        }
        let folder = folder_of(settings, &wanted).map_err(|error| format!("{name}: cannot make a folder: {error}"))?;
        let set = &mut settings.env.set;
        let given = set.iter().find(|(name, _)| name == PRELOAD).map(|(_, value)| value.clone());
        let mut libraries = given.or_else(|| std::env::var_os(PRELOAD)).unwrap_or_default();
        if !libraries.is_empty() {
            libraries.push(":");
        }
        libraries.push(recorder);
        let events = match &wanted.trace {
            None => "0".into(),
            Some(_) => std::env::var_os(EVENTS).unwrap_or_else(|| MOST_EVENTS.to_string().into()),
        };
        let ours: [(OsString, OsString); 3] =
            [(PRELOAD.into(), libraries), (FOLDER.into(), folder.path.clone().into()), (EVENTS.into(), events)];
        set.retain(|(name, _)| ours.iter().all(|(own, _)| own != name));
        set.extend(ours);
        Ok(Some(Recording { wanted, folder, began: SystemTime::now() }))
    }

    /// Puts together what the ranks have left, and writes and prints it; whether that worked.
    pub fn conclude(self) -> bool {
        let ranks = self.records();
        let say = |line: &str| eprintln!("mpirun: {line}");
        if ranks.is_empty() {
            say("no rank has left data for --profile or --trace: none has called MPI, or all ended too early");
            return false;
        }
        let origins = self.origins(&ranks);
        let place_of = |site: &Site| {
            let found = origins.get(&(site.module.clone(), site.position)).cloned().unwrap_or_default();
            let Origin { function, line } = found;
            Place { line, caller: function, module: site.module.clone(), position: site.position }
        };
        let profile = Profile::new(ranks, place_of);
        let mut is_good = true;
        if self.wanted.profile {
            profile.text().iter().for_each(|line| say(line));
        } else {
            profile.gaps().iter().for_each(|line| say(line));
        }
        if let Some(file) = &self.wanted.file {
            let is_json = file.extension().is_some_and(|name| name == "json");
            let text = if is_json { profile.json() } else { profile.html() };
            if let Err(error) = fs::write(file, text) {
                say(&format!("cannot write the profile {}: {error}", file.display()));
                is_good = false;
            }
        }
        if let Some(file) = &self.wanted.trace {
            match self.write_trace(file, &profile, &place_of) {
                Ok(told) => {
                    say(&format!(
                        "the timeline {} has {} calls and {} messages",
                        file.display(),
                        told.calls,
                        told.arrows
                    ));
                    told.gaps().iter().for_each(|line| say(line));
                }
                Err(error) => {
                    say(&format!("cannot write the timeline {}: {error}", file.display()));
                    is_good = false;
                }
            }
        }
        is_good
    }

    /// What the ranks have written; damaged files are left out, so that their ranks are missing.
    fn records(&self) -> Vec<Rank> {
        let files = fs::read_dir(&self.folder.path).into_iter().flatten().filter_map(|file| Some(file.ok()?.path()));
        let records = files.filter(|path| path.extension().is_some_and(|name| name == "record"));
        records.filter_map(|path| Rank::from_text(&String::from_utf8_lossy(&fs::read(path).ok()?))).collect()
    }

    /// Where the sites of all ranks are in the source. Ranks of several hosts have the same files under the same paths.
    fn origins(&self, ranks: &[Rank]) -> HashMap<(String, u64), Origin> {
        let mut inodes = HashMap::new();
        let mut positions: Vec<Position> = Vec::new();
        for site in ranks.iter().flat_map(|rank| &rank.sites).filter(|site| site.count > 0 && !site.module.is_empty()) {
            inodes.entry((site.module.clone(), site.position)).or_insert_with(|| {
                let (path, position) = (site.module.clone(), site.position);
                positions.push(Position { path, inode: site.inode, position });
            });
        }
        // The programs have started later than this.
        let started = ranks.iter().map(|rank| UNIX_EPOCH + Duration::from_nanos(rank.begin)).min();
        let found = oxmpi_lines::origins(&positions, started.unwrap_or(self.began).max(self.began));
        let keys = positions.into_iter().map(|position| (position.path, position.position));
        keys.zip(found).collect()
    }

    fn write_trace(
        &self,
        file: &Path,
        profile: &Profile,
        place_of: &dyn Fn(&Site) -> Place,
    ) -> io::Result<trace::Told> {
        let events = |index: usize| {
            let rank = &profile.ranks[index];
            fs::read(self.folder.path.join(Rank::events_name(rank.job, rank.rank))).unwrap_or_default()
        };
        trace::write(&mut BufWriter::new(File::create(file)?), profile, &events, place_of)
    }
}

/// Whether a file can be written, without changing one that is there.
fn try_to_write(file: &Path) -> io::Result<()> {
    let was_there = file.exists();
    OpenOptions::new().append(true).create(true).open(file)?;
    if !was_there {
        fs::remove_file(file)?;
    }
    Ok(())
}

/// The folder for the files of the ranks: on this machine that of temporary files; for jobs on other machines beside the
/// file that the user has named, or else the current one, which all hosts of a cluster usually share.
fn folder_of(settings: &Settings, wanted: &Wanted) -> io::Result<Folder> {
    let is_here = settings.cluster.as_ref().is_none_or(|cluster| cluster.pretended);
    let beside = wanted.file.as_ref().or(wanted.trace.as_ref()).and_then(|file| file.parent());
    let parent = match (is_here, beside.filter(|parent| !parent.as_os_str().is_empty())) {
        (true, _) => std::env::temp_dir(),
        (false, Some(parent)) => std::path::absolute(parent)?,
        (false, None) => std::env::current_dir()?,
    };
    Folder::make(&parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_tried_and_not_changed() {
        let parent = Parent::make("try");
        let file = parent.0.join("a.json");
        try_to_write(&file).unwrap();
        assert!(!file.exists());
        fs::write(&file, "x").unwrap();
        try_to_write(&file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "x");
        assert!(try_to_write(&parent.0.join("no/a.json")).is_err());
    }

    struct Parent(PathBuf);

    impl Parent {
        fn make(name: &str) -> Parent {
            let path = std::env::temp_dir().join(format!("oxmpi-{name}-{}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Parent(path)
        }
    }

    impl Drop for Parent {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn folders_of_killed_processes_are_removed() {
        let parent = Parent::make("abandoned");
        let folders = ["oxmpi-profile-1", "oxmpi-profile-2", "oxmpi-profile-3", "oxmpi-profile-x"];
        let [killed, alive, strange, other] = folders.map(|name| parent.0.join(name));
        for folder in [&killed, &alive, &strange, &other] {
            fs::create_dir(folder).unwrap();
        }
        let lock = [&killed, &alive, &other].map(|folder| File::create(folder.join(LOCK)).unwrap());
        lock[1].lock().unwrap();
        fs::write(killed.join("0.record"), "x").unwrap();
        let own = Folder::make(&parent.0).unwrap();
        assert!(!killed.exists() && alive.exists() && strange.exists() && other.exists());
        assert!(File::open(own.path.join(LOCK)).unwrap().try_lock().is_err());
        let path = own.path.clone();
        drop(own);
        assert!(!path.exists());
    }
}
