//! The files in which `oxmpi tune` stores the limits of a machine: one for each kind of machine, in a folder of the user and
//! one of the installation. Only `mpirun` and `oxmpi` read them; ranks get the limits from `mpirun`.

use crate::compat::own_libraries;
use oxmpi_base::trust;
use std::path::{Path, PathBuf};

/// The name of this kind of machine: the model and number of its CPUs.
pub fn machine() -> String {
    name_of(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
}

fn name_of(cpuinfo: &str) -> String {
    let fields =
        || cpuinfo.lines().filter_map(|line| line.split_once(':')).map(|(name, value)| (name.trim(), value.trim()));
    let model = fields().find(|(name, _)| *name == "model name").map_or("unknown", |(_, model)| model);
    let cpus = fields().filter(|(name, _)| *name == "processor").count();
    let words = model.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let model = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    format!("{model}-{cpus}-cpus")
}

/// The file of the user; `None` without a home.
pub fn of_user() -> Option<PathBuf> {
    let variable = |name| trust::variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")))?;
    Some(in_folder(&folder))
}

/// The file of the installation, for all users.
pub fn of_site() -> PathBuf {
    let libraries = own_libraries();
    in_folder(&libraries.parent().unwrap_or(&libraries).join("etc"))
}

fn in_folder(folder: &Path) -> PathBuf {
    folder.join("oxmpi").join("tuning").join(format!("{}.txt", machine()))
}

/// The file that counts: the user's before the installation's.
pub fn find() -> Option<PathBuf> {
    of_user().into_iter().chain([of_site()]).find(|file| file.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_named_by_model_and_number_of_cpus() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz\n\nprocessor\t: 1\nmodel name\t: x\n";
        assert_eq!(name_of(cpuinfo), "intel-r-xeon-r-platinum-8481c-cpu-2-70ghz-2-cpus");
        assert_eq!(name_of("processor: 0\nmodel name: ../../etc\n"), "etc-1-cpus", "no path");
        assert_eq!(name_of(""), "unknown-0-cpus");
    }

    #[test]
    fn the_file_of_the_installation_is_beside_its_libraries() {
        let file = of_site();
        assert!(file.starts_with(own_libraries().parent().unwrap().join("etc/oxmpi/tuning")));
        assert!(file.file_name().unwrap().to_str().unwrap().ends_with("-cpus.txt"));
    }
}
