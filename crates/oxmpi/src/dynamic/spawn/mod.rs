//! Starting processes: the root of `MPI_Comm_spawn` opens a port, starts OxMPI's own `mpirun` for
//! the new job, and its group accepts the children, which connect in `MPI_Init`.
//!
//! Only the root knows what to spawn and whether that works; it tells the others before each
//! attempt, so that no process waits for children that will not come. `oxmpi_boot::spawned`
//! describes the protocol.

mod orders;
pub(super) mod orphan;
mod soft;

use super::ports;
use crate::comm;
use crate::ft;
use orders::Orders;
use orphan::Child;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Comm;
use oxmpi_abi::{Error, Result};
use oxmpi_base::trust;
use oxmpi_boot::env;
use oxmpi_boot::spawned::Kind;
use oxmpi_core::agreement::{AgreementIo, Participants};
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::contexts;
use oxmpi_core::info::Info;
use oxmpi_core::ranks::Ranks;

/// One command, as the program wants it started.
pub struct Program {
    pub command: Vec<u8>,
    pub arguments: Vec<Vec<u8>>,
    /// `maxprocs`.
    pub most: usize,
    pub info: Info,
}

/// The requested and the started number of processes of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    pub most: usize,
    pub spawned: usize,
}

/// The result of a spawn.
pub struct Spawned {
    pub intercomm: Comm,
    pub counts: Vec<Count>,
}

/// Why a spawn failed, and the requested number of processes, if it is known.
#[derive(Clone)]
pub struct Refusal {
    pub error: Error,
    pub most: usize,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal { error, most: 0 }
    }
}

/// Spawns. Collective over the intracommunicator; `wanted` is significant only at the root. An
/// error at the root is an error on all processes.
pub fn spawn(
    call: &Call,
    guard: &mut Guard,
    comm: Comm,
    root: usize,
    wanted: Option<Result<Vec<Program>>>,
) -> Result<Spawned, Refusal> {
    let mut orders = wanted.map(orders);
    loop {
        let attempt = orders.as_mut().map(|orders| match orders {
            Ok(orders) => Attempt::begin(call, guard, orders).map_err(|error| Refusal { error, most: orders.most() }),
            Err(refusal) => Err(refusal.clone()),
        });
        let announced = announce(call, guard, comm, root, attempt.as_ref());
        let counts = ft::all_or_none(call, guard, comm, announced, |_, _| Ok(()))?;
        if counts.iter().all(|count| count.spawned == 0) {
            return Ok(Spawned { intercomm: empty_remote_group(call, guard, comm)?, counts });
        }
        let mut attempt = attempt.and_then(Result::ok);
        match accept(call, guard, comm, root, attempt.as_mut()) {
            Ok(intercomm) => {
                let children = guard.comm(intercomm)?.group.clone();
                guard.add_children(&children);
                return Ok(Spawned { intercomm, counts });
            }
            // The root decides whether fewer processes are acceptable, and tells the others, or why
            // not.
            Err(error) => {
                if let (Some(attempt), Some(Ok(known))) = (&attempt, &mut orders)
                    && !known.retry(attempt.child.as_ref().map_or(0, Child::started))
                {
                    let most = known.most();
                    orders = Some(Err(Refusal { error, most }));
                }
            }
        }
    }
}

fn orders(wanted: Result<Vec<Program>>) -> Result<Orders, Refusal> {
    let wanted = wanted?;
    let most = wanted.iter().map(|program| program.most).sum();
    Orders::new(wanted).map_err(|error| Refusal { error, most })
}

/// The state of the root in one attempt.
struct Attempt {
    counts: Vec<Count>,
    port: String,
    /// `None` when there is no process to start.
    child: Option<Child>,
}

impl Attempt {
    fn begin(call: &Call, guard: &mut Guard, orders: &Orders) -> Result<Attempt> {
        let counts = orders.counts();
        if counts.iter().all(|count| count.spawned == 0) {
            return Ok(Attempt { counts, port: String::new(), child: None });
        }
        if let Some(launcher) = guard.launcher.as_ref().filter(|_| guard.is_managed) {
            let text = format!(
                "this job was started by {launcher}, which OxMPI cannot ask for more processes; start the job with OxMPI's \
                 own mpirun to spawn"
            );
            return Err(Error::new(MPI_ERR_SPAWN, text));
        }
        // Children of a job that has other hosts may be there.
        let for_other_hosts = trust::text(env::SPAWN).is_some_and(|text| text.contains("--spawn-hosts"));
        let port = ports::open_port(call, guard, for_other_hosts)?;
        let kind = if guard.appnum.is_some() { Kind::Rank } else { Kind::Alone };
        match Child::start(&port, kind, &orders.words()) {
            Ok(child) => Ok(Attempt { counts, port, child: Some(child) }),
            Err(error) => {
                ports::close_port(guard, &port)?;
                Err(error)
            }
        }
    }
}

/// Waits for the children.
fn accept(call: &Call, guard: &mut Guard, comm: Comm, root: usize, attempt: Option<&mut Attempt>) -> Result<Comm> {
    let Some(Attempt { port, child: Some(child), .. }) = attempt else {
        return ports::accept(call, guard, "", comm, root, &mut || Ok(()));
    };
    let accepted = ports::accept(call, guard, port, comm, root, &mut || child.check());
    if accepted.is_ok() {
        child.take();
    }
    ports::close_port(guard, port)?;
    accepted
}

