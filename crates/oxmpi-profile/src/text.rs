//! The profile for a terminal, and numbers for people.

use crate::profile::Profile;

/// Places that are told.
const TOP: usize = 10;

pub fn lines(profile: &Profile) -> Vec<String> {
    let ranks = profile.ranks.len();
    let mut lines = vec![format!(
        "profile of {ranks} {}: {} in all, {:.1} % of the time in MPI, {:.1} % waiting there",
        if ranks == 1 { "rank" } else { "ranks" },
        seconds(profile.longest_run()),
        100.0 * profile.share(profile.time_in_mpi()),
        100.0 * profile.share(profile.waited())
    )];
    lines.extend(profile.gaps());
    let head = ["% run", "time", "waited", "imbalance", "calls", "bytes", "call", "place"].map(String::from);
    let rows = profile.sites.iter().take(TOP).map(|site| {
        [
            format!("{:.1}", 100.0 * profile.share(site.time)),
            seconds(site.time),
            format!("{:.0} %", 100.0 * site.waited as f64 / site.time.max(1) as f64),
            format!("{:.2}", profile.imbalance(site)),
            site.count.to_string(),
            bytes(site.bytes),
            site.function.clone(),
            site.place.name(),
        ]
    });
    let rows: Vec<[String; 8]> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..8).map(width).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            6 | 7 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        lines.push(cells.collect::<Vec<_>>().join("  ").trim_end().to_string());
    }
    if profile.sites.len() > TOP {
        lines
            .push(format!("{} more places are in the file of --profile=FILE.html or .json", profile.sites.len() - TOP));
    }
    lines
}

/// A time in words.
pub fn seconds(nanoseconds: u64) -> String {
    let seconds = nanoseconds as f64 * 1e-9;
    match nanoseconds {
        0..1_000_000 => format!("{:.1} us", seconds * 1e6),
        1_000_000..1_000_000_000 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

/// A number of bytes in words.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{:.1} kB", bytes as f64 * 1e-3),
        10_000_000..10_000_000_000 => format!("{:.1} MB", bytes as f64 * 1e-6),
        _ => format!("{:.1} GB", bytes as f64 * 1e-9),
    }
}

/// `rank 3`, `ranks 0,1,4-7`.
pub fn ranges(ranks: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(rank) => *last = rank,
            _ => ranges.push((rank, rank)),
        }
    }
    let range = |&(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    let word = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{word} {}", ranges.iter().map(range).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_the_places() {
        let lines = lines(&crate::profile::tests::profile());
        assert!(
            lines[0].starts_with("profile of 2 ranks: 1.0 us in all, 20.0 % of the time in MPI, 10.0 % waiting"),
            "{lines:?}"
        );
        let last = lines.last().map(String::as_str);
        assert_eq!(
            last,
            Some(" 20.0  0.4 us    50 %       1.50      3   80 B  MPI_Send  a<b>.c:9 in main"),
            "{lines:?}"
        );
    }

    #[test]
    fn numbers_in_words() {
        assert_eq!(ranges(&[0, 1, 2, 5]), "ranks 0-2,5");
        assert_eq!(ranges(&[7]), "rank 7");
        assert_eq!((bytes(9_999), bytes(12_345)), ("9999 B".into(), "12.3 kB".into()));
        assert_eq!(
            (seconds(1_500), seconds(2_000_000), seconds(3_000_000_000)),
            ("1.5 us".into(), "2.00 ms".into(), "3.00 s".into())
        );
    }
}
