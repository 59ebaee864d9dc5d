//! The records of all ranks together.

use crate::record::{Rank, Site, Size};
use crate::{html, json, text};
use std::collections::BTreeMap;

/// Where a call was made: what is known of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The source file as the compiler knew it, and the line.
    pub line: Option<(String, u32)>,
    /// The function of the program.
    pub caller: Option<String>,
    /// The file of the code and the position there.
    pub module: String,
    pub position: u64,
}

impl Place {
    /// `main.c:41 in solve`; without debug information `solve (prog)` or `prog+0x11c9`.
    pub fn name(&self) -> String {
        let module = base_name(&self.module);
        match (&self.line, &self.caller) {
            (Some((file, line)), Some(caller)) => format!("{}:{line} in {caller}", base_name(file)),
            (Some((file, line)), None) => format!("{}:{line}", base_name(file)),
            (None, Some(caller)) => format!("{caller} ({module}+{:#x})", self.position),
            (None, None) if module.is_empty() => "unknown".into(),
            (None, None) => format!("{module}+{:#x}", self.position),
        }
    }
}

/// The last part of a path, without characters that a terminal would act on.
pub fn base_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).replace(|c: char| c.is_control(), "?")
}

/// A place that calls one function, with the sums of all ranks. Times are nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    pub function: String,
    pub place: Place,
    pub count: u64,
    pub bytes: u64,
    pub time: u64,
    pub waited: u64,
    pub longest: u64,
    /// Ranks that were there.
    pub ranks: usize,
    /// The time of the rank that was there longest.
    pub most: u64,
}

/// Messages from a process to another, by their numbers in [`Profile::ranks`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub messages: u64,
    pub bytes: u64,
    /// Of these, those that the library sent for operations.
    pub internal_messages: u64,
    pub internal_bytes: u64,
}

/// A collective operation, and how it was done.
#[derive(Clone, Debug, Default)]
pub struct Collective {
    pub function: String,
    pub algorithm: String,
    pub count: u64,
    pub bytes: u64,
    pub time: u64,
}

/// All ranks.
#[derive(Debug, Default)]
pub struct Profile {
    /// Those of the job first, then those of spawned jobs.
    pub ranks: Vec<Rank>,
    /// Ranks of the job without a record.
    pub missing: Vec<u32>,
    /// The longest first.
    pub sites: Vec<Summary>,
    pub sizes: Vec<Size>,
    pub traffic: BTreeMap<(usize, usize), Traffic>,
    /// Messages to other jobs.
    pub elsewhere: Traffic,
    pub collectives: Vec<Collective>,
}

