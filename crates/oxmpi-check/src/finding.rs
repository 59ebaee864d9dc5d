//! A finding as a rank writes it: one line of text, which `mpirun` reads from the rank's memory and does not trust.
//!
//! ```text
//! NAME|rank, if it is not the one that tells|text
//! ```

use crate::catalogue::{self, Entry};

/// Something wrong that a rank has found.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Finding {
    /// A name of the [catalogue].
    pub name: &'static str,
    /// What is wrong, without the rank that found it: several ranks may find the same.
    pub text: String,
    /// The rank that it is about, if that is not the one that tells it.
    pub rank: Option<usize>,
}

impl Finding {
    pub fn new(entry: &'static Entry, text: String) -> Finding {
        Finding { name: entry.name, text, rank: None }
    }

    /// The line in the rank's memory.
    pub fn line(&self) -> String {
        let rank = self.rank.map_or_else(String::new, |rank| rank.to_string());
        format!("{}|{rank}|{}", self.name, self.text)
    }

    /// Reads a line; `None` for anything else.
    pub fn read(line: &str) -> Option<Finding> {
        let (name, rest) = line.split_once('|')?;
        let (rank, text) = rest.split_once('|')?;
        let entry = catalogue::find(name)?;
        let rank = if rank.is_empty() { None } else { Some(rank.parse().ok()?) };
        Some(Finding { name: entry.name, text: text.into(), rank })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::TYPE_MESSAGE;

    #[test]
    fn a_line_is_read_back() {
        let finding = Finding::new(&TYPE_MESSAGE, "MPI_INT | MPI_FLOAT".into());
        let about = Finding { rank: Some(7), ..finding.clone() };
        for finding in [finding, about] {
            assert_eq!(Finding::read(&finding.line()), Some(finding));
        }
    }

    #[test]
    fn other_lines_are_no_findings() {
        for line in ["", "|", "OX-TYPE-MESSAGE", "OX-TYPE-MESSAGE|", "OX-TYPE-MESSAGE|x|text", "OX-NO-SUCH||text"] {
            assert_eq!(Finding::read(line), None, "{line}");
        }
    }
}
