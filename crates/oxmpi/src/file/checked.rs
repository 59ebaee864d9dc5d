//! For `--check`: buffers of accesses to files, and what one process writes and another one writes or reads: each remembers
//! what it has used since the last synchronisation; at the next one they tell each other.

use super::access::{Access, At};
use super::agree::{Among, gather};
use oxmpi_abi::handle::File as Handle;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check;
use oxmpi_core::check::buffers::Use;
use oxmpi_datatype::Source;
use oxmpi_io::View;
use std::ops::Range;

/// An access is about to use its buffer.
///
/// # Safety
/// The program keeps the buffer until the access is complete.
#[cold]
pub(super) unsafe fn propose(call: &Call, guard: &mut Guard, access: &Access, stays: bool) {
    let Ok(buffer) = guard.buffer(access.buf.cast::<u8>(), access.count, access.datatype) else { return };
    // SAFETY: this function's own condition.
    let buffer = unsafe { Source::new(buffer) };
    let one = if access.writes { Use::reads(call.fun, buffer) } else { Use::writes(call.fun, buffer) };
    guard.propose_buffers(vec![one], stays);
}

/// A process that has used more separate ranges is not compared.
const MOST_RANGES: usize = 16;

/// A process writes or reads so many bytes of the file at an offset of its view.
#[cold]
pub(super) fn note_access(guard: &mut Guard, access: &Access, view: &View, start: i64, bytes: usize) {
    let Ok(file) = guard.file_mut(access.fh) else { return };
    // Accesses at the shared file pointer never meet; in atomic mode one comes after the other.
    // Where a barrier lies between them, reads and writes of other processes work although the standard wants more.
    let is_compared = access.writes || check::is_strict();
    if !is_compared || file.atomic || bytes == 0 || !matches!(access.at, At::Offset(_) | At::Own) {
        return;
    }
    let range = match view.byte_offset(start).map(u64::try_from) {
        Ok(Ok(from)) if view.is_dense() => from..from.saturating_add(bytes as u64),
        // Pieces with gaps are not followed.
        _ => return,
    };
    let used = if access.writes { &mut file.written } else { &mut file.read };
    if let Some(ranges) = used {
        add(ranges, range);
        if ranges.len() > MOST_RANGES {
            *used = None;
        }
    }
}

/// Adds a range to others, which do not touch each other.
fn add(all: &mut Vec<Range<u64>>, mut new: Range<u64>) {
    all.retain(|old| {
        let touches = old.start <= new.end && new.start <= old.end;
        if touches {
            new = old.start.min(new.start)..old.end.max(new.end);
        }
        !touches
    });
    all.push(new);
}

/// What all processes have written and read since the last synchronisation is compared. Collective.
#[cold]
pub(super) fn compare_accesses(call: &Call, guard: &mut Guard, fh: Handle) {
    let Ok(file) = guard.file_mut(fh) else { return };
    let written = file.written.replace(Vec::new()).unwrap_or_default();
    let read = file.read.replace(Vec::new()).unwrap_or_default();
    let (name, rank) = (file.describe(), file.comm.rank as usize);
    let mut words = [0; 4 * MOST_RANGES];
    let (first, second) = words.split_at_mut(2 * MOST_RANGES);
    for (words, ranges) in [(first, &written), (second, &read)] {
        for (pair, range) in words.chunks_exact_mut(2).zip(ranges) {
            pair.copy_from_slice(&[range.start, range.end]);
        }
    }
    // Without an answer there is nothing to compare.
    let Ok(all) = gather(call, guard, Among::File(fh), words) else { return };
    for (other, words) in all.iter().enumerate().filter(|(other, _)| *other != rank) {
        let (theirs, seen) = words.split_at(2 * MOST_RANGES);
        let clash = |words: &[u64]| {
            written.iter().find_map(|own| {
                let common = |pair: &[u64]| own.start.max(pair[0])..own.end.min(pair[1]);
                words.chunks_exact(2).map(common).find(|common| common.start < common.end)
            })
        };
        // Each pair of writes is told once, by the lower rank.
        let found = clash(theirs).filter(|_| other > rank).map(|range| (range, "written"));
        if let Some((Range { start, end }, what)) = found.or_else(|| clash(seen).map(|range| (range, "read"))) {
            let text = format!(
                "bytes {start} to {end} of {name}, which this rank has written, were also {what} by rank {other}"
            );
            check::tell_common_writes(guard.engine.node(), &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined() {
        let mut all = Vec::new();
        for range in [10..20, 40..50, 20..25, 0..5] {
            add(&mut all, range);
        }
        all.sort_by_key(|range| range.start);
        assert_eq!(all, [0..5, 10..25, 40..50]);
        add(&mut all, 4..45);
        assert_eq!((all.len(), all[0].clone()), (1, 0..50));
    }
}
