//! The timeline of all ranks in the trace format of Chrome, which Perfetto reads: a process for each rank, a track for each
//! thread, a slice for each call, an arrow for each message of which both ends are known.

use crate::clocks;
use crate::json::quoted;
use crate::profile::{Place, Profile};
use crate::record::{EVENT, Event, Site};
use std::collections::HashMap;
use std::io::{self, Write};

/// What became of the timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub calls: u64,
    pub arrows: u64,
    /// Events that the ranks did not keep.
    pub lost: u64,
    /// Hosts whose clocks could not be compared with that of the first one.
    pub apart: Vec<String>,
}

impl Told {
    /// What is not there, as sentences.
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        if self.lost > 0 {
            gaps.push(format!(
                "{} events of the timeline found no room, the last ones of their ranks; {}=N keeps N of each rank",
                self.lost,
                crate::record::EVENTS
            ));
        }
        if !self.apart.is_empty() {
            gaps.push(format!(
                "the clocks of {} are as they were: no messages to compare them with",
                self.apart.join(", ")
            ));
        }
        gaps
    }
}

/// The ends of a message.
#[derive(Default)]
struct Ends {
    sent: Option<(usize, u64)>,
    matched: Option<(usize, u64)>,
}

/// Writes the timeline. `events` gives the bytes of a rank's events, by its number in the profile; it is asked twice.
pub fn write(
    out: &mut impl Write,
    profile: &Profile,
    events: &dyn Fn(usize) -> Vec<u8>,
    place_of: &dyn Fn(&Site) -> Place,
) -> io::Result<Told> {
    let mut hosts: Vec<&str> = Vec::new();
    for rank in &profile.ranks {
        if !hosts.contains(&rank.host.as_str()) {
            hosts.push(&rank.host);
        }
    }
    let host_of = |index: usize| hosts.iter().position(|host| *host == profile.ranks[index].host).unwrap_or(0);
    let mut flows: HashMap<(usize, u64), Ends> = HashMap::new();
    for index in 0..profile.ranks.len() {
        let job = profile.job_of(index);
        for event in read(&events(index)) {
            match event {
                Event::Sent { at, flow, .. } => {
                    flows.entry((job, flow)).or_default().sent.get_or_insert((index, at));
                }
                Event::Matched { at, flow, .. } => {
                    flows.entry((job, flow)).or_default().matched.get_or_insert((index, at));
                }
                Event::Call { .. } => {}
            }
        }
    }
    let mut shortest = clocks::Shortest::new();
    for ends in flows.values() {
        if let (Some((from, sent)), Some((to, matched))) = (ends.sent, ends.matched)
            && host_of(from) != host_of(to)
        {
            clocks::note(&mut shortest, host_of(from), host_of(to), sent, matched);
        }
    }
    let ahead = clocks::ahead(&shortest, hosts.len());
    let apart = hosts.iter().zip(&ahead).filter(|(_, ahead)| ahead.is_none()).map(|(host, _)| host.to_string());
    let mut told = Told { apart: apart.collect(), ..Told::default() };
    told.lost = profile.ranks.iter().map(|rank| rank.lost_events).sum();
    let aligned = |index: usize, at: u64| at.wrapping_sub(ahead[host_of(index)].unwrap_or(0) as u64);
    let start = (0..profile.ranks.len()).map(|index| aligned(index, profile.ranks[index].begin)).min().unwrap_or(0);
    // Microseconds since the first call of a rank.
    let moment = |index: usize, at: u64| micros(aligned(index, at).saturating_sub(start));

    write!(out, "{{\"displayTimeUnit\": \"ns\",\n\"traceEvents\": [")?;
    let mut separator = "\n";
    for (index, rank) in profile.ranks.iter().enumerate() {
        let name = quoted(&format!("rank {} ({})", profile.name_of(index), rank.host));
        write!(
            out,
            "{separator}{{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": {index}, \"tid\": 0, \"args\": {{\"name\": {name}}}}},\n\
             {{\"ph\": \"M\", \"name\": \"process_sort_index\", \"pid\": {index}, \"tid\": 0, \"args\": {{\"sort_index\": {index}}}}}"
        )?;
        separator = ",\n";
        let names: Vec<String> = rank.sites.iter().map(|site| quoted(&place_of(site).name())).collect();
        let job = profile.job_of(index);
        for event in read(&events(index)) {
            match event {
                Event::Call { thread, site, begin, time, waited } => {
                    let Some((site, place)) = rank.sites.get(site as usize).zip(names.get(site as usize)) else {
                        continue;
                    };
                    told.calls += 1;
                    write!(
                        out,
                        "{separator}{{\"ph\": \"X\", \"name\": {}, \"cat\": \"mpi\", \"ts\": {}, \"dur\": {}, \"pid\": {index}, \
                         \"tid\": {thread}, \"args\": {{\"place\": {place}, \"waited_us\": {}}}}}",
                        quoted(&site.function),
                        moment(index, begin),
                        micros(time),
                        micros(waited)
                    )?;
                }
                Event::Sent { thread, at, flow, bytes, tag } => {
                    let ends = flows.get(&(job, flow)).filter(|ends| ends.sent == Some((index, at)));
                    if ends.is_none_or(|ends| ends.matched.is_none()) {
                        continue;
                    }
                    told.arrows += 1;
                    write!(
                        out,
                        "{separator}{{\"ph\": \"s\", \"name\": \"message\", \"cat\": \"message\", \"id\": \"{job}.{flow:x}\", \"ts\": {}, \
                         \"pid\": {index}, \"tid\": {thread}, \"args\": {{\"bytes\": {bytes}, \"tag\": {tag}}}}}",
                        moment(index, at)
                    )?;
                }
                Event::Matched { thread, at, flow, bytes, tag } => {
                    let ends = flows.get(&(job, flow)).filter(|ends| ends.matched == Some((index, at)));
                    let Some((from, sent)) = ends.and_then(|ends| ends.sent) else { continue };
                    // An arrow never goes back in time.
                    let at = aligned(index, at).max(aligned(from, sent)).saturating_sub(start);
                    write!(
                        out,
                        "{separator}{{\"ph\": \"f\", \"bp\": \"e\", \"name\": \"message\", \"cat\": \"message\", \"id\": \"{job}.{flow:x}\", \
                         \"ts\": {}, \"pid\": {index}, \"tid\": {thread}, \"args\": {{\"bytes\": {bytes}, \"tag\": {tag}}}}}",
                        micros(at)
                    )?;
                }
            }
        }
    }
    let missing: Vec<String> = profile.missing.iter().map(u32::to_string).collect();
    let apart: Vec<String> = told.apart.iter().map(|host| quoted(host)).collect();
    write!(
        out,
        "\n],\n\"otherData\": {{\"lost_events\": {}, \"missing_ranks\": [{}], \"clocks_not_compared\": [{}]}}\n}}\n",
        told.lost,
        missing.join(", "),
        apart.join(", ")
    )?;
    out.flush()?;
    Ok(told)
}

