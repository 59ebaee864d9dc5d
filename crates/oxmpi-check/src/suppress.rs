//! `--check-suppress FILE`: findings that the user does not want to hear of.
//!
//! ```text
//! # a comment
//! OX-OBJ-TYPE
//! OX-OBJ-COMM libsolver.so
//! OX-TYPE-*   main.c
//! ```
//!
//! The second word, if there is one, must be in the text or the place of the finding.

/// The lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suppressions(Vec<(String, Option<String>)>);

impl Suppressions {
    /// Reads the text of a file; an error names the line.
    pub fn read(text: &str) -> Result<Suppressions, String> {
        let mut all = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace();
            let Some(name) = words.next() else { continue };
            if !name.starts_with("OX-") {
                return Err(format!("line {}: `{name}` is no name of a finding; they begin with OX-", number + 1));
            }
            let part = words.next().map(String::from);
            if let Some(more) = words.next() {
                return Err(format!("line {}: `{more}` is too much: a name, and a module or a file", number + 1));
            }
            all.push((name.into(), part));
        }
        Ok(Suppressions(all))
    }

    /// Whether a finding with this name and text is not to be told.
    pub fn covers(&self, name: &str, text: &str) -> bool {
        let names = |pattern: &str| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == pattern,
        };
        self.0.iter().any(|(pattern, part)| names(pattern) && part.as_deref().is_none_or(|part| text.contains(part)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_cover_names_and_places() {
        let list = Suppressions::read("# nothing\n\nOX-OBJ-TYPE # all\nOX-COLL-* solver.c\n").unwrap();
        assert!(list.covers("OX-OBJ-TYPE", "anything"));
        assert!(list.covers("OX-COLL-ROOT", "in solver.c:7") && !list.covers("OX-COLL-ROOT", "in main.c:7"));
        assert!(!list.covers("OX-OBJ-COMM", "anything"));
        assert!(Suppressions::read("main.c").unwrap_err().contains("line 1: `main.c`"));
        assert!(Suppressions::read("OX-A b c").unwrap_err().contains("`c`"));
    }
}
