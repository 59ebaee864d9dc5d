//! How a process finds its job: what `mpirun` tells a rank, written and read in one place
//! ([`env`]), and how ranks join that another launcher has started ([`others`], [`manager`]). Whichever launcher it was, a
//! [`Member`] says what it told.
//!
//! A program that is started without a launcher is a job of one rank. If a launcher started it that
//! OxMPI cannot talk to ([`foreign`]), that is an error that names the launcher; it must never become one of N
//! jobs of one rank.
#![forbid(unsafe_code)]

pub mod apps;
pub mod compat;
pub mod deal;
pub mod elf;
pub mod env;
pub mod foreign;
pub mod gdb;
pub mod handshake;
pub mod helper;
pub mod manager;
pub mod names;
pub mod nameserver;
pub mod net;
pub mod network;
pub mod node_helper;
pub mod nodes;
pub mod others;
pub mod polls;
pub mod requests;
pub mod spawned;
pub mod tuning_file;

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use oxmpi_abi::{Error, Result};
use oxmpi_base::address::JobId;
use oxmpi_base::ids::WorldRank;
use oxmpi_base::segment::Segment;
use oxmpi_base::{lifeline, limits, trust};

use apps::ProcessSet;
use env::{NetworkEnv, RankEnv};
use handshake::End;
use network::Network;
use nodes::NodeTable;

/// Our own launcher, for people.
pub const OWN_LAUNCHER: &str = "OxMPI's mpirun";

/// `MPI_ERR_OTHER`: errors before the world exists have no class of their own.
const ERR_OTHER: i32 = 16;

/// How this process was started.
pub enum Start {
    /// A job of one rank: no launcher, or a program that a rank started.
    Alone,
    Member(Box<Member>),
}

/// The segment of a process that was started without `mpirun`. The process holds it itself, where
/// other jobs find it.
pub fn alone() -> std::io::Result<(Segment, JobId, NodeTable)> {
    let (_, mapped) = Segment::create(1, oxmpi_base::cpus::available())?;
    let fd = mapped.file().as_raw_fd() as u32;
    let job = JobId::here(lifeline::inode(mapped.file())?, std::process::id(), fd);
    Ok((mapped, job, NodeTable::one_node(WorldRank::FIRST, 1)))
}

/// The place of a rank in a job, as its launcher told it, whichever that was. Its slot in the segment is claimed: `pid`
/// there is this process.
pub struct Member {
    /// The launcher, for people.
    pub launcher: String,
    /// A process manager of others has started this process, and must hear when it finalizes or aborts ([`manager`]).
    pub is_managed: bool,
    pub rank: usize,
    pub size: usize,
    pub local_rank: usize,
    pub local_size: usize,
    /// The number of the program of `mpirun a : b : c`: `MPI_APPNUM`.
    pub appnum: i32,
    /// The process sets that `mpirun` defines.
    pub process_sets: Vec<ProcessSet>,
    /// `MPI_UNIVERSE_SIZE`.
    pub universe_size: usize,
    /// Where the processes that spawned this job wait for it.
    pub parent: Option<String>,
    /// Where processes of other jobs find the segment.
    pub job: JobId,
    /// Where all ranks are.
    pub nodes: NodeTable,
    pub segment: OwnedFd,
    /// The segment, mapped. It is mapped here because claiming the slot needs it.
    pub mapped: Segment,
    /// When held, with [`lifeline::hold`], it ends this process when `mpirun` ends.
    pub lifeline: Option<OwnedFd>,
    /// How processes of other hosts are reached, if they can be.
    pub network: Option<Reached>,
}

/// The network of a job, and the socket that a rank shares with its agent.
pub struct Reached {
    pub network: Network,
    pub agent: OwnedFd,
}

/// Reads the environment and claims the place of this process in the job, if there is one.
pub fn start_from_env() -> Result<Start> {
    if trust::has_extra_rights() {
        // Only to say what is refused.
        let untrusted = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let own = untrusted(env::JOB).map(|_| (OWN_LAUNCHER, env::JOB));
        let other = || foreign::launcher(&untrusted).map(|launcher| (launcher.name, launcher.variable));
        if let Some((launcher, variable)) = own.or_else(other) {
            return Err(fail(format!(
                "this program has more rights than the user who started it (it is setuid or setgid, or has file \
                 capabilities), so it does not trust its environment and cannot be a rank of the job that {launcher} \
                 started; unset {variable} to run it alone"
            )));
        }
    }
    start(|name| trust::variable(name).map(|value| value.to_string_lossy().into_owned()))
}

