//! `--profile` and `--trace`.

use std::path::PathBuf;

/// What the user wants to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Lines on the terminal, and perhaps a file.
    pub profile: bool,
    pub file: Option<PathBuf>,
    pub trace: Option<PathBuf>,
}

impl Wanted {
    pub fn set_profile(&mut self, file: Option<String>) -> Result<(), String> {
        self.profile = true;
        let Some(file) = file.map(PathBuf::from) else { return Ok(()) };
        match file.extension().and_then(|name| name.to_str()) {
            Some("json" | "html") => self.file = Some(file),
            _ => return Err(format!("--profile: {} must end in .html or .json", file.display())),
        }
        Ok(())
    }

    pub fn set_trace(&mut self, file: PathBuf) -> Result<(), String> {
        match file.extension().and_then(|name| name.to_str()) {
            Some("json") => self.trace = Some(file),
            _ => return Err(format!("--trace: {} must end in .json", file.display())),
        }
        Ok(())
    }

    pub fn is_any(&self) -> bool {
        self.profile || self.trace.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_a_known_form() {
        let mut wanted = Wanted::default();
        assert!(!wanted.is_any());
        wanted.set_profile(None).unwrap();
        assert!(wanted.is_any() && wanted.file.is_none());
        wanted.set_profile(Some("a.html".into())).unwrap();
        wanted.set_profile(Some("a.json".into())).unwrap();
        assert!(wanted.set_profile(Some("a.txt".into())).unwrap_err().contains("a.txt must end in .html or .json"));
        assert!(wanted.set_profile(Some("".into())).is_err());
        assert!(wanted.set_trace("t.html".into()).unwrap_err().contains("t.html must end in .json"));
        wanted.set_trace("t.json".into()).unwrap();
    }
}
