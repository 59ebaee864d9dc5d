//! What the ranks have found wrong with the program (`--check`): the lines of their logs become one report.

use std::fs;
use std::time::{Duration, Instant};

use oxmpi_check::mode;
use oxmpi_check::{Finding, Report};

use crate::check_options::Check;
use crate::watch::Watch;

/// Time between two looks at the logs.
pub const EVERY: Duration = Duration::from_millis(100);

/// The findings of a job.
pub struct Findings {
    check: Check,
    report: Report,
    next_look: Instant,
}

/// A finding of a rank, and the source line.
pub type Told = (usize, Finding, Option<String>);

/// Reads the logs of the ranks of this machine; also how many lines were lost there.
pub fn collect(watch: &Watch) -> (Vec<Told>, u64) {
    let (mut all, mut callers, mut lost) = (Vec::new(), Vec::new(), 0_u64);
    for index in 0..watch.ranks.list.len() {
        let (lines, more) = watch.ranks.findings(index);
        lost = lost.saturating_add(more);
        for line in lines {
            if let Some(finding) = Finding::read(&line.text) {
                all.push((watch.number_of(index), finding));
                callers.push((index, line.callers));
            }
        }
    }
    let sites = watch.lines_of(&callers);
    (all.into_iter().zip(sites).map(|((rank, finding), site)| (rank, finding, site)).collect(), lost)
}

impl Findings {
    pub fn new(check: &Check, now: Instant) -> Findings {
        let report = Report::new(check.suppressions.clone());
        Findings { check: check.clone(), report, next_look: now + EVERY }
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.check.mode.on.then_some(self.next_look)
    }

    /// Adds what the ranks of this machine have found, if programs are checked.
    pub fn look(&mut self, watch: &Watch, now: Instant) {
        if self.check.mode.on {
            self.add(collect(watch), now);
        }
    }

    /// Adds what ranks have found.
    pub fn add(&mut self, (all, lost): (Vec<Told>, u64), now: Instant) {
        all.into_iter().for_each(|(rank, finding, place)| self.report.add(rank, finding, place, now));
        self.report.lose(lost);
    }

    /// Adds sends that are stuck, if programs are checked against the text of the standard: only then is it the fault of a send
    /// that it waits.
    pub fn add_sends(&mut self, sends: Vec<Told>, now: Instant) {
        if self.check.mode.on && self.check.mode.strict {
            self.add((sends, 0), now);
        }
    }

    /// Whether it is time to look at the logs.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self.deadline().is_some_and(|at| at <= now);
        if is_due {
            self.next_look = now + EVERY;
        }
        is_due
    }

    /// Lines to print now.
    pub fn lines(&mut self, now: Instant) -> Vec<String> {
        self.report.lines(now, false)
    }

    /// The rest of the lines, after the end of the job, and what became of the file.
    pub fn conclude(&mut self, now: Instant) -> Vec<String> {
        if !self.check.mode.on {
            return Vec::new();
        }
        let mut lines = self.report.lines(now, true);
        lines.extend(self.report.summary());
        if let Some(file) = &self.check.report {
            let is_json = file.extension().is_some_and(|name| name == "json");
            let text = if is_json { self.report.json() } else { self.report.html() };
            if let Err(error) = fs::write(file, text) {
                lines.push(format!("cannot write the report {}: {error}", file.display()));
            }
        }
        lines
    }

    /// The exit status of a job that has ended with this one.
    pub fn status(&self, status: i32) -> i32 {
        let counts = self.check.mode.error && !self.report.is_empty();
        if status == 0 && counts { mode::STATUS } else { status }
    }
}
