//! What an agent and the process above it say to each other in control frames.
//!
//! ```text
//! agent    ->  the line OXMPI-AGENT, before any frame
//! mpirun   ->  Order       key, environments, programs, ranks of the node; the agents below it
//! agent    ->  Here        its machine
//! agent    ->  Ready       the programs are there, the segment is made, the port listens
//! mpirun   ->  Go          all nodes are ready: their addresses; ranks are started
//! agent    ->  Running, then Failed, Places, Ended …
//! agent    ->  Gone        no process of the job is left on the node, all output was sent
//! mpirun   ->  (end of the stream)
//! ```

use crate::frame::BadFrame;
use oxmpi_boot::requests::{Ballots, NameRequest, SentBallot, VoteId};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Down: from `mpirun` towards the agents.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Down {
    Order(Box<Order>),
    /// All nodes are ready and know each other's addresses: start the ranks.
    Go {
        nodes: Vec<NodeAddresses>,
    },
    /// Instead of `Go`, to check hosts: connect to all these nodes, and start nothing.
    Probe {
        nodes: Vec<NodeAddresses>,
    },
    /// A signal that the user sent to `mpirun`.
    Signal(i32),
    /// The job ends.
    Stop(Stop),
    /// The user asks where the ranks are; the answer is [`Up::Places`].
    Where,
    /// Asks these ranks (the first, and how many) whether they still do nothing but wait; the answer is [`Up::Answers`].
    Ask {
        question: u64,
        ranks: Vec<(u32, u32)>,
    },
    /// Output bytes that were taken.
    Taken(u32),
    /// `mpirun` stops, so that its heartbeats end; deadlines stand still until the next heartbeat.
    Pause,
    /// A process of another node cannot connect to this node: connect to that one. The answer to [`Up::ConnectBack`] of
    /// that node.
    ConnectBack(BackOrder),
    /// The connection that a rank of this node awaits will not come.
    NoConnection {
        number: u32,
        text: String,
    },
    /// A rank of any node has ended without calling `MPI_Init`: the job has failed, if other ranks are inside MPI.
    Missing(Box<FailedRank>),
    /// The answer to [`Up::Names`].
    Names {
        slot: u32,
        ticket: u32,
        result: Result<Vec<u8>, (i32, String)>,
    },
    /// Processes of the job have ended: all agents are told in the same order.
    Deaths(Vec<DeadRank>),
    /// A context was revoked.
    Revoke(u32),
    /// For ranks in these slots: what the members of a vote have said.
    Voted {
        slots: Vec<u32>,
        vote: VoteId,
        ballots: Ballots,
    },
    /// The ranks in these slots are ended: another one has aborted a communicator of theirs.
    Doom(Vec<u32>),
    /// Another rank has lost its link to the rank in this slot. The answer is [`Up::Lives`], unless it has ended.
    DoesLive(u32),
    /// The rank in this slot is ended: its link to another one is broken.
    End(u32),
    /// The debugger that holds the ranks in `MPI_Init` lets them go on.
    Release,
    Heartbeat,
}

/// A process that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DeadRank {
    /// Its number in the job.
    pub rank: u32,
    /// It had called `MPI_Finalize`, or was no process of MPI.
    pub has_left: bool,
    /// As `wait` returns it.
    pub status: i32,
}

/// Why and how ranks are ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Stop {
    /// Another rank or host has failed.
    Failure,
    /// Another rank has failed outside MPI: the others may be about to print an error of their own.
    QuietFailure,
    /// The time limit was reached. The agents have said where their ranks are, or were asked to.
    TimeLimit,
    AtOnce,
}

