//! Agreements between the processes of a file.

use crate::comm::{own_peer, run_agreement};
use oxmpi_abi::constants::{MPI_ERR_NOT_SAME, MPI_ERRORS_RETURN};
use oxmpi_abi::handle::{Comm, File as Handle};
use oxmpi_abi::{Error, Result, bail};
use oxmpi_core::agreement::Participants;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check;

/// The participants: the processes of a communicator, or those that have a file open.
#[derive(Clone, Copy)]
pub enum Among {
    Comm(Comm),
    File(Handle),
}

pub(super) fn participants(guard: &mut Guard, among: Among) -> Result<Participants> {
    let own = own_peer(guard);
    match among {
        Among::Comm(comm) => guard.comm_mut(comm)?.participants(own),
        Among::File(fh) => guard.file_mut(fh)?.comm.participants(own),
    }
}

/// The words of each process.
pub fn gather<const N: usize>(call: &Call, guard: &mut Guard, among: Among, words: [u64; N]) -> Result<Vec<[u64; N]>> {
    let participants = participants(guard, among)?;
    let all = run_agreement(call, guard, |io| async move { io.gather(&participants, &words).await })?;
    Ok(all.chunks_exact(N).map(|words| std::array::from_fn(|index| words[index])).collect())
}

/// The words of the first process.
pub fn tell<const N: usize>(call: &Call, guard: &mut Guard, among: Among, mut words: [u64; N]) -> Result<[u64; N]> {
    let participants = participants(guard, among)?;
    run_agreement(call, guard, |io| async move {
        io.tell(&participants, &mut words).await?;
        Ok(words)
    })
}

/// The shared file pointer, as the first process read it; all fail if that one could not.
pub fn tell_pointer(call: &Call, guard: &mut Guard, among: Among, found: Result<i64>) -> Result<i64> {
    let class = found.as_ref().err().map_or(0, Error::class);
    let position = *found.as_ref().unwrap_or(&0) as u64;
    let [position, class] = tell(call, guard, among, [position, class as u32 as u64])?;
    found?;
    if class != 0 {
        bail!(class as i32, "rank 0 cannot use the shared file pointer; its error there says why");
    }
    Ok(position as i64)
}

/// All processes exchange their results and arguments: if one has failed, all fail, and also if
/// their arguments differ. Once in each call that has such arguments.
pub fn agree<T, const N: usize>(
    call: &Call,
    guard: &mut Guard,
    among: Among,
    own: Result<T>,
    same: [(&str, u64); N],
) -> Result<T> {
    if let (Among::File(fh), 1..) = (among, N) {
        note_call(call, guard, fh);
    }
    let class = own.as_ref().err().map_or(0, Error::class);
    let classes = gather(call, guard, among, [class as u32 as u64])?;
    let own = own?;
    if let Some(rank) = classes.iter().position(|class| class[0] != 0) {
        let class = classes[rank][0] as i32;
        bail!(class, "the call failed on rank {rank}; its error there says why");
    }
    if N > 0 {
        let given = gather(call, guard, among, same.map(|(_, value)| value))?;
        for (index, (name, value)) in same.into_iter().enumerate() {
            if let Some(rank) = given.iter().position(|words| words[index] != value) {
                tell_difference(call, guard, among, rank, name);
                bail!(MPI_ERR_NOT_SAME, "rank {rank} passed another {name} than this rank");
            }
        }
    }
    Ok(own)
}

/// A collective call on a file, which the other processes make too.
pub(super) fn note_call(call: &Call, guard: &mut Guard, fh: Handle) {
    if check::is_on() {
        guard.note_file_call(fh, call.fun);
    }
}

/// A process passes another value than the first one, which tells it. Errors of files are returned to the program, which often
/// does not look.
#[cold]
fn tell_difference(call: &Call, guard: &Guard, among: Among, rank: usize, name: &str) {
    let (own, handler) = match among {
        Among::Comm(comm) => (guard.comm(comm).map(|comm| comm.rank), *call.library().file_errhandler()),
        Among::File(fh) => match guard.file(fh) {
            Ok(file) => (Ok(file.comm.rank), file.errhandler),
            Err(_) => return,
        },
    };
    if check::is_on() && own == Ok(0) && handler == MPI_ERRORS_RETURN {
        let text = format!("rank {rank} passes another {name} to {} than rank 0", call.fun.name());
        check::tell_other_argument(guard.engine.node(), text);
    }
}
