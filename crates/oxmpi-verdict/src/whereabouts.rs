//! Where in MPI the ranks of a job are, in words: for `mpirun`, when it ends a job, and for `oxmpi where`.

use oxmpi_abi::functions::Fun;
use oxmpi_base::segment::{IN_CALL, RankBlock, STATE_ABSENT, STATE_FINALIZED, STATE_RUNNING};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Where in MPI a rank is or was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Where {
    state: u32,
    /// The last call, and whether the rank is in it.
    pub call: Option<(Fun, bool)>,
}

impl Where {
    pub fn of(block: &RankBlock) -> Where {
        Where::from_words(block.state.load(Acquire), block.call.load(Relaxed))
    }

    /// From words that an agent sends. They come from another process: a call that does not exist is none.
    pub fn from_words(state: u32, word: u32) -> Where {
        let inside = word & IN_CALL != 0;
        // A word that was never written is 0, which is also a function's number; only the mark tells them apart.
        let fun = (word != 0).then(|| Fun::from_u16((word & !IN_CALL) as u16)).flatten();
        Where { state, call: fun.map(|fun| (fun, inside)) }
    }

    /// The words that [`Where::from_words`] reads.
    pub fn words(self) -> (u32, u32) {
        let call = self.call.map_or(0, |(fun, inside)| fun as u32 | if inside { IN_CALL } else { 0 });
        (self.state, call)
    }

    pub fn never_came(self) -> bool {
        self.state == STATE_ABSENT
    }

    /// It is in MPI.
    pub fn is_inside(self) -> bool {
        self.state == STATE_RUNNING
    }

    /// It is not in MPI: not yet, no longer, or it never is.
    pub fn is_outside(self) -> bool {
        self.state == STATE_ABSENT || self.state == STATE_FINALIZED
    }

    /// It is inside a call.
    pub fn is_in_call(self) -> bool {
        self.state == STATE_RUNNING && matches!(self.call, Some((_, true)))
    }

    /// ` in MPI_Recv`, ` after MPI_Recv`, or nothing when there is nothing to say.
    pub fn phrase(self) -> String {
        match (self.state, self.call) {
            (STATE_ABSENT, _) => String::new(),
            (STATE_FINALIZED, _) => " after MPI_Finalize".into(),
            (_, Some((fun, true))) => format!(" in {}", fun.name()),
            (_, Some((fun, false))) => format!(" after {}", fun.name()),
            (_, None) => String::new(),
        }
    }

    /// For a list of where everybody is.
    pub fn place(self) -> String {
        match (self.state, self.call) {
            (STATE_ABSENT, _) => "before MPI_Init".into(),
            (STATE_FINALIZED, _) => "after MPI_Finalize".into(),
            (_, Some((fun, true))) => format!("in {}", fun.name()),
            (_, Some((fun, false))) => format!("outside MPI, after {}", fun.name()),
            (_, None) => "in the program".into(),
        }
    }
}

/// Where a rank is, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub rank: usize,
    pub at: Where,
    /// The line of the call, such as `main.c:41`.
    pub line: Option<String>,
    /// What it says that it waits for.
    pub waits: Option<String>,
}

impl Place {
    /// The place, and the rest of the text. A record of a rank that is not in a call is old.
    fn words(&self) -> (String, &str) {
        let is_in_call = self.at.is_in_call();
        let line = self.line.as_ref().filter(|_| is_in_call).map_or_else(String::new, |line| format!(" at {line}"));
        let waits = self.waits.as_deref().filter(|_| is_in_call).unwrap_or("");
        (format!("{}{line}", self.at.place()), waits)
    }
}

/// Describes where all ranks are, to follow a colon. `jobs` is the number of spawned jobs.
pub fn places(ranks: &[Place], jobs: usize) -> String {
    let spawned = match jobs {
        0 => None,
        1 => Some("and there was a spawned job".into()),
        n => Some(format!("and there were {n} spawned jobs")),
    };
    let words: Vec<(usize, String, &str)> = ranks
        .iter()
        .map(|place| {
            let (at, waits) = place.words();
            (place.rank, at, waits)
        })
        .collect();
    let mut lines = grouped(&words);
    lines.extend(spawned);
    // Descriptions of waits are long: a line for each.
    let has_waits = words.iter().any(|(_, at, waits)| !waits.is_empty() || at.contains(" at "));
    if has_waits { lines.iter().map(|line| format!("\n  {line}")).collect() } else { format!(" {}", lines.join("; ")) }
}

/// A line for each place and what is said of it, with the ranks of which that is true. If there are too many, ranks in the same
/// place share a line, with what one of them says.
pub fn grouped(ranks: &[(usize, String, &str)]) -> Vec<String> {
    let exact = groups(ranks, |(_, at, rest)| (at.as_str(), *rest));
    let line = |at: &str, rest: &str, ranks: &[usize]| {
        let space = if rest.is_empty() { "" } else { " " };
        format!("{} {at}{space}{rest}", named(ranks))
    };
    if exact.len() <= MOST_PLACES {
        return exact.iter().map(|((at, rest), ranks)| line(at, rest, ranks)).collect();
    }
    let by_place = groups(ranks, |(_, at, _)| at.as_str());
    let shared = |(at, members): &(&str, Vec<usize>)| {
        let mut said = exact.iter().filter(|((place, _), _)| place == at);
        match (said.next(), said.next()) {
            (Some(((_, rest), _)), None) => line(at, rest, members),
            (Some(((_, rest), first)), Some(_)) if !rest.is_empty() => {
                format!("{}; {}: {rest}", line(at, "", members), named(&first[..1]))
            }
            _ => line(at, "", members),
        }
    };
    let mut lines: Vec<String> = by_place.iter().take(MOST_PLACES).map(shared).collect();
    let others: usize = by_place.iter().skip(MOST_PLACES).map(|(_, list)| list.len()).sum();
    lines.extend((others > 0).then(|| format!("and {others} more ranks in other places")));
    lines
}