fn read(bytes: &[u8]) -> impl Iterator<Item = Event> + '_ {
    bytes.chunks_exact(EVENT).filter_map(|one| Event::from_bytes(one.try_into().ok()?))
}

fn micros(nanoseconds: u64) -> String {
    format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_have_two_ends() {
        let profile = crate::profile::tests::profile();
        let all = [
            vec![
                Event::Call { thread: 0, site: 0, begin: 1_100, time: 300, waited: 0 },
                Event::Sent { thread: 0, at: 1_200, flow: 1, bytes: 4, tag: 7 },
                Event::Sent { thread: 0, at: 1_250, flow: 2, bytes: 4, tag: 7 },
                Event::Call { thread: 0, site: 99, begin: 1_100, time: 300, waited: 0 },
            ],
            vec![
                Event::Matched { thread: 0, at: 1_150, flow: 1, bytes: 4, tag: 7 },
                Event::Matched { thread: 0, at: 1_260, flow: 3, bytes: 4, tag: 7 },
            ],
        ];
        let events = |index: usize| all[index].iter().flat_map(Event::to_bytes).collect::<Vec<u8>>();
        let mut out = Vec::new();
        let told = write(&mut out, &profile, &events, &|_| Place::default()).unwrap();
        assert_eq!((told.calls, told.arrows, told.lost), (1, 1, 0));
        let text = String::from_utf8(out).unwrap();
        assert_eq!((text.matches(r#""ph": "s""#).count(), text.matches(r#""ph": "f""#).count()), (1, 1), "{text}");
        assert!(text.contains(r#""name": "MPI_Send", "cat": "mpi", "ts": 0.100, "dur": 0.300, "pid": 0"#), "{text}");
        assert!(text.contains(r#""id": "0.1", "ts": 0.200, "pid": 1"#), "not before it was sent: {text}");
    }
}