impl Profile {
    /// `place_of` finds where a site is in the source.
    pub fn new(mut ranks: Vec<Rank>, place_of: impl Fn(&Site) -> Place) -> Profile {
        ranks.sort_by_key(|rank| (rank.is_spawned, if rank.is_spawned { rank.job } else { 0 }, rank.rank));
        let size = ranks.iter().filter(|rank| !rank.is_spawned).map(|rank| rank.size).max().unwrap_or(0);
        let there: Vec<u32> = ranks.iter().filter(|rank| !rank.is_spawned).map(|rank| rank.rank).collect();
        let missing = (0..size).filter(|rank| there.binary_search(rank).is_err()).collect();
        let mut sites: BTreeMap<(String, Place), Summary> = BTreeMap::new();
        let (mut sizes, mut collectives) =
            (BTreeMap::<u32, Size>::new(), BTreeMap::<(String, String), Collective>::new());
        let (mut traffic, mut elsewhere) = (BTreeMap::<(usize, usize), Traffic>::new(), Traffic::default());
        for (from, rank) in ranks.iter().enumerate() {
            let mut own: BTreeMap<(String, Place), u64> = BTreeMap::new();
            for site in rank.sites.iter().filter(|site| site.count > 0) {
                let place = place_of(site);
                // Several calls of one line are one place.
                let known = if place.line.is_some() { Place { position: 0, ..place } } else { place };
                let key = (site.function.clone(), known);
                let sum = sites.entry(key.clone()).or_insert_with(|| Summary {
                    function: key.0.clone(),
                    place: key.1.clone(),
                    ..Summary::default()
                });
                sum.count += site.count;
                sum.bytes = sum.bytes.saturating_add(site.bytes);
                sum.time += site.time;
                sum.waited += site.waited;
                sum.longest = sum.longest.max(site.longest);
                *own.entry(key).or_default() += site.time;
            }
            for (key, time) in own {
                if let Some(sum) = sites.get_mut(&key) {
                    sum.ranks += 1;
                    sum.most = sum.most.max(time);
                }
            }
            for size in &rank.sizes {
                let sum = sizes.entry(size.power).or_insert_with(|| Size { power: size.power, ..Size::default() });
                sum.messages += size.messages;
                sum.bytes = sum.bytes.saturating_add(size.bytes);
            }
            for peer in &rank.peers {
                let is_it = |other: &Rank| {
                    Some(other.rank) == peer.to
                        && other.is_spawned == rank.is_spawned
                        && (!rank.is_spawned || other.job == rank.job)
                };
                let sum = match ranks.iter().position(is_it) {
                    Some(to) => traffic.entry((from, to)).or_default(),
                    None => &mut elsewhere,
                };
                sum.messages += peer.messages;
                sum.bytes = sum.bytes.saturating_add(peer.bytes);
                if peer.is_internal {
                    sum.internal_messages += peer.messages;
                    sum.internal_bytes = sum.internal_bytes.saturating_add(peer.bytes);
                }
            }
            for one in &rank.algorithms {
                let sum = collectives.entry((one.function.clone(), one.name.clone())).or_insert_with(|| Collective {
                    function: one.function.clone(),
                    algorithm: one.name.clone(),
                    ..Collective::default()
                });
                sum.count += one.count;
                sum.bytes = sum.bytes.saturating_add(one.bytes);
                sum.time += one.time;
            }
        }
        let mut sites: Vec<Summary> = sites.into_values().collect();
        sites.sort_by(|one, two| two.time.cmp(&one.time).then_with(|| one.place.cmp(&two.place)));
        let mut collectives: Vec<Collective> = collectives.into_values().collect();
        collectives.sort_by_key(|one| std::cmp::Reverse(one.time));
        let sizes = sizes.into_values().collect();
        Profile { ranks, missing, sites, sizes, traffic, elsewhere, collectives }
    }

    /// The nanoseconds of all ranks together.
    pub fn run(&self) -> u64 {
        self.ranks.iter().map(Profile::time_of).sum()
    }

    /// From the first call of a rank to its last.
    pub fn time_of(rank: &Rank) -> u64 {
        rank.end.saturating_sub(rank.begin)
    }

    /// The longest run of a rank.
    pub fn longest_run(&self) -> u64 {
        self.ranks.iter().map(Profile::time_of).max().unwrap_or(0)
    }

    /// The part of the run of all ranks that a time is, from 0 to 1.
    pub fn share(&self, time: u64) -> f64 {
        if self.run() == 0 { 0.0 } else { time as f64 / self.run() as f64 }
    }

    /// The time of the rank that was longest at a site against the mean of all ranks: 1 is balanced.
    pub fn imbalance(&self, site: &Summary) -> f64 {
        if site.time == 0 { 1.0 } else { site.most as f64 * self.ranks.len() as f64 / site.time as f64 }
    }

    pub fn time_in_mpi(&self) -> u64 {
        self.sites.iter().map(|site| site.time).sum()
    }

    pub fn waited(&self) -> u64 {
        self.sites.iter().map(|site| site.waited).sum()
    }

    /// The number of the job of a process: 0, or that of a spawned job.
    pub fn job_of(&self, index: usize) -> usize {
        let mut jobs: Vec<u32> = self.ranks.iter().filter(|rank| rank.is_spawned).map(|rank| rank.job).collect();
        jobs.dedup();
        let rank = &self.ranks[index];
        if rank.is_spawned { 1 + jobs.iter().position(|job| *job == rank.job).unwrap_or(0) } else { 0 }
    }

    /// The name of a process: its rank, in spawned jobs after the number of the job.
    pub fn name_of(&self, index: usize) -> String {
        match self.job_of(index) {
            0 => self.ranks[index].rank.to_string(),
            job => format!("{job}.{}", self.ranks[index].rank),
        }
    }