/// The ranks with the same key, in the order of the first of them.
fn groups<'a, K: Hash + Eq + Copy>(
    ranks: &'a [(usize, String, &str)],
    key: impl Fn(&'a (usize, String, &str)) -> K,
) -> Vec<(K, Vec<usize>)> {
    let mut numbers: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<(K, Vec<usize>)> = Vec::new();
    for rank in ranks {
        let key = key(rank);
        let number = *numbers.entry(key).or_insert_with(|| {
            groups.push((key, Vec::new()));
            groups.len() - 1
        });
        groups[number].1.push(rank.0);
    }
    groups
}

/// `rank 3`, `ranks 0-2,5`, or `ranks 0,2,… (5000 in all)`.
fn named(ranks: &[usize]) -> String {
    let set: oxmpi_base::cpus::CpuSet = ranks.iter().copied().collect();
    let all = set.to_string();
    let Some(end) = all.char_indices().nth(MOST_NAMES).and_then(|(end, _)| all[..end].rfind(',')) else {
        return format!("rank{} {all}", if ranks.len() == 1 { "" } else { "s" });
    };
    format!("ranks {},… ({} in all)", &all[..end], ranks.len())
}

/// So many columns of a line are for the numbers of ranks.
const MOST_NAMES: usize = 72;

/// Places that are named; a terminal has few lines.
const MOST_PLACES: usize = 22;

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_base::segment::Segment;

    fn block(state: u32, call: u32) -> Segment {
        let (_, segment) = Segment::create(1, 1).unwrap();
        segment.rank(0).state.store(state, Relaxed);
        segment.rank(0).call.store(call, Relaxed);
        segment
    }

    #[test]
    fn where_everybody_is() {
        let recv = block(STATE_RUNNING, Fun::Recv as u32 | IN_CALL);
        let absent = block(STATE_ABSENT, 0);
        let (recv, absent) = (Where::of(recv.rank(0)), Where::of(absent.rank(0)));
        let at = |rank, at, waits: Option<&str>| Place { rank, at, line: None, waits: waits.map(String::from) };
        let lined = |rank, line: &str, waits| Place { line: Some(line.into()), ..at(rank, recv, waits) };
        assert_eq!(
            places(
                &[at(0, absent, None), at(1, recv, None), at(2, recv, None), at(3, recv, None), at(5, recv, None)],
                0
            ),
            " rank 0 before MPI_Init; ranks 1-3,5 in MPI_Recv"
        );
        assert_eq!(places(&[at(0, absent, None)], 2), " rank 0 before MPI_Init; and there were 2 spawned jobs");
        let waits = Some("from rank 0, tag 7, on MPI_COMM_WORLD");
        assert_eq!(places(&[at(0, absent, waits)], 0), " rank 0 before MPI_Init");
        assert_eq!(
            places(&[at(0, absent, None), at(1, recv, waits), at(2, recv, waits), at(3, recv, None)], 0),
            "\n  rank 0 before MPI_Init\n  ranks 1-2 in MPI_Recv from rank 0, tag 7, on MPI_COMM_WORLD\n  rank 3 in MPI_Recv"
        );
        // The line belongs to the place.
        assert_eq!(
            places(&[lined(0, "main.c:3", waits), lined(1, "main.c:4", waits), lined(2, "main.c:3", waits)], 0),
            "\n  ranks 0,2 in MPI_Recv at main.c:3 from rank 0, tag 7, on MPI_COMM_WORLD\
             \n  rank 1 in MPI_Recv at main.c:4 from rank 0, tag 7, on MPI_COMM_WORLD"
        );
        // Too many say something else: those in the same place share a line.
        let many: Vec<_> = (0..30).map(|rank| at(rank, recv, Some(&format!("from rank {}", rank + 1)))).collect();
        assert_eq!(places(&many, 0), "\n  ranks 0-29 in MPI_Recv; rank 0: from rank 1");
        let many: Vec<_> = (0..30).map(|rank| lined(rank, &format!("main.c:{rank}"), None)).collect();
        let text = places(&many, 0);
        assert!(text.ends_with("\n  rank 21 in MPI_Recv at main.c:21\n  and 8 more ranks in other places"), "{text}");
    }

    #[test]
    fn ten_thousand_ranks_in_turn_fit_a_screen() {
        let ranks: Vec<_> =
            (0..10_000).map(|rank| (rank, ["in MPI_Recv", "in MPI_Send"][rank % 2].into(), "")).collect();
        let lines = grouped(&ranks);
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with("ranks 0,2,4,") && lines[0].ends_with(",… (5000 in all) in MPI_Recv"),
            "{}",
            lines[0]
        );
        assert!(lines.iter().all(|line| line.chars().count() <= 110), "{lines:?}");
        // All ranks but a few are still two ranges.
        let ranks: Vec<_> =
            (0..10_000).filter(|rank| *rank != 7).map(|rank| (rank, String::from("there"), "")).collect();
        assert_eq!(grouped(&ranks), ["ranks 0-6,8-9999 there"]);
    }
}
