//! Deadlocks: the records of the ranks of this machine for the judge (`oxmpi-verdict`), and what is said when ranks are stuck.
//! `root/deadlocks.rs` has the records of several hosts.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use oxmpi_abi::functions::Fun;
use oxmpi_base::rest_record::Answer;
use oxmpi_check::Finding;
use oxmpi_check::catalogue::SEND_UNSAFE;
use oxmpi_verdict::{Cause, Job, Judge, State};

use crate::deadlock_mode::Mode;
use crate::findings::Told;
use crate::report::{self, Place};
use crate::watch::Watch;

/// The exit status of `mpirun` when it ends a job because of a deadlock.
pub const STATUS: i32 = 121;

/// Watches the ranks of a job for deadlocks.
pub struct Deadlocks {
    mode: Mode,
    judge: Judge,
    /// The ranks that were reported.
    reported: Vec<usize>,
}

/// What was found.
pub struct Found {
    pub text: String,
    /// The job must end.
    pub ends: bool,
    /// The ranks that are stuck in `MPI_Send`, their lines, and why.
    pub sends: Vec<Told>,
}

/// What the judge has found.
pub enum Look {
    /// These ranks are stuck; what was known of all ranks.
    Stuck(Vec<usize>, Vec<State>),
    /// Since others were reported, all other ranks have ended: the job must end.
    NobodyElse(Found),
}

/// What is said of ranks that are stuck.
pub struct Facts {
    pub stuck: Vec<usize>,
    pub states: Vec<State>,
    pub places: Vec<Place>,
    /// The number of a rank, and why it may wait in vain.
    pub hint: Option<(usize, String)>,
    /// How long the rank has waited that has waited for the longest time.
    pub since: Option<Duration>,
    /// Somebody looks at one of them with a debugger.
    pub is_traced: bool,
}

impl Deadlocks {
    pub fn new(mode: Mode, now: Instant) -> Deadlocks {
        Deadlocks { mode, judge: Judge::new(now), reported: Vec::new() }
    }

    pub fn deadline(&self) -> Option<Instant> {
        (self.mode != Mode::Off).then(|| self.judge.deadline())
    }

    /// A rank has died, and the others go on: its death may end the waits of those that were reported.
    pub fn forget(&mut self) {
        self.reported.clear();
    }

    /// Looks for a deadlock that was not reported, or that must end the job now.
    pub fn look(&mut self, job: &impl Job, now: Instant) -> Option<Look> {
        if self.mode == Mode::Off || now < self.judge.deadline() {
            return None;
        }
        // The others have ended since it was reported: ranks that are stuck stay so.
        if self.mode == Mode::End && !self.reported.is_empty() && is_all(&self.reported, &job.states()) {
            self.mode = Mode::Off;
            let text = "no other rank is left; the job was stopped because of the deadlock".into();
            return Some(Look::NobodyElse(Found { text, ends: true, sends: Vec::new() }));
        }
        let (stuck, states) = self.judge.turn(job, &self.reported, now)?;
        Some(Look::Stuck(stuck, states))
    }

    /// The report, and whether the job ends.
    pub fn report(&mut self, facts: Facts) -> Found {
        let is_all = is_all(&facts.stuck, &facts.states);
        let ends = is_all && self.mode == Mode::End && !facts.is_traced;
        let text = describe(&facts, is_all, ends);
        let sends = sends(&facts);
        self.reported = facts.stuck;
        if facts.is_traced {
            self.mode = Mode::Report;
        }
        Found { text, ends, sends }
    }
}

/// The facts about ranks of this machine that are stuck.
pub fn facts_here(watch: &Watch, stuck: Vec<usize>, states: Vec<State>) -> Facts {
    // Before the lines are looked up, which takes a moment.
    let since = stuck.iter().filter_map(|&rank| watch.ranks.rests_since(rank)).max();
    let hint = stuck.iter().find_map(|&rank| Some((watch.number_of(rank), watch.ranks.hint(rank)?)));
    let is_traced = stuck.iter().any(|&rank| watch.pid_of(rank).is_some_and(is_traced));
    let places = watch.places_of(|rank| stuck.binary_search(&rank).is_ok());
    Facts { stuck, states, places, hint, since, is_traced }
}