/// Up: from the agents towards `mpirun`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Up {
    Here(Box<Machine>),
    Ready(NodeAddresses),
    /// The ranks run: what `-v` asked for, the processes of the ranks in the order of their slots, and the paths of the
    /// programs.
    Running {
        said: Vec<String>,
        pids: Vec<i32>,
        paths: Vec<Vec<u8>>,
    },
    /// The answer to `Probe`: the nodes that cannot be reached from here.
    Probed(Vec<Unreached>),
    /// So many ranks of the node have not ended, and so many have ended well.
    Live {
        running: u32,
        well: u32,
    },
    /// The first failure of a rank of the node, which ends the job.
    Failed(Box<FailedRank>),
    /// A rank of the node has failed, in a job that goes on; `ended`: so many others of its communicator are ended, too;
    /// `is_no_mpi`: it never was a process of MPI.
    FailedAlone {
        rank: Box<FailedRank>,
        ended: u32,
        is_no_mpi: bool,
    },
    /// Processes of the node have ended, in a job that goes on.
    Deaths(Vec<DeadRank>),
    /// A rank has failed after `MPI_Finalize`: the others go on.
    FailedLate(Box<FailedRank>),
    /// The first rank of the node that has ended well without calling `MPI_Init`. Ranks of other nodes may wait for it.
    Missing(Box<FailedRank>),
    /// A job that ranks of the node have spawned failed while it was connected to them.
    ChildFailed {
        text: String,
        status: i32,
    },
    /// Something else than a rank failed on this node; the job cannot go on.
    Trouble {
        text: String,
        status: i32,
    },
    /// A line for the user.
    Say(String),
    /// What ranks of the node have found wrong with the program: the rank, the line of its log and the source line; and how many
    /// were lost.
    Findings {
        lines: Vec<(u32, String, Option<String>)>,
        lost: u32,
    },
    /// Where the live ranks are when the job is stopped by the user or by its time limit.
    Places(Vec<RankPlace>),
    /// The ranks of the node that may not act, when that has changed; all others may do anything.
    Rest(Vec<RankRest>),
    /// The answers of all ranks of the node that were asked.
    Answers {
        question: u64,
        answers: Vec<RankAnswer>,
    },
    /// No process of the job is left on the node, and all output was sent.
    Gone {
        all_well: bool,
        /// The status of the first job that ranks of the node have spawned and that failed; 0 if none has.
        bad_child: i32,
        /// A process of a spawned job has ended well.
        family_is_well: bool,
    },
    /// An agent below this one is lost.
    Lost {
        node: u32,
        host: String,
        text: String,
    },
    /// This agent cannot start one below it; perhaps `mpirun` can.
    Unstarted {
        below: Below,
        text: String,
    },
    /// Stdin bytes that were taken.
    Taken(u32),
    /// How the ranks of the node are tied to the processes that spawned the job, when that has changed.
    Ties(ParentTies),
    /// A rank of the node cannot connect to a process, or to the agent, of another node, which shall connect to it.
    ConnectBack {
        to: u32,
        order: BackOrder,
    },
    /// This node cannot do that for node `to`, either.
    NoConnection {
        to: u32,
        number: u32,
        text: String,
    },
    /// No rank of the node reads its stdin any more.
    StdinUnread,
    /// The rank in this slot votes.
    Vote {
        slot: u32,
        vote: VoteId,
        members: Vec<(u32, u32)>,
        ballot: SentBallot,
    },
    /// A rank of the node revokes a context.
    Revoke(u32),
    /// The rank in this slot aborts a communicator of these world ranks, in runs. It is told before the end of the rank.
    Abort {
        slot: u32,
        members: Vec<(u32, u32)>,
    },
    /// The link of the rank in this slot to another rank is broken.
    LinkBroken {
        slot: u32,
        rank: u32,
        why: String,
    },
    /// The process of the rank in this slot has not ended. All that have were told.
    Lives(u32),
    /// A rank of the node publishes a name, or looks one up.
    Names {
        slot: u32,
        ticket: u32,
        what: NameRequest,
    },
    Heartbeat,
}

/// A connection that a node shall make to another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BackOrder {
    /// The process that awaits it.
    pub node: u32,
    pub slot: u32,
    /// Its number at the agent of that node.
    pub number: u32,
    /// The process here that it is for; [`oxmpi_boot::handshake::End::AGENT`]: the agent.
    pub for_slot: u32,
}

/// How the ranks of a node are tied to the processes that spawned their job.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ParentTies {
    /// All have begun to connect.
    pub came: bool,
    /// One is connected, and does not finalize.
    pub connected: bool,
    /// One is leaving them; the ranks do that together.
    pub leaving: bool,
    /// One has left them.
    pub left: bool,
    /// These are the ties when the agent began to stop the ranks: it tells of no later ones.
    pub are_final: bool,
}

impl ParentTies {
    /// Whether the failure of the job concerns the processes that spawned it: the ranks leave them together.
    pub fn are_connected(all: impl Iterator<Item = ParentTies>) -> bool {
        let all = all.fold(ParentTies::default(), |all, one| ParentTies {
            came: false,
            connected: all.connected | one.connected,
            leaving: all.leaving | one.leaving,
            left: all.left | one.left,
            are_final: false,
        });
        all.connected || all.leaving && !all.left
    }
}

/// A machine as its agent sees it. Host names decide nothing; boot id and namespaces tell whether two agents share one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Machine {
    pub host: String,
    pub boot_id: String,
    /// The namespaces of the agent, as the kernel names them.
    pub namespaces: Vec<String>,
    pub user: u32,
    pub cpus: u32,
    /// Seconds and nanoseconds since 1970.
    pub clock: (u64, u32),
}