fn start(var: impl Fn(&str) -> Option<String>) -> Result<Start> {
    let Some(rank_env) = RankEnv::read(&var)? else { return others::start(&var) };
    let segment = reach(rank_env.segment, rank_env.segment_inode, rank_env.mpirun, true)
        .ok_or_else(|| fail(gone(&rank_env, "its shared segment cannot be opened")))?;
    let mapped = Segment::attach(segment.as_fd()).map_err(|error| {
        let error = limits::explain(&error);
        fail(format!("cannot map the segment that mpirun (pid {}) made: {error}", rank_env.mpirun))
    })?;
    let nodes = find_place(&rank_env, &mapped)?;
    let here = JobId::here(rank_env.segment_inode, rank_env.mpirun, rank_env.segment as u32);
    let network = find_network(&rank_env, &nodes, here)?;
    match claim(&mapped, nodes.own_slot().index()) {
        Claim::Ours => {}
        Claim::AnotherLives => return Ok(Start::Alone),
        // A debugger or a script runs the only rank again: a job of its own, since nobody waits for the first process.
        Claim::AnotherWas(_) if rank_env.size == 1 && rank_env.parent.is_none() => return Ok(Start::Alone),
        Claim::AnotherWas(pid) => {
            return Err(fail(format!(
                "rank {} of this job was process {pid}, which has ended; a rank runs one MPI program, once. A script that \
                 runs several MPI programs one after the other needs an mpirun for each of them.",
                rank_env.rank
            )));
        }
    }
    let lifeline = reach(rank_env.lifeline, rank_env.lifeline_inode, rank_env.mpirun, false);
    // A program that the rank starts must not inherit them.
    lifeline::keep_from_children(rank_env.segment, rank_env.segment_inode);
    lifeline::keep_from_children(rank_env.lifeline, rank_env.lifeline_inode);
    if lifeline.as_ref().is_some_and(|fd| lifeline::broken(fd.as_fd())) {
        return Err(fail(gone(&rank_env, "it has ended")));
    }
    Ok(Start::Member(Box::new(Member {
        launcher: OWN_LAUNCHER.into(),
        is_managed: false,
        rank: rank_env.rank,
        size: rank_env.size,
        local_rank: rank_env.local_rank,
        local_size: rank_env.local_size,
        appnum: rank_env.appnum,
        process_sets: apps::process_sets(&rank_env.apps),
        universe_size: rank_env.universe_size,
        parent: rank_env.parent,
        job: network.as_ref().map_or(here, |reached| reached.network.job()),
        nodes,
        segment,
        mapped,
        lifeline,
        network,
    })))
}

/// The table of nodes, which must say what the environment says.
fn find_place(rank_env: &RankEnv, mapped: &Segment) -> Result<NodeTable> {
    let own = WorldRank::new(rank_env.rank).ok_or("the rank is too large".to_string());
    let nodes = own.and_then(|own| NodeTable::load(mapped, own)).map_err(|what| {
        fail(format!("the table of nodes that mpirun (pid {}) made is damaged: {what}", rank_env.mpirun))
    })?;
    let (size, local) = (nodes.size(), nodes.on_this_node().count());
    if (size, local) != (rank_env.size, rank_env.local_size) {
        return Err(fail(format!(
            "the job's table of nodes has {size} ranks, of which {local} are on this node, but {} says {} and {} says {}",
            env::SIZE,
            rank_env.size,
            env::LOCAL_SIZE,
            rank_env.local_size
        )));
    }
    Ok(nodes)
}