/// Whether no other rank can do anything.
fn is_all(stuck: &[usize], states: &[State]) -> bool {
    let acts = |(rank, state): (usize, &State)| {
        matches!(state, State::Free | State::Resting(_)) && stuck.binary_search(&rank).is_err()
    };
    !states.iter().enumerate().any(acts)
}

/// Whether a debugger is attached to a process.
pub fn is_traced(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}

impl Job for Watch {
    fn has_records(&self) -> bool {
        self.ranks.has_rest_records()
    }

    fn states(&self) -> Vec<State> {
        self.rest_states()
    }

    fn ask(&self, ranks: &[usize], question: u64) {
        ranks.iter().for_each(|&rank| self.ranks.ask(rank, question));
    }

    fn answer(&self, rank: usize, question: u64) -> Option<Answer> {
        self.ranks.answer(rank, question)
    }
}

/// Ranks of a cycle that are named.
const MOST_NAMED: usize = 8;

fn describe(facts: &Facts, is_all: bool, ends: bool) -> String {
    let Facts { stuck, states, places, hint, since, .. } = facts;
    let hint = hint.as_ref().map(|(rank, hint)| format!("rank {rank} {hint}"));
    let why = hint.or_else(|| oxmpi_verdict::cause(states, stuck).map(|cause| sentence(&with_ending(cause, places))));
    let why = why.unwrap_or_else(|| "they wait for each other".into());
    let who = match (is_all, &stuck[..]) {
        (true, _) => "no rank can go on".into(),
        (false, [rank]) => format!("rank {rank} cannot go on, whatever the others do"),
        (false, all) => format!("{} ranks cannot go on, whatever the others do", all.len()),
    };
    let time = since.map_or_else(String::new, |time| format!(", for {:.1} s", time.as_secs_f64()));
    let end = if ends { "; the job was stopped" } else { "" };
    format!("deadlock: {who}{time}: {why}{end}:{}", report::places(places, 0))
}

/// A rank that waits for another one in `MPI_Finalize`, which waits for all with `--check`, names that.
fn with_ending(cause: Cause, places: &[Place]) -> Cause {
    let Cause::Cycle(ranks) = &cause else { return cause };
    let is_ending = |at: report::Where| at.is_in_call() && at.call.is_some_and(|(fun, _)| fun == Fun::Finalize);
    let ending: BTreeSet<usize> = places.iter().filter(|place| is_ending(place.at)).map(|place| place.rank).collect();
    let next = ranks.iter().copied().cycle().skip(1);
    let mut pairs = ranks.iter().copied().zip(next);
    let found = pairs.find(|(one, other)| ending.contains(other) && !ending.contains(one));
    found.map_or(cause, |(one, other)| Cause::Gone(one, other, false))
}

/// The ranks that are stuck in `MPI_Send`. With `--check=strict` it waits for its receive.
fn sends(facts: &Facts) -> Vec<Told> {
    let why = oxmpi_verdict::cause(&facts.states, &facts.stuck).map_or_else(String::new, |cause| sentence(&cause));
    let text = format!("MPI_Send waits for its receive, and works only where the message is stored: {why}");
    let is_send = |place: &&Place| place.at.is_in_call() && place.at.call.is_some_and(|(fun, _)| fun == Fun::Send);
    let is_stuck = |place: &&Place| place.waits.is_some();
    let all = facts.places.iter().filter(is_send).filter(is_stuck);
    all.map(|place| (place.rank, Finding::new(&SEND_UNSAFE, text.clone()), place.line.clone())).collect()
}

