//! Connections with processes of other jobs: ports by name, and when a job can be forgotten.
//!
//! A job is known while an object of this process names one of its processes: a communicator, a
//! group, a window, a file, a request, a message. `MPI_Comm_disconnect` checks whether one still
//! does.

use crate::collective::Background;
use crate::process::Process;
use crate::ranks::Ranks;
use crate::request::{Body, Start};
use oxmpi_base::address::{JobId, ProcessId};
use oxmpi_base::ids::{NodeId, Peer, Slot};
use oxmpi_base::segment::{PARENTS_CONNECTED, PARENTS_LEAVING, PARENTS_LEFT};
use oxmpi_boot::handshake::Secret;
use oxmpi_boot::network::{MOST_ADDRESSES, NodePort};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::Ordering;

/// A port: its owner and its number. `MPI_Open_port` returns its text form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    pub owner: ProcessId,
    pub number: u32,
    /// For processes of other hosts: the secret that they prove, and where the owner's node is found.
    pub far: Option<(Secret, NodePort)>,
}

const SCHEME: &str = "oxmpi";

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProcessId { job: JobId { inode, holder, fd, host }, node, slot } = self.owner;
        write!(f, "{SCHEME}:{holder}:{fd}:{inode:x}:{host:x}:{node}:{}:{:x}", slot.index(), self.number)?;
        if let Some((secret, NodePort { port, addresses, .. })) = &self.far {
            f.write_str(";")?;
            secret.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
            write!(f, ";{port}")?;
            addresses.iter().try_for_each(|address| write!(f, ";{address}"))?;
        }
        Ok(())
    }
}

/// The text is not the name of a port of OxMPI.
#[derive(Debug, PartialEq, Eq)]
pub struct NotAPort;

impl FromStr for Port {
    type Err = NotAPort;

    fn from_str(text: &str) -> Result<Port, NotAPort> {
        let (near, far) = match text.trim().split_once(';') {
            Some((near, far)) => (near, Some(far)),
            None => (text.trim(), None),
        };
        let parts: Vec<&str> = near.split(':').collect();
        let [SCHEME, holder, fd, inode, host, node, slot, number] = parts[..] else { return Err(NotAPort) };
        let decimal = |part: &str| part.parse::<u32>().map_err(|_| NotAPort);
        let hexadecimal = |part: &str| u64::from_str_radix(part, 16).map_err(|_| NotAPort);
        let number = u32::try_from(hexadecimal(number)?).map_err(|_| NotAPort)?;
        let (holder, fd) = (decimal(holder)?, decimal(fd)?);
        let job = JobId { inode: hexadecimal(inode)?, holder, fd, host: hexadecimal(host)? };
        let slot = Slot::new(decimal(slot)? as usize).ok_or(NotAPort)?;
        let far = far.map(far_part).transpose()?;
        Ok(Port { owner: ProcessId { job, node: NodeId::new(decimal(node)?), slot }, number, far })
    }
}

fn far_part(text: &str) -> Result<(Secret, NodePort), NotAPort> {
    let mut parts = text.split(';');
    let (Some(secret), Some(port)) = (parts.next(), parts.next()) else { return Err(NotAPort) };
    if secret.len() != 32 || !secret.is_ascii() {
        return Err(NotAPort);
    }
    let mut bytes = Secret::default();
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&secret[2 * at..2 * at + 2], 16).map_err(|_| NotAPort)?;
    }
    let addresses: Vec<_> = parts.map(|part| part.parse().map_err(|_| NotAPort)).collect::<Result<_, _>>()?;
    if addresses.len() > MOST_ADDRESSES {
        return Err(NotAPort);
    }
    Ok((bytes, NodePort { port: port.parse().map_err(|_| NotAPort)?, addresses, host: String::new() }))
}

