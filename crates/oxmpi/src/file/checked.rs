//! For `--check`: buffers of accesses to files, and what one process writes and another one writes or reads: each remembers
//! what it has used since the last synchronisation; at the next one they tell each other.

use super::access::{Access, At};
use super::agree::{Among, gather};
use oxmpi_abi::handle::File as Handle;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check;
use oxmpi_core::check::buffers::Use;
use oxmpi_core::check::catalogue::{FILE_SPLIT, FILE_VIEW, REQ_ACTIVE};
use oxmpi_core::file::SplitAccess;
use oxmpi_core::request::{Active, Body};
use oxmpi_datatype::{Datatype as Type, Source};
use oxmpi_io::View;
use std::ops::Range;
use std::sync::Arc;

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
const MOST_RANGES: usize = 32;

/// A process writes or reads so many bytes of the file at an offset of its view.
#[cold]
pub(super) fn note_access(guard: &mut Guard, access: &Access, view: &View, start: i64, bytes: usize) {
    let Ok(file) = guard.file_mut(access.fh) else { return };
    // Accesses at the shared file pointer never meet; in atomic mode one comes after the other.
    // Where a barrier lies between them, reads and writes of other processes work although the standard wants more.
    let is_compared = access.writes || check::is_strict();
    if let (At::Shared | At::Ordered, Some(other)) = (&access.at, file.other_view.take()) {
        let text = format!(
            "an access at the shared file pointer of {}, while this rank has another view of the file than rank {other}",
            file.describe()
        );
        return check::tell(guard.engine.node(), &FILE_VIEW, text);
    }
    if !is_compared || file.atomic || bytes == 0 || !matches!(access.at, At::Offset(_) | At::Own) {
        return;
    }
    let used = if access.writes { &mut file.written } else { &mut file.read };
    if let Some(ranges) = used {
        let is_whole = view.pieces(start, bytes, MOST_RANGES, |range| add(ranges, range));
        if !is_whole || ranges.len() > MOST_RANGES {
            *used = None;
        }
    }
}

/// All processes have set their views. Collective.
#[cold]
pub(super) fn compare_views(call: &Call, guard: &mut Guard, fh: Handle) {
    let Ok(file) = guard.file(fh) else { return };
    let view = &file.view;
    let shape = |of: &Arc<Type>| of.classes().whole().map_or(0, |hash| hash | 1).wrapping_add(of.extent() as u64);
    // A filetype without gaps shows all bytes, however it is made.
    let gaps = if view.is_dense() { 0 } else { shape(&view.filetype) };
    let own = [view.disp as u64, view.etype.extent() as u64, gaps];
    let Ok(all) = gather(call, guard, Among::File(fh), own) else { return };
    if let Ok(file) = guard.file_mut(fh) {
        file.other_view = all.iter().position(|theirs| *theirs != own);
    }
}

/// A split collective access ends with another buffer than it has begun with.
#[cold]
pub(super) fn tell_other_buffer(call: &Call, guard: &Guard, fh: Handle, split: SplitAccess) {
    let Ok(file) = guard.file(fh) else { return };
    let text = format!("{} on {} with another buffer than {}_begin", call.fun.name(), file.describe(), split.name());
    check::tell(guard.engine.node(), &FILE_SPLIT, text);
}

/// A file is about to be closed.
#[cold]
pub(super) fn tell_open_requests(guard: &Guard, fh: Handle) {
    let Ok(file) = guard.file(fh) else { return };
    let of_file = |body: &Body| matches!(body, Body::Once(Active::File(access)) if access.file == fh);
    let handles = guard.requests.iter().filter(|(_, request)| of_file(&request.body)).map(|(handle, _)| handle);
    for handle in handles.collect::<Vec<usize>>() {
        let fun = check::origins::of(handle).map_or("an access", |origin| origin.fun.name());
        let text = format!("MPI_File_close of {} while the request of {fun} is not complete", file.describe());
        check::tell(guard.engine.node(), &REQ_ACTIVE, text);
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
