//! What a rank writes about itself when it ends: a text of lines, and the events of its timeline as words. `mpirun` reads
//! them; the files may be anything, so damage is an error and nothing more.

use std::fmt::Write;

/// The environment variable with the folder in which each rank of a job leaves its files.
pub const FOLDER: &str = "OXMPI_PROFILE_FOLDER";
/// The environment variable with the number of events that a rank keeps for the timeline.
pub const EVENTS: &str = "OXMPI_TRACE_EVENTS";
/// Events where the variable says nothing.
pub const MOST_EVENTS: u64 = 200_000;
/// The first word of a file.
const HEAD: &str = "oxmpi-record 1";

/// A rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    pub rank: u32,
    pub size: u32,
    /// The process that started it, and whether other ranks had asked for it.
    pub job: u32,
    pub is_spawned: bool,
    pub host: String,
    pub pid: u32,
    /// It has called `MPI_Finalize`, or closed its last session.
    pub is_finalized: bool,
    /// From its first call to its last, in nanoseconds since 1970.
    pub begin: u64,
    pub end: u64,
    pub sites: Vec<Site>,
    pub peers: Vec<Peer>,
    pub sizes: Vec<Size>,
    pub algorithms: Vec<Algorithm>,
    /// Calls that were not recorded, because there were too many places or threads.
    pub lost_calls: u64,
    /// Events that found no room.
    pub lost_events: u64,
}

/// A place in the program that calls one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    pub function: String,
    /// The file of the code, its inode, and the position in it.
    pub module: String,
    pub inode: u64,
    pub position: u64,
    pub count: u64,
    pub bytes: u64,
    /// Nanoseconds.
    pub time: u64,
    pub waited: u64,
    pub longest: u64,
}

/// Messages to a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// `None`: to processes of other jobs.
    pub to: Option<u32>,
    /// Sent by the library for collective operations and the like.
    pub is_internal: bool,
    pub messages: u64,
    pub bytes: u64,
}

/// Messages of the program that are shorter than `1 << power`, and not shorter than half of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub power: u32,
    pub messages: u64,
    pub bytes: u64,
}

/// A collective operation and how it was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Algorithm {
    pub function: String,
    pub name: String,
    pub count: u64,
    pub bytes: u64,
    pub time: u64,
}

/// A moment of the timeline; times are nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A call at a site, by its number in the record.
    Call {
        thread: u8,
        site: u32,
        begin: u64,
        time: u64,
        waited: u64,
    },
    /// A message was sent, or has matched a receive. Both ends make the same number of it.
    Sent {
        thread: u8,
        at: u64,
        flow: u64,
        bytes: u64,
        tag: i32,
    },
    Matched {
        thread: u8,
        at: u64,
        flow: u64,
        bytes: u64,
        tag: i32,
    },
}

/// Bytes of an event in the file.
pub const EVENT: usize = 40;

impl Event {
    pub fn to_bytes(&self) -> [u8; EVENT] {
        let words = match *self {
            Event::Call { thread, site, begin, time, waited } => [u64::from(thread), begin, time, waited, site.into()],
            Event::Sent { thread, at, flow, bytes, tag } => {
                [1 << 8 | u64::from(thread), at, flow, bytes, u64::from(tag as u32)]
            }
            Event::Matched { thread, at, flow, bytes, tag } => {
                [2 << 8 | u64::from(thread), at, flow, bytes, u64::from(tag as u32)]
            }
        };
        let mut bytes = [0; EVENT];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    pub fn from_bytes(bytes: &[u8; EVENT]) -> Option<Event> {
        let mut words = [0; EVENT / 8];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = bytes.try_into().map(u64::from_le_bytes).ok()?;
        }
        let [kind, at, two, three, last] = words;
        let (thread, tag) = (kind as u8, last as u32 as i32);
        match kind >> 8 {
            0 => Some(Event::Call { thread, site: last as u32, begin: at, time: two, waited: three }),
            1 => Some(Event::Sent { thread, at, flow: two, bytes: three, tag }),
            2 => Some(Event::Matched { thread, at, flow: two, bytes: three, tag }),
            _ => None,
        }
    }
}

impl Rank {
    /// The names of its two files.
    pub fn file_name(job: u32, rank: u32) -> String {
        format!("{job}-{rank}.record")
    }

    pub fn events_name(job: u32, rank: u32) -> String {
        format!("{job}-{rank}.events")
    }