/// An intercommunicator with an empty remote group, when no processes were requested.
fn empty_remote_group(call: &Call, guard: &mut Guard, comm: Comm) -> Result<Comm> {
    let own = comm::own_peer(guard);
    let participants = guard.comm_mut(comm)?.participants(own)?;
    let group = guard.comm(comm)?.group.clone();
    let context = comm::run_agreement(call, guard, |io| contexts::agree(io, participants, 0))?;
    comm::add(guard, comm, context, Ranks::from_list(Vec::new()), Some(group))
}

/// In the children's `MPI_Init`: connects to the processes that spawned this one, if any.
pub fn join_parents(call: &Call) -> Result<()> {
    let mut guard = call.enter_world()?;
    let Some(port) = guard.parent_port.take() else { return Ok(()) };
    guard.join_parents(&port);
    // All processes of the job arrive before the first one connects: if one does not, the parents
    // still listen to `mpirun`, which reports it.
    let own = comm::own_peer(&guard);
    let participants = guard.comm_mut(MPI_COMM_WORLD)?.participants(own)?;
    comm::run_agreement(call, &mut guard, |io| async move { io.all(&participants, true).await })?;
    // If they do not wait any more, `mpirun` ends this process.
    let parent = ports::connect(call, &mut guard, &port, MPI_COMM_WORLD, 0, None)?;
    guard.comm_mut(parent)?.name = b"MPI_COMM_PARENT".to_vec();
    guard.parent = parent;
    Ok(())
}

// ---- messages of the root to its group ----

const GOING: u64 = 0;
const FAILED: u64 = 1;

/// Tells all processes what the root is about to do, or why it is not.
fn announce(
    call: &Call,
    guard: &mut Guard,
    comm: Comm,
    root: usize,
    attempt: Option<&Result<Attempt, Refusal>>,
) -> Result<Vec<Count>, Refusal> {
    let own = comm::own_peer(guard);
    let participants = guard.comm_mut(comm)?.participants(own)?.led_by(root);
    let words = attempt.map(|attempt| match attempt {
        Ok(attempt) => going(&attempt.counts),
        Err(refusal) => failed(refusal),
    });
    let heard = comm::run_agreement(call, guard, |io| tell(io, participants, words))?;
    match (heard.split_first(), attempt) {
        (_, Some(Err(refusal))) => Err(refusal.clone()),
        (Some((&GOING, counts)), _) => {
            Ok(counts.chunks_exact(2).map(|pair| Count { most: pair[0] as usize, spawned: pair[1] as usize }).collect())
        }
        (Some((_, rest)), _) => Err(failure(rest, root)),
        (None, _) => unreachable!("there is always a first word"),
    }
}

/// Broadcasts a list whose length only the first member knows.
async fn tell(io: AgreementIo, participants: Participants, words: Option<Vec<u64>>) -> Result<Vec<u64>> {
    let mut length = [words.as_ref().map_or(0, |words| words.len() as u64)];
    io.tell(&participants, &mut length).await?;
    let mut words = words.unwrap_or_else(|| vec![0; length[0] as usize]);
    io.tell(&participants, &mut words).await?;
    Ok(words)
}

fn going(counts: &[Count]) -> Vec<u64> {
    let pairs = counts.iter().flat_map(|count| [count.most as u64, count.spawned as u64]);
    [GOING].into_iter().chain(pairs).collect()
}

/// The requested number of processes, the error class, the length of the text, and the text, eight
/// bytes per word.
fn failed(refusal: &Refusal) -> Vec<u64> {
    let (class, text) = (refusal.error.class(), refusal.error.text().as_bytes());
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_ne_bytes(word)
    };
    let head = [FAILED, refusal.most as u64, class as u64, text.len() as u64];
    head.into_iter().chain(text.chunks(8).map(word)).collect()
}

fn failure(words: &[u64], root: usize) -> Refusal {
    let mut bytes: Vec<u8> = words[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    bytes.truncate(words[2] as usize);
    let text = String::from_utf8_lossy(&bytes);
    let error = Error::new(words[1] as i32, format!("rank {root}, the root, could not spawn: {text}"));
    Refusal { error, most: words[0] as usize }
}

/// The code of each requested process: success, or `missing` for those that were not started.
pub fn codes(counts: &[Count], missing: i32) -> impl Iterator<Item = i32> + '_ {
    let of =
        move |&Count { most, spawned }: &Count| (0..most).map(move |n| if n < spawned { MPI_SUCCESS } else { missing });
    counts.iter().flat_map(of)
}

/// The error for processes that were requested and not started.
pub fn shortage(counts: &[Count]) -> Option<Error> {
    let sum = |of: fn(&Count) -> usize| counts.iter().map(of).sum::<usize>();
    let (most, spawned) = (sum(|count| count.most), sum(|count| count.spawned));
    let text = format!("{spawned} of {most} processes were spawned, as the info key \"soft\" allows");
    (spawned < most).then(|| Error::new(MPI_ERR_SPAWN, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_survives_encoding_as_words() {
        for text in ["", "short", "exactly8", "cannot find the program `größer`: there is no such file"] {
            let words = failed(&Refusal { error: Error::new(MPI_ERR_SPAWN, text), most: 5 });
            assert_eq!(words[0], FAILED);
            let Refusal { error: heard, most } = failure(&words[1..], 3);
            assert_eq!(most, 5);
            assert_eq!(heard.class(), MPI_ERR_SPAWN);
            assert!(heard.text().starts_with("rank 3") && heard.text().ends_with(text), "{heard}");
        }
    }

    #[test]
    fn one_code_for_each_process() {
        let counts = [Count { most: 2, spawned: 2 }, Count { most: 3, spawned: 1 }];
        assert!(codes(&counts, 7).eq([0, 0, 0, 7, 7]));
        assert!(shortage(&counts).unwrap().text().contains("3 of 5"));
        assert_eq!(shortage(&counts[..1]), None);
    }
}
