//! The words of `--check` and of `OXMPI_CHECK`.

/// The environment variable by which `mpirun` tells the ranks, and which works without it too.
pub const VARIABLE: &str = "OXMPI_CHECK";

/// The exit status of `mpirun --check=error` when there are findings and the job ended well.
pub const STATUS: i32 = 122;

/// What is checked, and what findings do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    pub on: bool,
    /// Also tell what works here and elsewhere, but breaks the text of the standard.
    pub strict: bool,
    /// Findings give an exit status.
    pub error: bool,
}

impl Mode {
    /// Reads the words; an error names the one that means nothing.
    pub fn parse(words: &str) -> Result<Mode, String> {
        let mut mode = Mode { on: true, ..Mode::default() };
        for word in words.split(',') {
            match word {
                "" if words.is_empty() => {}
                "1" | "on" | "default" => mode.strict = false,
                "strict" => mode.strict = true,
                "warn" => mode.error = false,
                "error" => mode.error = true,
                "0" | "off" if words == word => mode.on = false,
                other => return Err(format!("`{other}` is none of default, strict, warn and error")),
            }
        }
        Ok(mode)
    }

    /// Reads the value of the environment variable: nothing is off.
    pub fn from_variable(value: &str) -> Result<Mode, String> {
        if value.is_empty() { Ok(Mode::default()) } else { Mode::parse(value) }
    }

    /// The words again, for the environment of the ranks.
    pub fn words(self) -> &'static str {
        match (self.on, self.strict, self.error) {
            (false, ..) => "0",
            (true, false, false) => "default",
            (true, false, true) => "default,error",
            (true, true, false) => "strict",
            (true, true, true) => "strict,error",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        let on = |strict, error| Ok(Mode { on: true, strict, error });
        assert_eq!(Mode::parse(""), on(false, false));
        assert_eq!(Mode::parse("1"), on(false, false));
        assert_eq!(Mode::parse("strict"), on(true, false));
        assert_eq!(Mode::parse("error"), on(false, true));
        assert_eq!(Mode::parse("strict,error"), on(true, true));
        assert_eq!(Mode::parse("default,warn"), on(false, false));
        assert_eq!(Mode::parse("0"), Ok(Mode::default()));
        assert!(Mode::parse("strict,0").unwrap_err().contains("`0`"));
        assert!(Mode::parse("loud").unwrap_err().contains("`loud`"));
        assert_eq!(Mode::from_variable(""), Ok(Mode::default()));
    }

    #[test]
    fn words_are_read_back() {
        for words in ["0", "default", "default,error", "strict", "strict,error"] {
            assert_eq!(Mode::parse(words).unwrap().words(), words);
        }
    }
}