    pub fn to_text(&self) -> String {
        let mut text = format!("{HEAD}\n");
        // Writing to a string never fails.
        let _ = writeln!(
            text,
            "rank\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
            self.rank,
            self.size,
            self.job,
            u8::from(self.is_spawned),
            plain(&self.host),
            self.pid,
            u8::from(self.is_finalized),
            self.begin,
            self.end,
            self.lost_calls,
            self.lost_events
        );
        for site in &self.sites {
            let Site { function, module, inode, position, count, bytes, time, waited, longest } = site;
            let (function, module) = (plain(function), plain(module));
            let _ = writeln!(
                text,
                "site\t{function}\t{module}\t{inode}\t{position}\t{count}\t{bytes}\t{time}\t{waited}\t{longest}"
            );
        }
        for Peer { to, is_internal, messages, bytes } in &self.peers {
            let to = to.map_or("-".into(), |to| to.to_string());
            let _ = writeln!(text, "peer\t{to}\t{}\t{messages}\t{bytes}", u8::from(*is_internal));
        }
        for Size { power, messages, bytes } in &self.sizes {
            let _ = writeln!(text, "size\t{power}\t{messages}\t{bytes}");
        }
        for Algorithm { function, name, count, bytes, time } in &self.algorithms {
            let (function, name) = (plain(function), plain(name));
            let _ = writeln!(text, "algorithm\t{function}\t{name}\t{count}\t{bytes}\t{time}");
        }
        text.push_str("end\n");
        text
    }

    /// `None` for a file that no rank has written to its end.
    pub fn from_text(text: &str) -> Option<Rank> {
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return None;
        }
        let mut record = Rank::default();
        for line in lines {
            let words: Vec<&str> = line.split('\t').collect();
            let number = |index: usize| words.get(index)?.parse::<u64>().ok();
            let short = |index: usize| words.get(index)?.parse::<u32>().ok();
            let word = |index: usize| words.get(index).map(|word| word.to_string());
            match words[0] {
                "rank" => {
                    record = Rank {
                        rank: short(1)?,
                        size: short(2)?,
                        job: short(3)?,
                        is_spawned: number(4)? != 0,
                        host: word(5)?,
                        pid: short(6)?,
                        is_finalized: number(7)? != 0,
                        begin: number(8)?,
                        end: number(9)?,
                        lost_calls: number(10)?,
                        lost_events: number(11)?,
                        ..record
                    };
                }
                "site" => record.sites.push(Site {
                    function: word(1)?,
                    module: word(2)?,
                    inode: number(3)?,
                    position: number(4)?,
                    count: number(5)?,
                    bytes: number(6)?,
                    time: number(7)?,
                    waited: number(8)?,
                    longest: number(9)?,
                }),
                "peer" => record.peers.push(Peer {
                    to: if words.get(1) == Some(&"-") { None } else { Some(short(1)?) },
                    is_internal: number(2)? != 0,
                    messages: number(3)?,
                    bytes: number(4)?,
                }),
                "size" => record.sizes.push(Size { power: short(1)?, messages: number(2)?, bytes: number(3)? }),
                "algorithm" => record.algorithms.push(Algorithm {
                    function: word(1)?,
                    name: word(2)?,
                    count: number(3)?,
                    bytes: number(4)?,
                    time: number(5)?,
                }),
                "end" => return (record.rank < record.size).then_some(record),
                _ => return None,
            }
        }
        None
    }
}

/// A word of a line.
fn plain(text: &str) -> String {
    text.replace(|c: char| c.is_control(), "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_back() {
        let site = Site { function: "MPI_Send".into(), module: "/a b".into(), count: 3, ..Site::default() };
        let record = Rank {
            rank: 1,
            size: 2,
            host: "node".into(),
            sites: vec![site],
            sizes: vec![Size { power: 4, messages: 5, bytes: 6 }],
            algorithms: vec![Algorithm { function: "f".into(), name: "n".into(), ..Algorithm::default() }],
            peers: vec![Peer { to: Some(0), ..Peer::default() }, Peer { to: None, ..Peer::default() }],
            ..Rank::default()
        };
        let text = record.to_text();
        assert_eq!(Rank::from_text(&text), Some(record));
        assert_eq!(Rank::from_text(text.trim_end_matches("end\n")), None, "it was cut off");
        assert_eq!(Rank::from_text(""), None);
        assert_eq!(Rank::from_text("oxmpi-record 1\nrank\tx\nend\n"), None);
        assert_eq!(Rank::from_text("oxmpi-record 1\nend\n"), None, "no rank");
    }

    #[test]
    fn events_are_read_back() {
        let all = [
            Event::Call { thread: 3, site: 9, begin: 1, time: 2, waited: 1 },
            Event::Sent { thread: 0, at: 5, flow: 6, bytes: 7, tag: -1 },
            Event::Matched { thread: 255, at: 5, flow: 6, bytes: 7, tag: 40 },
        ];
        for event in all {
            assert_eq!(Event::from_bytes(&event.to_bytes()), Some(event));
        }
        assert_eq!(Event::from_bytes(&[255; EVENT]), None);
    }
}