impl Process {
    /// Whether some of the processes belong to other jobs.
    pub fn knows_foreign(&self, group: &Ranks) -> bool {
        match group {
            Ranks::OneNode { .. } | Ranks::World(_) => false,
            Ranks::List(list) => list.iter().any(|&process| self.engine.node().is_foreign(process)),
        }
    }

    /// Whether a process of a parent or child job is connected to this one and has not ended yet.
    /// `mpirun` ends children whose parents have ended, so they wait for each other. Jobs that
    /// connected through a port end independently.
    pub fn awaits_related_jobs(&self) -> bool {
        let node = self.engine.node();
        let stays = |process: Peer| !node.has_left(process) && self.related_jobs.contains(&node.id_of(process).job);
        !self.related_jobs.is_empty() && self.shared_with(None).into_iter().any(stays)
    }

    /// This process starts to connect to the job that spawned it and opened that port: from here on
    /// its fate concerns that job. `mpirun` reads this when it ends.
    pub fn join_parents(&mut self, port: &str) {
        self.parent_job = port.parse().ok().map(|Port { owner, .. }| owner.job);
        self.related_jobs.extend(self.parent_job);
        self.engine.node().block().parents.store(PARENTS_CONNECTED, Ordering::Release);
    }

    /// Adds the job of a group of processes to the child jobs.
    pub fn add_children(&mut self, group: &Ranks) {
        let node = self.engine.node();
        self.related_jobs.extend(group.iter().next().map(|process| node.id_of(process).job));
    }

    /// Before a communicator is freed: records whether it is the last one shared with the parents.
    pub fn prepare_to_leave(&mut self, context: u32) {
        let node = self.engine.node();
        let shares = |job: JobId| self.shared_with(Some(context)).iter().any(|&process| node.id_of(process).job == job);
        if self.parent_job.is_some_and(|job| !shares(job)) {
            node.block().parents.store(PARENTS_LEAVING, Ordering::Release);
        }
    }

    /// Drops parent and child jobs with which this process shares no object any more. A group is
    /// not shared.
    pub fn leave_related_jobs(&mut self) {
        if self.related_jobs.is_empty() {
            return;
        }
        let node = self.engine.node();
        let shared: BTreeSet<JobId> =
            self.shared_with(None).into_iter().map(|process| node.id_of(process).job).collect();
        self.related_jobs.retain(|job| shared.contains(job));
        if self.parent_job.is_some_and(|job| !shared.contains(&job)) {
            node.block().parents.store(PARENTS_LEFT, Ordering::Release);
            self.parent_job = None;
        }
    }

    /// The foreign processes in a communicator (except that of a context), a window or a file of
    /// this process.
    fn shared_with(&self, except: Option<u32>) -> BTreeSet<Peer> {
        let mut shared = BTreeSet::new();
        let mut add = |group: &Ranks| shared.extend(group.iter());
        let comms = self.comms.made.iter().filter(|(_, comm)| Some(comm.context) != except);
        comms.for_each(|(_, comm)| add(&comm.group));
        self.windows.iter().for_each(|(_, win)| add(win.group.ranks()));
        self.files.iter().for_each(|(_, file)| add(file.group.ranks()));
        shared.retain(|&process| self.engine.node().is_foreign(process));
        shared
    }

