//! For `--check`: collective calls on files, their arguments, and buffers of accesses. Writes of several processes to the same
//! bytes of a file: each process remembers what it has written since the last synchronisation; at the next one they tell each
//! other.

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

/// A process that has written more separate ranges is not compared.
const MOST_RANGES: usize = 16;

/// A process writes so many bytes of the file at an offset of its view.
#[cold]
pub(super) fn note_write(guard: &mut Guard, access: &Access, view: &View, start: i64, bytes: usize) {
    let Ok(file) = guard.file_mut(access.fh) else { return };
    // Accesses at the shared file pointer never meet; in atomic mode one comes after the other.
    if !access.writes || file.atomic || bytes == 0 || !matches!(access.at, At::Offset(_) | At::Own) {
        return;
    }
    let range = match view.byte_offset(start).map(u64::try_from) {
        Ok(Ok(from)) if view.is_dense() => from..from.saturating_add(bytes as u64),
        // Pieces with gaps are not followed.
        _ => return,
    };
    if let Some(written) = &mut file.written {
        add(written, range);
        if written.len() > MOST_RANGES {
            file.written = None;
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

/// What all processes have written since the last synchronisation is compared. Collective.
#[cold]
pub(super) fn compare_writes(call: &Call, guard: &mut Guard, fh: Handle) {
    let Ok(file) = guard.file_mut(fh) else { return };
    let own = file.written.replace(Vec::new()).unwrap_or_default();
    let (name, rank) = (file.describe(), file.comm.rank as usize);
    let mut words = [0; 2 * MOST_RANGES];
    for (pair, range) in words.chunks_exact_mut(2).zip(&own) {
        pair.copy_from_slice(&[range.start, range.end]);
    }
    // Without an answer there is nothing to compare.
    let Ok(all) = gather(call, guard, Among::File(fh), words) else { return };
    for (other, words) in all.iter().enumerate().skip(rank + 1) {
        let clash = own.iter().find_map(|own| {
            let common = |pair: &[u64]| own.start.max(pair[0])..own.end.min(pair[1]);
            words.chunks_exact(2).map(common).find(|common| common.start < common.end)
        });
        if let Some(Range { start, end }) = clash {
            let what = format!("bytes {start} to {end} of {name}");
            check::tell_common_writes(guard.engine.node(), &format!("{what} were also written by rank {other}"));
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
