//! The profile for machines.

use crate::profile::Profile;
use std::fmt::Write;

/// Changes when a field changes its meaning or goes away.
const VERSION: u32 = 1;

pub fn text(profile: &Profile) -> String {
    let mut text = format!("{{\n\"version\": {VERSION},\n\"seconds\": {},\n", seconds(profile.longest_run()));
    // Writing to a string never fails.
    let missing: Vec<String> = profile.missing.iter().map(u32::to_string).collect();
    let _ = writeln!(text, "\"missing_ranks\": [{}],\n\"lost_calls\": {},", missing.join(", "), profile.lost_calls());
    let processes = profile.ranks.iter().enumerate().map(|(index, rank)| {
        let (time, waited) = rank.sites.iter().fold((0, 0), |sum, site| (sum.0 + site.time, sum.1 + site.waited));
        format!(
            "{{\"job\": {}, \"rank\": {}, \"host\": {}, \"pid\": {}, \"finalized\": {}, \"seconds\": {}, \
             \"mpi_seconds\": {}, \"waited_seconds\": {}}}",
            profile.job_of(index),
            rank.rank,
            quoted(&rank.host),
            rank.pid,
            rank.is_finalized,
            seconds(Profile::time_of(rank)),
            seconds(time),
            seconds(waited)
        )
    });
    list(&mut text, "processes", processes);
    let sites = profile.sites.iter().map(|site| {
        let (file, line) = match &site.place.line {
            Some((file, line)) => (quoted(file), line.to_string()),
            None => ("null".into(), "null".into()),
        };
        format!(
            "{{\"function\": {}, \"file\": {file}, \"line\": {line}, \"caller\": {}, \"module\": {}, \"calls\": {}, \
             \"bytes\": {}, \"seconds\": {}, \"waited_seconds\": {}, \"longest_seconds\": {}, \"share\": {:.6}, \
             \"imbalance\": {:.4}, \"ranks\": {}}}",
            quoted(&site.function),
            site.place.caller.as_deref().map_or("null".into(), quoted),
            quoted(&site.place.module),
            site.count,
            site.bytes,
            seconds(site.time),
            seconds(site.waited),
            seconds(site.longest),
            profile.share(site.time),
            profile.imbalance(site),
            site.ranks
        )
    });
    list(&mut text, "sites", sites);
    let sizes = profile.sizes.iter().map(|size| {
        let (from, to) = limits(size.power);
        format!("{{\"from\": {from}, \"to\": {to}, \"messages\": {}, \"bytes\": {}}}", size.messages, size.bytes)
    });
    list(&mut text, "message_sizes", sizes);
    let traffic = profile.traffic.iter().map(|((from, to), sum)| {
        format!(
            "{{\"from\": {from}, \"to\": {to}, \"messages\": {}, \"bytes\": {}, \"library_messages\": {}, \
             \"library_bytes\": {}}}",
            sum.messages - sum.internal_messages,
            sum.bytes - sum.internal_bytes,
            sum.internal_messages,
            sum.internal_bytes
        )
    });
    list(&mut text, "traffic", traffic);
    let collectives = profile.collectives.iter().map(|one| {
        format!(
            "{{\"function\": {}, \"algorithm\": {}, \"calls\": {}, \"bytes\": {}, \"seconds\": {}}}",
            quoted(&one.function),
            quoted(&one.algorithm),
            one.count,
            one.bytes,
            seconds(one.time)
        )
    });
    list(&mut text, "collectives", collectives);
    let _ = write!(
        text,
        "\"messages_to_other_jobs\": {}\n}}\n",
        profile.elsewhere.messages - profile.elsewhere.internal_messages
    );
    text
}

fn list(text: &mut String, name: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.collect();
    let _ = write!(text, "\"{name}\": [");
    for (index, item) in items.iter().enumerate() {
        let _ = write!(text, "{}\n  {item}", if index == 0 { "" } else { "," });
    }
    text.push_str(if items.is_empty() { "],\n" } else { "\n],\n" });
}

/// The shortest and the longest message of a group of sizes.
pub fn limits(power: u32) -> (u64, u64) {
    match power {
        0 => (0, 0),
        64.. => (1 << 63, u64::MAX),
        power => (1 << (power - 1), (1 << power) - 1),
    }
}

fn seconds(nanoseconds: u64) -> String {
    format!("{}.{:09}", nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000)
}

/// A string of JSON.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_sizes() {
        assert_eq!(quoted("a\"\\\u{1}\n"), r#""a\"\\\u0001\u000a""#);
        assert_eq!(seconds(1_000_000_005), "1.000000005");
        assert_eq!([0, 1, 2, 5].map(limits), [(0, 0), (1, 1), (2, 3), (16, 31)]);
        assert_eq!(limits(64), (1 << 63, u64::MAX));
    }
}
