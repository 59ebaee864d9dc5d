//! The findings of all ranks: each is told once, with all ranks that found it.

use crate::finding::Finding;
use crate::suppress::Suppressions;
use crate::{html, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// A new finding is printed after so much time without another one, so that all ranks are in one line.
pub const QUIET: Duration = Duration::from_millis(400);
/// A finding is printed after so much time in any case.
pub const LATEST: Duration = Duration::from_secs(1);

/// One finding, and the ranks that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub finding: Finding,
    /// Where in the source, if that is known.
    pub place: Option<String>,
    pub ranks: BTreeSet<usize>,
    /// Those that were printed.
    told: BTreeSet<usize>,
}

impl Group {
    /// The line for people.
    pub fn line(&self) -> String {
        let place = self.place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
        format!("{}: {}: {}{place}", self.finding.name, ranks(&self.ranks), self.finding.text)
    }

    /// The line for people about ranks that came after the finding was printed.
    fn line_of_late(&self) -> String {
        let late = self.ranks.difference(&self.told).copied().collect();
        format!("{}: also {}: {}", self.finding.name, ranks(&late), self.finding.text)
    }
}

/// All findings of a job.
#[derive(Debug, Default)]
pub struct Report {
    groups: Vec<Group>,
    suppressed: Suppressions,
    /// Findings that ranks could not store.
    lost: u64,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl Report {
    pub fn new(suppressed: Suppressions) -> Report {
        Report { suppressed, ..Report::default() }
    }

    /// Adds what a rank has found.
    pub fn add(&mut self, rank: usize, finding: Finding, place: Option<String>, now: Instant) {
        let rank = finding.rank.unwrap_or(rank);
        let whole = format!("{} {}", finding.text, place.as_deref().unwrap_or_default());
        if self.suppressed.covers(finding.name, &whole) {
            return;
        }
        let is_same = |group: &Group| {
            let is_there = group.place == place || group.place.is_none() || place.is_none();
            group.finding.name == finding.name && group.finding.text == finding.text && is_there
        };
        match self.groups.iter_mut().find(|group| is_same(group)) {
            Some(group) => {
                group.ranks.insert(rank);
                // The line may be known of some ranks alone.
                group.place = group.place.take().or(place);
            }
            None => {
                let ranks = BTreeSet::from([rank]);
                self.groups.push(Group { finding, place, ranks, told: BTreeSet::new() });
                self.first.get_or_insert(now);
            }
        }
        self.last = Some(now);
    }

    pub fn lose(&mut self, count: u64) {
        self.lost = self.lost.saturating_add(count);
    }

    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The lines that are due; with `all`, every one that was not printed.
    pub fn lines(&mut self, now: Instant, all: bool) -> Vec<String> {
        let is_due = |first, last| now >= last + QUIET || now >= first + LATEST;
        if !all && !self.first.zip(self.last).is_some_and(|(first, last)| is_due(first, last)) {
            return Vec::new();
        }
        self.first = None;
        // Ranks that come late are told once, at the end.
        let is_new = |group: &&mut Group| group.told.is_empty() || all && group.told != group.ranks;
        let new = self.groups.iter_mut().filter(is_new);
        let tell = |group: &mut Group| {
            let line = if group.told.is_empty() { group.line() } else { group.line_of_late() };
            group.told.clone_from(&group.ranks);
            line
        };
        new.map(tell).collect()
    }

    /// The last line, after all findings.
    pub fn summary(&self) -> Option<String> {
        let lost = match self.lost {
            0 => String::new(),
            count => format!("; {count} more were not kept"),
        };
        let example = self.groups.first()?.finding.name;
        let count = match self.groups.len() {
            1 => "1 finding".into(),
            count => format!("{count} findings"),
        };
        Some(format!("--check: {count}{lost} (`oxmpi explain {example}` says more)"))
    }

    /// The report for machines.
    pub fn json(&self) -> String {
        json::text(&self.groups, self.lost)
    }

    /// The report as a page that loads nothing.
    pub fn html(&self) -> String {
        html::text(&self.groups, self.lost)
    }
}

/// Ranks as ranges.
pub fn ranks(ranks: &BTreeSet<usize>) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &rank in ranks {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => ranges.push((rank, rank)),
        }
    }
    let range = |&(first, last): &(usize, usize)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    };
    let word = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{word} {}", ranges.iter().map(range).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{OBJ_TYPE, TYPE_MESSAGE};

    fn found(text: &str) -> Finding {
        Finding::new(&TYPE_MESSAGE, text.into())
    }

    #[test]
    fn ranges_of_ranks() {
        let text = |list: &[usize]| ranks(&list.iter().copied().collect());
        assert_eq!(text(&[3]), "rank 3");
        assert_eq!(text(&[0, 1]), "ranks 0,1");
        assert_eq!(text(&[0, 1, 2, 5, 7, 8]), "ranks 0-2,5,7,8");
    }

    #[test]
    fn each_finding_is_told_once_with_all_ranks() {
        let now = Instant::now();
        let mut report = Report::default();
        assert_eq!((report.lines(now, true), report.summary()), (vec![], None));
        for rank in [2, 0, 1, 0] {
            report.add(rank, found("MPI_INT"), None, now);
        }
        report.add(1, found("MPI_FLOAT"), Some("main.c:7".into()), now);
        report.add(2, found("MPI_FLOAT"), None, now);
        report.add(2, found("MPI_FLOAT"), Some("main.c:8".into()), now);
        assert_eq!(report.lines(now, false), Vec::<String>::new(), "others may find the same");
        let lines = report.lines(now + QUIET, false);
        let expected = ["ranks 0-2: MPI_INT", "ranks 1,2: MPI_FLOAT (main.c:7)", "rank 2: MPI_FLOAT (main.c:8)"];
        assert_eq!(lines, expected.map(|line| format!("OX-TYPE-MESSAGE: {line}")));
        report.add(5, found("MPI_INT"), None, now);
        assert_eq!(report.lines(now + 3 * QUIET, false), Vec::<String>::new(), "the others of its kind were told");
        assert_eq!(report.lines(now + 3 * QUIET, true), ["OX-TYPE-MESSAGE: also rank 5: MPI_INT"]);
        assert_eq!(report.lines(now + 3 * QUIET, true), Vec::<String>::new());
        report.lose(3);
        let summary = report.summary().unwrap();
        assert!(summary.contains("3 findings; 3 more were not kept") && summary.contains("explain OX-TYPE-MESSAGE"));
    }

    #[test]
    fn what_is_suppressed_is_not_there() {
        let mut report = Report::new(Suppressions::read("OX-TYPE-* main.c").unwrap());
        let now = Instant::now();
        report.add(0, found("MPI_INT"), Some("main.c:7".into()), now);
        assert!(report.is_empty());
        report.add(0, Finding::new(&OBJ_TYPE, "a type".into()), Some("main.c:7".into()), now);
        assert_eq!(report.groups().len(), 1);
    }

    #[test]
    fn reports_escape_what_they_contain() {
        let mut report = Report::default();
        report.add(0, found("a \"quoted\" <b> \\ \u{1}"), None, Instant::now());
        report.add(3, found("a \"quoted\" <b> \\ \u{1}"), None, Instant::now());
        let json = report.json();
        assert!(json.contains(r#""version": 1"#) && json.contains(r#""ranks": [0, 3]"#), "{json}");
        assert!(json.contains(r#"a \"quoted\" <b> \\ \u0001"#), "{json}");
        let html = report.html();
        assert!(html.contains("&lt;b&gt;") && !html.contains("<b>") && !html.contains("http"), "{html}");
    }
}
