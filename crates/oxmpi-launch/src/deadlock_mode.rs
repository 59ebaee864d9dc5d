//! What happens in a deadlock, as the user wants it.

/// What `OXMPI_DEADLOCK` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Report a deadlock, and end the job when nobody else can do anything.
    #[default]
    End,
    /// Report it.
    Report,
    Off,
}

impl Mode {
    /// From the value of the variable; an error for a word that means nothing.
    pub fn parse(value: &str) -> Result<Mode, String> {
        match value {
            "" | "1" | "end" => Ok(Mode::End),
            "report" => Ok(Mode::Report),
            "0" | "off" => Ok(Mode::Off),
            other => Err(format!("OXMPI_DEADLOCK is `{other}`; it must be end, report or off")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_variable() {
        assert_eq!(Mode::parse(""), Ok(Mode::End));
        assert_eq!(Mode::parse("report"), Ok(Mode::Report));
        assert_eq!(Mode::parse("off"), Ok(Mode::Off));
        assert!(Mode::parse("yes").unwrap_err().contains("`yes`"));
    }
}