    /// Leaves the jobs that nothing here names any more.
    pub fn leave_foreign(&mut self) {
        if !self.engine.node().knows_foreign() || self.joining > 0 || self.awaits_unknown() {
            return;
        }
        let mut named = BTreeSet::new();
        let mut name = |group: &Ranks| named.extend(group.iter());
        self.comms.made.iter().for_each(|(_, comm)| {
            name(&comm.group);
            name(comm.local_group());
        });
        self.groups.iter().for_each(|(_, group)| name(group.ranks()));
        self.windows.iter().for_each(|(_, win)| name(win.group.ranks()));
        self.files.iter().for_each(|(_, file)| name(file.group.ranks()));
        self.pending_comms.iter().for_each(|pending| pending.groups().for_each(&mut name));
        let waiting = self.calls.iter().map(|(run, _)| run.stage());
        self.runs.iter().map(Background::stage).chain(waiting).for_each(|stage| {
            name(&stage.group);
            name(&stage.local);
        });
        for (_, request) in self.requests.iter() {
            match &request.body {
                Body::Persistent(start, _) => match &**start {
                    Start::Send { route, .. } | Start::Buffered { route, .. } => drop(named.insert(route.peer)),
                    Start::Collective(bound_plan, _) => named.extend(bound_plan.members()),
                    Start::OnBoard(operation, _) => named.extend(operation.members()),
                    Start::Outgoing(plan) => named.extend(plan.peer()),
                    Start::Recv { .. } | Start::Incoming(_) | Start::Nothing(_) => {}
                },
                Body::Once(_) | Body::Sent | Body::Generalized(_) => {}
            }
        }
        named.extend(self.messages.iter().map(|(_, (_, message, _))| message.from()));
        self.take_vote_mail();
        let left = self.engine.leave_jobs(&named);
        self.forget_jobs(left);
    }

    /// Leaves all other jobs: this process is finalizing.
    pub fn leave_all_jobs(&mut self) {
        let left = self.engine.leave_all_jobs();
        self.forget_jobs(left);
    }

    /// Whether a receive is posted on a communicator that has been freed, so that its possible
    /// senders are unknown.
    fn awaits_unknown(&self) -> bool {
        let lives = |context: u32| {
            self.comms.made.iter().any(|(_, comm)| comm.context == context)
                || self.files.iter().any(|(_, file)| file.comm.context == context)
        };
        let mut contexts = self.engine.posted_contexts().map(|context| context & !1);
        contexts.any(|context| crate::contexts::is_between_jobs(context) && !lives(context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_abi::constants::MPI_MAX_PORT_NAME;

    #[test]
    fn port_names_are_printed_and_parsed() {
        let job = JobId { inode: u64::MAX, holder: 4_194_304, fd: 1023, host: u64::MAX };
        let owner = ProcessId { job, node: NodeId::new(16_383), slot: Slot::new(65535).unwrap() };
        let near = Port { owner, number: i32::MAX as u32, far: None };
        assert_eq!(near.to_string().parse(), Ok(near.clone()));
        let addresses = vec!["fd00:1111:2222:3333:4444:5555:6666:7777".parse().unwrap(); MOST_ADDRESSES];
        let far = Port { far: Some(([0xf0; 16], NodePort { port: 65535, addresses, host: String::new() })), ..near };
        assert_eq!(far.to_string().parse(), Ok(far.clone()));
        assert!(far.to_string().len() < MPI_MAX_PORT_NAME as usize);
        for text in [
            "",
            "oxmpi",
            "oxmpi:1:2:3:4:5:6",
            "oxmpi:1:2:3:4:5:6:7:8",
            "tcp:1:2:3:4:5:6:7",
            "oxmpi:-1:2:3:4:5:6:7",
            "oxmpi:1:2:x:4:5:6:7",
            "oxmpi:1:2:3:4:5:6:7;",
            "oxmpi:1:2:3:4:5:6:7;00112233445566778899aabbccddee;1",
            "oxmpi:1:2:3:4:5:6:7;00112233445566778899aabbccddeeff",
            "oxmpi:1:2:3:4:5:6:7;0011223344556677\u{e9}8899aabbccddeef;1",
            "oxmpi:1:2:3:4:5:6:7;00112233445566778899aabbccddeefx;1",
            "oxmpi:1:2:3:4:5:6:7;00112233445566778899aabbccddeeff;65536",
            "oxmpi:1:2:3:4:5:6:7;00112233445566778899aabbccddeeff;1;here",
            "oxmpi:1:2:3:4:5:6:7;00112233445566778899aabbccddeeff;1;::1;::1;::1;::1;::1",
        ] {
            assert_eq!(text.parse::<Port>(), Err(NotAPort), "{text}");
        }
    }
}