/// The network that the agent describes, which a job on several hosts must have. A rank of a job on one machine may have
/// lost the socket; then it reaches other jobs of this machine only.
fn find_network(rank_env: &RankEnv, nodes: &NodeTable, here: JobId) -> Result<Option<Reached>> {
    let several = nodes.nodes() > 1 && !nodes.is_pretended();
    let Some(NetworkEnv { description, agent }) = rank_env.network else {
        return match several {
            true => Err(fail(format!("the job has {} nodes, but {} is missing", nodes.nodes(), env::NETWORK))),
            false => Ok(None),
        };
    };
    let lost = || {
        let why =
            "a descriptor that its agent gave it is closed; a program that starts ranks must not close descriptors";
        fail(gone(rank_env, why))
    };
    let Some(socket) = lifeline::inherited(agent.0, agent.1) else {
        return if several { Err(lost()) } else { Ok(None) };
    };
    lifeline::keep_from_children(agent.0, agent.1);
    let own = End { node: nodes.own_node().number(), slot: nodes.own_slot().index() as u32 };
    let mut network = match description.filter(|_| several) {
        None if several => return Err(lost()),
        None => Network::of_one_machine(here, own),
        Some((fd, inode)) => {
            let file = reach(fd, inode, rank_env.mpirun, false).ok_or_else(lost)?;
            lifeline::keep_from_children(fd, inode);
            let cannot = |error: std::io::Error| {
                fail(gone(rank_env, &format!("the description of the network cannot be read: {error}")))
            };
            Network::open(file, own).map_err(cannot)?
        }
    };
    let copy = socket.try_clone();
    network.ask_through(copy.map_err(|error| fail(gone(rank_env, &format!("its agent cannot be asked: {error}"))))?);
    Ok(Some(Reached { network, agent: socket }))
}

enum Claim {
    Ours,
    /// A living process has the slot, so this program was started by a rank.
    AnotherLives,
    AnotherWas(u32),
}

fn claim(segment: &Segment, rank: usize) -> Claim {
    let own = std::process::id();
    let slot = &segment.rank(rank).pid;
    match slot.compare_exchange(0, own, AcqRel, Acquire) {
        Ok(_) => Claim::Ours,
        Err(pid) if pid == own => Claim::Ours,
        Err(pid) if lifeline::process_lives(pid) => Claim::AnotherLives,
        Err(pid) => Claim::AnotherWas(pid),
    }
}

/// A descriptor of `mpirun`: inherited, or, if a parent in between closed it, opened from `mpirun`
/// itself. The lifeline must never be opened for writing, or it would not break with `mpirun`.
pub(crate) fn reach(fd: i32, inode: u64, mpirun: u32, write: bool) -> Option<OwnedFd> {
    lifeline::inherited(fd, inode).or_else(|| {
        let opened = File::options().read(true).write(write).open(format!("/proc/{mpirun}/fd/{fd}")).ok()?;
        (lifeline::inode(opened.as_fd()).ok()? == inode).then(|| opened.into())
    })
}

fn gone(rank_env: &RankEnv, what: &str) -> String {
    format!(
        "the mpirun (pid {}) that started rank {} of this job cannot be reached: {what}",
        rank_env.mpirun, rank_env.rank
    )
}