    /// Calls that were not recorded.
    pub fn lost_calls(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.lost_calls).sum()
    }

    /// What is not known, as sentences.
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        if !self.missing.is_empty() {
            let (names, verb) =
                (crate::text::ranges(&self.missing), if self.missing.len() == 1 { "has" } else { "have" });
            gaps.push(format!(
                "{names} {verb} left no data: ended too early, or on a host without the folder of the job"
            ));
        }
        let open: Vec<u32> = self.ranks.iter().filter(|rank| !rank.is_finalized).map(|rank| rank.rank).collect();
        if !open.is_empty() {
            gaps.push(format!("{} ended without MPI_Finalize", crate::text::ranges(&open)));
        }
        if self.lost_calls() > 0 {
            gaps.push(format!("{} calls of too many threads were not recorded", self.lost_calls()));
        }
        gaps
    }

    /// The lines for a terminal.
    pub fn text(&self) -> Vec<String> {
        text::lines(self)
    }

    pub fn json(&self) -> String {
        json::text(self)
    }

    pub fn html(&self) -> String {
        html::text(self)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::record::{Algorithm, Peer};

    /// Two ranks: the first sends two messages to the second, and is thrice as long in the call.
    pub fn profile() -> Profile {
        let site = |time, count| Site {
            function: "MPI_Send".into(),
            position: 7,
            count,
            bytes: 40,
            time,
            waited: time / 2,
            longest: time,
            ..Site::default()
        };
        let rank = |rank, sites, peers| Rank {
            rank,
            size: 3,
            host: "<host>".into(),
            is_finalized: true,
            begin: 1_000,
            end: 2_000,
            sites,
            peers,
            sizes: vec![Size { power: 5, messages: 2, bytes: 40 }],
            algorithms: vec![Algorithm {
                function: "MPI_Bcast".into(),
                name: "a & b".into(),
                count: 1,
                bytes: 8,
                time: 5,
            }],
            ..Rank::default()
        };
        let to = |to, is_internal| Peer { to: Some(to), is_internal, messages: 2, bytes: 40 };
        let ranks = vec![
            rank(1, vec![site(100, 1)], vec![]),
            rank(0, vec![site(300, 2)], vec![to(1, false), to(1, true), to(2, false)]),
        ];
        Profile::new(ranks, |_| Place {
            line: Some(("/src/a<b>.c".into(), 9)),
            caller: Some("main".into()),
            ..Place::default()
        })
    }

    #[test]
    fn sums() {
        let profile = profile();
        assert_eq!(profile.missing, [2]);
        let [site] = &profile.sites[..] else { panic!("{:?}", profile.sites) };
        assert_eq!(
            (site.count, site.bytes, site.time, site.waited, site.longest, site.ranks),
            (3, 80, 400, 200, 300, 2)
        );
        assert_eq!(profile.imbalance(site), 1.5);
        assert_eq!(profile.share(site.time), 0.2);
        let expected = Traffic { messages: 4, bytes: 80, internal_messages: 2, internal_bytes: 40 };
        assert_eq!(profile.traffic, BTreeMap::from([((0, 1), expected)]));
        assert_eq!(profile.elsewhere.messages, 2, "to the rank that is missing");
        assert_eq!((profile.sizes[0].messages, profile.collectives[0].count), (4, 2));
        assert!(profile.gaps()[0].contains("rank 2 has left no data"), "{:?}", profile.gaps());
    }

    #[test]
    fn what_is_written_is_escaped() {
        let (json, html) = (profile().json(), profile().html());
        assert!(json.contains(r#""file": "/src/a<b>.c", "line": 9"#), "{json}");
        assert!(
            json.contains(
                r#"{"from": 0, "to": 1, "messages": 2, "bytes": 40, "library_messages": 2, "library_bytes": 40}"#
            ),
            "{json}"
        );
        assert!(html.contains("a&lt;b&gt;.c:9") && html.contains("a &amp; b") && !html.contains("<b>.c"), "{html}");
        for load in ["http", "src=", "href=\"h", "@import", "url(", "<script", "<link"] {
            assert!(!html.contains(load), "{load}");
        }
    }
}
