//! `--check`, `--check-report` and `--check-suppress`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use oxmpi_check::Mode;
use oxmpi_check::mode::VARIABLE;
use oxmpi_check::suppress::Suppressions;

/// What the user wants of the checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Check {
    pub mode: Mode,
    is_set: bool,
    /// A file for the findings; what it is follows from its name.
    pub report: Option<PathBuf>,
    pub suppressions: Suppressions,
}

impl Check {
    pub fn set_words(&mut self, words: &str) -> Result<(), String> {
        self.mode = Mode::parse(words).map_err(|text| format!("--check: {text}"))?;
        self.is_set = true;
        Ok(())
    }

    pub fn set_report(&mut self, file: PathBuf) -> Result<(), String> {
        match file.extension().and_then(|name| name.to_str()) {
            Some("json" | "html") => self.report = Some(file),
            _ => return Err(format!("--check-report: {} must end in .json or .html", file.display())),
        }
        Ok(())
    }

    pub fn read_suppressions(&mut self, file: &Path) -> Result<(), String> {
        let name = file.display();
        let text =
            fs::read_to_string(file).map_err(|error| format!("--check-suppress: cannot read {name}: {error}"))?;
        self.suppressions = Suppressions::read(&text).map_err(|text| format!("--check-suppress: {name}, {text}"))?;
        Ok(())
    }

    /// All options were read: without `--check` the environment decides.
    pub fn complete(&mut self, variable: &str) -> Result<(), String> {
        if !self.is_set {
            self.mode = Mode::from_variable(variable).map_err(|text| format!("{VARIABLE}: {text}"))?;
        }
        let wants = self.report.is_some() || self.suppressions != Suppressions::default();
        if wants && !self.mode.on {
            return Err("--check-report and --check-suppress need --check".into());
        }
        Ok(())
    }

    /// What the ranks get in their environment.
    pub fn variable(&self) -> Option<(OsString, OsString)> {
        self.is_set.then(|| (VARIABLE.into(), self.mode.words().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_comes_before_the_environment() {
        let mut check = Check::default();
        check.complete("strict").unwrap();
        assert!(check.mode.strict && check.variable().is_none());
        check.set_words("error").unwrap();
        check.complete("strict").unwrap();
        assert!(!check.mode.strict && check.mode.error);
        assert_eq!(check.variable(), Some((VARIABLE.into(), "default,error".into())));
        assert!(Check::default().complete("loud").unwrap_err().contains("OXMPI_CHECK"));
    }

    #[test]
    fn reports_have_a_known_form_and_need_checks() {
        let mut check = Check::default();
        assert!(check.set_report("a.txt".into()).unwrap_err().contains("a.txt"));
        check.set_report("a.html".into()).unwrap();
        assert!(check.complete("").unwrap_err().contains("need --check"));
        assert!(check.complete("1").is_ok());
        assert!(check.read_suppressions(Path::new("/no/such/file")).unwrap_err().contains("/no/such/file"));
    }
}