fn sentence(cause: &Cause) -> String {
    match cause {
        Cause::Gone(rank, other, ended) => {
            let what = if *ended { "has ended" } else { "has called MPI_Finalize" };
            format!("rank {} waits for rank {}, which {what}", rank, other)
        }
        Cause::Itself(rank) => format!("rank {} waits for something that only it could do itself", rank),
        Cause::Cycle(ranks) if ranks.len() == 2 => {
            format!("ranks {} and {} wait for each other", ranks[0], ranks[1])
        }
        Cause::Cycle(ranks) => {
            let mut named: Vec<String> = ranks.iter().take(MOST_NAMED).map(|&rank| rank.to_string()).collect();
            if ranks.len() > MOST_NAMED {
                named.push(format!("… ({} ranks)", ranks.len()));
            }
            named.push(ranks[0].to_string());
            format!("each waits for the next: rank {}", named.join(" for "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_base::segment::{IN_CALL, STATE_RUNNING};

    #[test]
    fn sentences() {
        assert_eq!(sentence(&Cause::Cycle(vec![0, 1])), "ranks 0 and 1 wait for each other");
        assert_eq!(sentence(&Cause::Cycle(vec![0, 1, 2])), "each waits for the next: rank 0 for 1 for 2 for 0");
        assert_eq!(sentence(&Cause::Gone(3, 4, false)), "rank 3 waits for rank 4, which has called MPI_Finalize");
        let many = sentence(&Cause::Cycle((0..100).collect()));
        assert!(many.ends_with("for 7 for … (100 ranks) for 0"), "{many}");
    }

    #[test]
    fn a_rank_that_ends() {
        let place = |(rank, fun): (usize, Fun)| {
            let at = report::Where::from_words(STATE_RUNNING, fun as u32 | IN_CALL);
            Place { rank, at, line: None, waits: None }
        };
        let places = [(0, Fun::Finalize), (1, Fun::Recv), (2, Fun::Recv)].map(place);
        let cause = |ranks: &[usize]| sentence(&with_ending(Cause::Cycle(ranks.to_vec()), &places));
        assert_eq!(cause(&[0, 1]), "rank 1 waits for rank 0, which has called MPI_Finalize");
        assert_eq!(cause(&[0, 2, 1]), "rank 1 waits for rank 0, which has called MPI_Finalize");
        assert_eq!(cause(&[1, 2]), "ranks 1 and 2 wait for each other");
    }

    /// Each of many ranks waits for the next one.
    #[test]
    fn the_report_of_many_ranks_fits_a_screen() {
        const RANKS: u32 = 10_000;
        let rests = |rank: u32| {
            let needs = vec![((rank + 1) % RANKS, 1)];
            State::Resting(oxmpi_verdict::Resting { number: 1, needs, ended_only: false })
        };
        let at = report::Where::from_words(STATE_RUNNING, Fun::Recv as u32 | IN_CALL);
        let place = |rank: u32| Place {
            rank: rank as usize,
            at,
            line: Some("ring.c:18".into()),
            waits: Some(format!("from rank {}, tag 7, on MPI_COMM_WORLD", (rank + 1) % RANKS)),
        };
        let states: Vec<State> = (0..RANKS).map(rests).collect();
        let places = (0..RANKS).map(place).collect();
        let start = Instant::now();
        let stuck = oxmpi_verdict::stuck(&states);
        let facts = Facts { stuck, states, places, hint: None, since: None, is_traced: false };
        let text = Deadlocks::new(Mode::End, start).report(facts).text;
        // Without optimisation and beside other tests; optimised it takes a few milliseconds.
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        assert!(text.lines().count() <= 24, "{text}");
        let group = "ranks 0-9999 in MPI_Recv at ring.c:18; rank 0: from rank 1, tag 7, on MPI_COMM_WORLD";
        assert!(text.contains("no rank can go on") && text.contains(group), "{text}");
        println!("{:?}", start.elapsed());
    }

    #[test]
    fn a_death_may_free_the_ranks_that_were_reported() {
        struct Gone;
        impl Job for Gone {
            fn has_records(&self) -> bool {
                false
            }
            fn states(&self) -> Vec<State> {
                vec![State::Resting(oxmpi_verdict::Resting::default()), State::Ended]
            }
            fn ask(&self, _: &[usize], _: u64) {}
            fn answer(&self, _: usize, _: u64) -> Option<Answer> {
                None
            }
        }
        let mut deadlocks = Deadlocks { reported: vec![0], ..Deadlocks::new(Mode::End, Instant::now()) };
        let later = Instant::now() + Duration::from_secs(60);
        deadlocks.forget();
        assert!(!matches!(deadlocks.look(&Gone, later), Some(Look::NobodyElse(_))));
        deadlocks.reported = vec![0];
        assert!(matches!(deadlocks.look(&Gone, later + Duration::from_secs(60)), Some(Look::NobodyElse(_))));
    }

    #[test]
    fn nobody_else_is_left() {
        let rests = || State::Resting(oxmpi_verdict::Resting::default());
        assert!(is_all(&[0, 2], &[rests(), State::Finalized, rests(), State::Ended]));
        assert!(!is_all(&[0], &[rests(), State::Free]));
        assert!(!is_all(&[0], &[rests(), rests()]));
    }
}
