//! The limits of the machine that `oxmpi tune` has measured. `mpirun` reads them once, where it was started, and gives the
//! same to all ranks on all hosts: ranks that chose by different limits would wait for each other for ever.

use crate::options::Settings;
use oxmpi_boot::tuning_file;
use oxmpi_coll::tuning::{Tuning, VARIABLE};
use std::path::Path;

/// Puts the limits into the environment of all ranks. An error if the user has given some that cannot be; a file that cannot
/// be used is only complained of.
pub fn prepare(settings: &mut Settings) -> Result<(), String> {
    let given = settings.env.set.iter().rev().find(|(name, _)| name == VARIABLE).map(|(_, value)| value.clone());
    if let Some(given) = given.or_else(|| std::env::var_os(VARIABLE)) {
        let read = Tuning::from_text(&given.to_string_lossy()).map_err(|error| format!("{VARIABLE}: {error}"))?;
        settings.env.set.push((VARIABLE.into(), read.to_text().into()));
        return Ok(());
    }
    let Some(file) = tuning_file::find() else { return Ok(()) };
    match read(&file) {
        Ok(tuning) => {
            if settings.verbose {
                eprintln!("mpirun: lengths of messages are limited as {} says: {}", file.display(), tuning.to_text());
            }
            settings.env.set.push((VARIABLE.into(), tuning.to_text().into()));
        }
        Err(error) => {
            let file = file.display();
            eprintln!(
                "mpirun: {file}: {error}; the job runs with the default limits (`oxmpi tune` writes the file again)"
            );
        }
    }
    Ok(())
}

fn read(file: &Path) -> Result<Tuning, String> {
    Tuning::from_text(&std::fs::read_to_string(file).map_err(|error| error.to_string())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(value: &str) -> Settings {
        let mut settings = Settings::default();
        settings.env.set.push((VARIABLE.into(), value.into()));
        settings
    }

    #[test]
    fn limits_that_cannot_be_are_refused() {
        let error = prepare(&mut settings("eager=3")).unwrap_err();
        assert_eq!(error, "OXMPI_TUNING: line 1: `eager=3`: the bytes must be a power of two from 1024 to 32768");
    }

    #[test]
    fn limits_of_the_command_line_come_first() {
        let mut settings = settings("gather2=4096 eager=8192");
        prepare(&mut settings).unwrap();
        let last = settings.env.set.last().map(|(name, value)| (name.to_str(), value.to_str()));
        assert_eq!(last, Some((Some("OXMPI_TUNING"), Some("eager=8192,gather2=4096"))));
    }
}