fn fail(text: impl Into<String>) -> Error {
    Error::new(ERR_OTHER, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::sync::atomic::Ordering::Relaxed;

    fn text(result: Result<Start>) -> String {
        match result {
            Ok(Start::Alone) => "alone".into(),
            Ok(Start::Member(member)) => format!("{} of {}", member.rank, member.size),
            Err(error) => error.text().into(),
        }
    }

    fn from(vars: &[(&str, &str)]) -> String {
        let vars: HashMap<_, _> = vars.iter().copied().collect();
        text(start(|name| vars.get(name).map(|value| value.to_string())))
    }

    struct Job {
        _far: OwnedFd,
        near: OwnedFd,
        fd: OwnedFd,
        segment: Segment,
    }

    impl Job {
        fn new() -> Job {
            let (near, far) = lifeline::create().unwrap();
            let (fd, segment) = Segment::create(3, 2).unwrap();
            NodeTable::one_node(WorldRank::new(0).unwrap(), 3).store(&segment).unwrap();
            Job { _far: far, near, fd, segment }
        }

        fn vars(&self, rank: usize) -> HashMap<&'static str, String> {
            let rank_env = RankEnv {
                rank,
                size: 3,
                local_rank: rank,
                local_size: 3,
                appnum: 1,
                app_size: 2,
                apps: vec![apps::App::new(1, b"a"), apps::App::new(2, b"b")],
                universe_size: 3,
                mpirun: std::process::id(),
                segment: self.fd.as_raw_fd(),
                segment_inode: lifeline::inode(self.fd.as_fd()).unwrap(),
                lifeline: self.near.as_raw_fd(),
                lifeline_inode: lifeline::inode(self.near.as_fd()).unwrap(),
                mailbox: env::Mailbox::default(),
                parent: None,
                network: None,
            };
            rank_env.write().into_iter().collect()
        }

        fn start(&self, rank: usize) -> Result<Start> {
            let vars = self.vars(rank);
            start(|name| vars.get(name).cloned())
        }
    }

    #[test]
    fn a_rank_takes_its_place() {
        let job = Job::new();
        let Ok(Start::Member(member)) = job.start(2) else { panic!() };
        assert_eq!((member.rank, member.size, member.local_rank, member.local_size), (2, 3, 2, 3));
        assert_eq!((member.appnum, member.universe_size), (1, 3));
        assert_eq!(job.segment.rank(2).pid.load(Relaxed), std::process::id());
        assert!(member.lifeline.is_some());
        // A second session of the same process is the same rank.
        assert_eq!(text(job.start(2)), "2 of 3");
    }

    #[test]
    fn a_table_that_cannot_be_is_refused() {
        let job = Job::new();
        let store = |nodes: &[u32], pretended: bool| {
            let places = if pretended { deal::slots_of_one_segment(nodes) } else { deal::slots(nodes) };
            let table = NodeTable::new(deal::blocks(&places), WorldRank::new(0).unwrap(), pretended).unwrap();
            table.store(&job.segment).unwrap();
        };
        store(&[0, 0], false);
        assert!(text(job.start(1)).contains("has 2 ranks"));
        store(&[0, 0, 1], true);
        assert!(text(job.start(1)).contains("2 are on this node"), "the environment says 3");
        job.segment.node_words()[0].store(0, Relaxed);
        assert!(text(job.start(1)).contains("is damaged: it has 0 blocks"));
        let mut vars = job.vars(0);
        vars.insert(env::LOCAL_SIZE, "2".into());
        store(&[0, 0, 1], false);
        assert!(text(start(|name| vars.get(name).cloned())).contains("OXMPI_NETWORK is missing"));
        store(&[0, 0, 1], true);
        assert_eq!(text(start(|name| vars.get(name).cloned())), "0 of 3");
    }

    #[test]
    fn what_a_rank_starts_is_alone() {
        let job = Job::new();
        job.segment.rank(1).pid.store(std::os::unix::process::parent_id(), Relaxed);
        assert_eq!(text(job.start(1)), "alone");
    }

    #[test]
    fn a_rank_is_one_program_once() {
        let job = Job::new();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        job.segment.rank(1).pid.store(child.id(), Relaxed);
        assert!(text(job.start(1)).contains("an mpirun for each"));
    }

    #[test]
    fn closed_descriptors_are_opened_from_mpirun() {
        let job = Job::new();
        let mut vars = job.vars(0);
        // A process that inherited neither: the numbers refer to something else here.
        let names = [(env::SEGMENT, &job.fd), (env::LIFELINE, &job.near)];
        assert_eq!(reach(-1, 1, std::process::id(), true).map(|_| ()), None);
        for (name, fd) in names {
            let inode = lifeline::inode(fd.as_fd()).unwrap();
            assert!(lifeline::inherited(0, inode).is_none());
            assert!(reach(fd.as_raw_fd(), inode, std::process::id(), name == env::SEGMENT).is_some());
        }
        vars.insert(env::SEGMENT, "0".into());
        assert!(text(start(|name| vars.get(name).cloned())).contains("cannot be reached"));
    }

    #[test]
    fn a_process_alone_is_found_by_others() {
        let (segment, job, _) = alone().unwrap();
        segment.rank(0).pid.store(12, Relaxed);
        assert_eq!(job.open().unwrap().rank(0).pid.load(Relaxed), 12);
    }

    #[test]
    fn a_broken_lifeline_is_an_error() {
        let job = Job::new();
        let vars = job.vars(0);
        let Job { _far, near: _near, fd: _fd, segment: _segment } = job;
        drop(_far);
        // A process that another test starts at this moment holds a copy until it executes its
        // program.
        let ended = |_: &u32| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            text(start(|name| vars.get(name).cloned())).contains("has ended")
        };
        assert!((0..5000).find(ended).is_some());
    }

    #[test]
    fn no_launcher_is_a_world_of_one_and_a_foreign_one_an_error() {
        assert_eq!(from(&[]), "alone");
        assert_eq!(from(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]), "alone");
        assert!(from(&[("PMI_RANK", "0"), ("PMI_SIZE", "2")]).contains("mpirun"));
    }
}