/// Where the port of a node can be reached, the best address first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NodeAddresses {
    pub node: u32,
    /// The host as the user named it.
    pub host: String,
    pub addresses: Vec<IpAddr>,
    pub port: u16,
}

/// A node that another one cannot connect to, and what each of its addresses answered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Unreached {
    pub node: u32,
    pub text: String,
}

/// All that an agent needs to know.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Order {
    pub job: [u8; 16],
    pub key: [u8; 32],
    pub node: u32,
    /// The host as the user named it.
    pub host: String,
    /// All nodes are this machine, for a test.
    pub pretended: bool,
    /// World ranks and slots of all nodes: see `oxmpi_boot::nodes`.
    pub node_blocks: Vec<[u32; 7]>,
    pub programs: Vec<ProgramOrder>,
    /// The ranks of this node in the order of their slots.
    pub ranks: Vec<RankOrder>,
    pub universe_size: u32,
    /// Options of `mpirun` that concern the agents: bindings, and what is printed.
    pub options: Vec<String>,
    /// The ranks' stdout is a terminal, as that of `mpirun` is.
    pub terminal: bool,
    /// Agents that this one starts.
    pub below: Vec<Below>,
    pub launcher: LauncherOrder,
    /// The first and the last port that the agent may listen on.
    pub port_range: Option<(u16, u16)>,
    /// An interface, or a network as `ADDRESS/BITS`, whose addresses are used.
    pub net_interface: Option<String>,
    /// Seconds after which a silent agent counts as lost; 0: never.
    pub host_timeout: u32,
    /// The port of the processes that spawned the job, if some have.
    pub parent: Option<String>,
    /// Options of `mpirun` for jobs that the ranks spawn: the hosts of this one, and how they are reached.
    pub spawn_options: Vec<String>,
    /// A debugger holds the ranks in `MPI_Init` until [`Down::Release`].
    pub is_held: bool,
    /// The ranks of this node that run in gdb.
    pub debug: Option<DebugOrder>,
}

/// Ranks that run in gdb.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DebugOrder {
    pub ranks: Vec<u32>,
    /// In the names of the sockets at which they wait for their screens.
    pub door: String,
}

impl Order {
    /// How many nodes the job has.
    pub fn node_count(&self) -> u32 {
        // Blocks have the first node and the number of nodes as their third and fourth number.
        self.node_blocks.iter().map(|block| block[2].saturating_add(block[3])).max().unwrap_or(0)
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProgramOrder {
    /// As the user typed it.
    pub shown: String,
    /// Absolute, or a name to be searched in the PATH of the environment.
    pub path: Vec<u8>,
    pub arguments: Vec<Vec<u8>>,
    /// Absolute.
    pub directory: Vec<u8>,
    /// `NAME=VALUE` each.
    pub environment: Vec<Vec<u8>>,
    pub appnum: i32,
    /// The number of its ranks, and the name of its process set.
    pub count: u32,
    pub set: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RankOrder {
    pub rank: u32,
    /// The index of its program.
    pub program: u32,
    pub reads_stdin: bool,
}

/// An agent that another agent starts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Below {
    pub node: u32,
    pub host: String,
    /// The nodes that are reached through it, its own first.
    pub nodes: Vec<u32>,
}

/// How agents are started.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LauncherOrder {
    /// A command that starts a program on another host, such as `ssh -F FILE`; empty: agents are started directly, on
    /// this machine.
    pub command: Vec<String>,
    /// The command is also used for the machine where it runs.
    pub also_here: bool,
    /// The absolute path of the agent's program on all hosts.
    pub agent: Vec<u8>,
    /// The command does not connect its stdin and stdout with the agents' (`srun`, `pbs_tmrsh`): they connect to `mpirun`.
    pub step: Option<StepOrder>,
}

/// Where `mpirun` listens for agents that connect to it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StepOrder {
    /// The command starts one agent, as `pbs_tmrsh` does, and not all at once, as `srun` does.
    pub one_by_one: bool,
    pub port_range: Option<(u16, u16)>,
    pub net_interface: Option<String>,
}

/// A rank that failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FailedRank {
    pub rank: u32,
    /// The message about it, without what became of the others.
    pub text: String,
    /// The exit status of the job.
    pub status: i32,
    /// It ended outside MPI, so that the others do not wait for it.
    pub quiet: bool,
}

/// Where a rank is: words of its block in the segment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RankPlace {
    pub rank: u32,
    pub state: u32,
    pub call: u32,
    pub line: Option<String>,
    pub waits: Option<String>,
    /// Why it may wait in vain.
    pub hint: Option<String>,
    /// For so many milliseconds it has waited for other ranks.
    pub rests: Option<u64>,
    /// A debugger is attached to it.
    pub is_traced: bool,
}

/// A rank that may not act.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RankRest {
    pub rank: u32,
    pub state: RestState,
}

/// Why it may not act.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum RestState {
    Ended,
    Finalized,
    /// It waits for one of these ranks (the first, and how many).
    Resting {
        number: u64,
        needs: Vec<(u32, u32)>,
        ended_only: bool,
    },
}

/// What a rank has answered: the number of its record, and the frames to others that are asked and from them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RankAnswer {
    pub rank: u32,
    pub number: u64,
    pub sent: u64,
    pub received: u64,
}

pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, BadFrame> {
    postcard::to_stdvec(message).map_err(|error| BadFrame(format!("a message cannot be written: {error}")))
}

/// A whole message and nothing after it.
pub fn decode<'a, M: Deserialize<'a>>(body: &'a [u8]) -> Result<M, BadFrame> {
    match postcard::take_from_bytes(body) {
        Ok((message, [])) => Ok(message),
        Ok((_, rest)) => Err(BadFrame(format!("{} bytes follow a message", rest.len()))),
        Err(error) => Err(BadFrame(format!("a message of {} bytes cannot be read: {error}", body.len()))),
    }
}

/// The head of a frame of class output: the rank and its channel, 1 or 2.
pub const OUTPUT_HEAD: usize = 5;

pub fn output_head(rank: u32, channel: u8) -> [u8; OUTPUT_HEAD] {
    let [a, b, c, d] = rank.to_le_bytes();
    [a, b, c, d, channel]
}

/// The rank, the channel and the bytes of a frame of class output. No bytes: the channel is closed.
pub fn read_output(body: &[u8]) -> Result<(u32, u8, &[u8]), BadFrame> {
    match body.split_first_chunk::<OUTPUT_HEAD>() {
        Some((&[a, b, c, d, channel @ 1..=2], bytes)) => Ok((u32::from_le_bytes([a, b, c, d]), channel, bytes)),
        _ => Err(BadFrame(format!("a frame of output begins with {:02x?}", &body[..body.len().min(OUTPUT_HEAD)]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_come_as_they_went() {
        let order = Order {
            job: [1; 16],
            key: [2; 32],
            node: 3,
            host: "n3".into(),
            pretended: false,
            node_blocks: vec![[0, 8, 0, 2, 4, 0, 0]],
            programs: vec![ProgramOrder {
                shown: "true".into(),
                path: b"/bin/true".to_vec(),
                arguments: vec![b"\xff".to_vec()],
                directory: b"/".to_vec(),
                environment: vec![b"A=b=c".to_vec()],
                appnum: 0,
                count: 8,
                set: "true".into(),
            }],
            ranks: vec![RankOrder { rank: 4, program: 0, reads_stdin: false }],
            universe_size: 8,
            options: vec!["-q".into()],
            terminal: true,
            below: vec![Below { node: 5, host: "n5".into(), nodes: vec![5, 6] }],
            launcher: LauncherOrder {
                command: vec!["ssh".into()],
                also_here: false,
                agent: b"/bin/mpirun".to_vec(),
                step: None,
            },
            port_range: Some((1024, 65535)),
            net_interface: None,
            host_timeout: 6,
            parent: Some("oxmpi:1".into()),
            spawn_options: vec!["--pretend-hosts".into()],
            is_held: true,
            debug: Some(DebugOrder { ranks: vec![3], door: "d00r".into() }),
        };
        let message = Down::Order(Box::new(order));
        assert_eq!(decode::<Down>(&encode(&message).unwrap()), Ok(message));
        let address = NodeAddresses { node: 1, host: "n1".into(), addresses: vec!["::1".parse().unwrap()], port: 4 };
        let message = Up::Ready(address);
        assert_eq!(decode::<Up>(&encode(&message).unwrap()), Ok(message));
    }

    #[test]
    fn bytes_after_a_message_are_an_error() {
        let mut bytes = encode(&Down::Heartbeat).unwrap();
        bytes.push(0);
        assert!(decode::<Down>(&bytes).is_err());
        assert!(decode::<Down>(&[]).is_err());
    }

    #[test]
    fn output_has_a_rank_and_a_channel() {
        let body = [&output_head(70_000, 2)[..], b"text"].concat();
        assert_eq!(read_output(&body), Ok((70_000, 2, &b"text"[..])));
        assert_eq!(read_output(&output_head(1, 1)), Ok((1, 1, &b""[..])));
        assert!(read_output(&[0, 0, 0, 0]).is_err() && read_output(&[0, 0, 0, 0, 3, 1]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode::<Down>(&bytes);
            let _ = decode::<Up>(&bytes);
            let _ = read_output(&bytes);
        }
    }
}
