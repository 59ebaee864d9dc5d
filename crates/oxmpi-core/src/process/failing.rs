//! What this process does about deaths and revocations; `failures.rs` says what it knows.

use super::Process;
use crate::board::Board;
use crate::check::message::Expected;
use crate::comm::Comm;
use crate::engine::{OpId, Pending};
use crate::failures::revoked_error;
use crate::liveness::died;
use crate::matching::Pattern;
use crate::partitioned;
use crate::request::{Active, Body};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::ids::{Peer, Rank};
use oxmpi_datatype::Target;
use oxmpi_transport::Ended;
use std::sync::Arc;

impl Process {
    // ---- news ----

    /// Handles deaths and revocations that this process has not handled.
    #[cold]
    pub fn handle_news(&mut self) {
        let (ended, revoked) = self.engine.take_news();
        if self.has_runs() {
            // What the dead have sent may complete them.
            self.progress_runs();
        }
        for context in revoked {
            if !self.failures.revoked.contains(&context) {
                self.note_revoked(context);
                self.pass_on_revocation(context);
            }
        }
        for &(peer, how) in &ended {
            let error = died(self.engine.node(), peer, None);
            self.engine.close(peer, &error);
            if how == Ended::Died {
                self.note_failed(peer);
            }
        }
        if !ended.is_empty() {
            self.end_partitioned();
            self.engine.node().confirm_deaths();
        }
        self.tell_broken_links();
        self.sweep_runs();
    }

    /// The same if there are any.
    pub fn look_for_news(&mut self) {
        if self.engine.node().has_news() || self.engine.has_news() {
            self.handle_news();
        }
    }

    /// A process has failed: everything on the communicators that it is a member of ends, as far as it waits for that one.
    pub(crate) fn note_failed(&mut self, peer: Peer) {
        if self.failures.failed.contains(&peer) {
            return;
        }
        self.failures.add_failed(peer);
        let Process { comms, files, engine, .. } = self;
        let mut lost = Vec::new();
        let made = comms.made.iter_mut().map(|(_, comm)| comm);
        let files = files.iter_mut().map(|(_, file)| &mut file.comm);
        for comm in made.chain(files).chain([&mut comms.world, &mut comms.own]) {
            if comm.has_member(peer) {
                let error = died(engine.node(), peer, Some(comm));
                if let Some(rank) = comm.group.position(peer) {
                    lost.push((comm.context, rank as i32, error.clone()));
                }
                comm.is_in_trouble(error);
            }
        }
        for (context, rank, error) in lost {
            self.engine.end_posted(|pattern| pattern.context == context && pattern.source == rank, &error);
        }
        self.break_boards();
    }

    /// A context was revoked: what has not begun on it ends.
    pub(crate) fn note_revoked(&mut self, context: u32) {
        if !self.failures.add_revoked(context) {
            return;
        }
        let Process { comms, files, .. } = self;
        let made = comms.made.iter_mut().map(|(_, comm)| comm);
        let files = files.iter_mut().map(|(_, file)| &mut file.comm);
        let mut error = revoked_error("the communicator");
        for comm in made.chain(files).chain([&mut comms.world, &mut comms.own]).filter(|comm| comm.context == context) {
            error = revoked_error(&comm.describe());
            comm.is_in_trouble(error.clone());
        }
        if let Some((_, win)) = self.windows.iter_mut().find(|(_, win)| win.context == context) {
            win.window.revoke();
            return;
        }
        self.engine.end_on(context, &error);
        self.end_partitioned_on(context, &error);
        self.break_boards();
    }

    /// What is wrong with a communicator that has just got its members: some may have failed, and it may have been revoked by
    /// one that had it earlier.
    pub(crate) fn trouble_of(&self, comm: &Comm) -> Option<Error> {
        if !self.failures.any() {
            return None;
        }
        if self.failures.is_revoked(comm.context) {
            return Some(revoked_error(&comm.describe()));
        }
        let failed = self.failures.failed.iter().find(|failed| comm.has_member(**failed))?;
        Some(died(self.engine.node(), *failed, Some(comm)))
    }

    /// Whoever waits at the board of a communicator in trouble shall wait no longer.
    fn break_boards(&mut self) {
        let Process { comms, board_operations, engine, failures, .. } = self;
        let made = comms.made.iter().map(|(_, comm)| comm);
        for comm in made.chain([&comms.world]).filter(|comm| comm.trouble.is_some()) {
            if let Board::Ready(board) = &comm.board {
                board.break_up(|process| engine.node().wake(process));
            }
        }
        for operation in board_operations.iter() {
            let has_failed = operation.members().any(|member| failures.failed.contains(&member));
            if has_failed || failures.is_revoked(operation.context()) {
                operation.break_up(|process| engine.node().wake(process));
            }
        }
    }

    /// Ends collective operations in the background that a failed process takes part in, or whose communicator was revoked.
    pub(crate) fn sweep_runs(&mut self) {
        if !self.failures.any() {
            return;
        }
        for index in (0..self.runs().len()).rev() {
            let stage = self.runs()[index].stage();
            if let Some(error) = self.dead_among(stage.comm_context(), [&stage.group, &stage.local]) {
                self.end_run(index, error);
            }
        }
    }

    /// The same after news that may have come while the operations were looked at.
    pub(crate) fn sweep_again(&mut self) {
        if std::mem::take(&mut self.failures.unswept) {
            self.sweep_runs();
        }
    }

    fn end_partitioned_on(&mut self, context: u32, error: &Error) {
        let mut ended = Vec::new();
        for (_, request) in self.requests.iter() {
            let (Body::Once(active) | Body::Persistent(_, Some(active))) = &request.body else { continue };
            if let Active::Receiving(receiving) = active
                && partitioned::lock(receiving).sender().0 & !1 == context
            {
                ended.push(Arc::clone(receiving));
            }
        }
        ended.iter().for_each(|receiving| partitioned::lock(receiving).fail(&mut self.engine, error.clone()));
    }

    // ---- waits ----

    /// Why no message that a pattern accepts can be waited for, if its source has failed. From any source: if somebody has
    /// failed whose failure is not acknowledged. The caller has searched the messages that have arrived.
    pub(crate) fn lost_source(&self, pattern: &Pattern, any: bool) -> Option<Error> {
        if !self.failures.any() {
            return None;
        }
        let comm = self.comm_of(pattern.context)?;
        if let Err(error) = comm.check_not_revoked() {
            return Some(error);
        }
        let failed = match usize::try_from(pattern.source) {
            Ok(rank) => {
                let from = (rank < comm.group.len()).then(|| comm.group.peer(Rank::new(rank)))?;
                self.failures.failed.contains(&from).then_some(from)?
            }
            Err(_) if any => *self.unacknowledged(comm).find(|failed| comm.group.position(**failed).is_some())?,
            Err(_) => return None,
        };
        Some(died(self.engine.node(), failed, Some(comm)))
    }

    /// Posts a receive. It ends at once if nothing can match it any more, because its source has failed.
    #[inline]
    pub fn post_recv(&mut self, pattern: Pattern, buf: Target<'static>, expected: Option<Expected>) -> OpId {
        let op = self.engine.recv_as(pattern, buf, expected);
        if self.failures.any() {
            self.end_now_if_lost(op);
        }
        op
    }

    #[cold]
    fn end_now_if_lost(&mut self, op: OpId) {
        if let Some(error) = self.engine.posted_pattern(op).and_then(|pattern| self.lost_source(&pattern, false)) {
            self.engine.fail(op, error);
        }
    }

    /// Ends an operation that a call waits for, if a failure ends it.
    pub(crate) fn end_lost(&mut self, op: OpId) {
        if let Some(Pending::Recv(pattern)) = self.engine.pending(op)
            && let Some(error) = self.lost_source(&pattern, true)
        {
            self.engine.fail(op, error);
        }
    }

    /// The same for an operation without a request; if one half of an exchange has failed, the other one is taken back.
    pub(crate) fn end_lost_active(&mut self, active: &Active) {
        match active {
            Active::Send(op) | Active::Recv(op) => self.end_lost(*op),
            Active::Exchange(exchange) => {
                if let Some(op) = exchange.recv {
                    self.end_lost(op);
                }
                let failed = |op: Option<OpId>| self.engine.outcome(op?)?.error.clone();
                let sent = exchange.sent.as_ref().and_then(|sent| sent.error.clone());
                let failure = failed(exchange.recv).or(sent).or_else(|| failed(exchange.send));
                let Some(error) = failure.filter(Error::is_survivable) else { return };
                for op in [exchange.recv, exchange.send].into_iter().flatten() {
                    self.engine.fail(op, error.clone());
                }
            }
            _ => {}
        }
    }

    /// Whether a request is a receive from any source that goes on although somebody has failed, whose failure is not
    /// acknowledged.
    pub fn pends_after_failure(&self, request: handle::Request) -> Option<Error> {
        if !self.failures.any() {
            return None;
        }
        let (Body::Once(active) | Body::Persistent(_, Some(active))) = &self.requests.get(request.0)?.body else {
            return None;
        };
        let op = match active {
            Active::Recv(op) => *op,
            Active::Exchange(exchange) => exchange.recv?,
            _ => return None,
        };
        let pattern = self.engine.posted_pattern(op)?;
        let error = self.lost_source(&pattern, true)?;
        Some(Error::new(MPIX_ERR_PROC_FAILED_PENDING, error.text()))
    }

    // ---- what programs ask ----

    /// The failed members of a communicator, in the order in which this process has heard of them.
    pub fn failed_members(&mut self, comm: handle::Comm) -> Result<Vec<Peer>> {
        self.look_for_news();
        let comm = self.comm(comm)?;
        Ok(self.failures.failed.iter().copied().filter(|failed| comm.has_member(*failed)).collect())
    }

    /// Those of a group.
    pub fn failed_of(&mut self, is_member: impl Fn(Peer) -> bool) -> Vec<Peer> {
        self.look_for_news();
        self.failures.failed.iter().copied().filter(|failed| is_member(*failed)).collect()
    }

    /// Those whose failure the program has acknowledged.
    pub fn acknowledged(&self, comm: handle::Comm) -> Result<Vec<Peer>> {
        let comm = self.comm(comm)?;
        let known = self.failures.failed.iter().take(comm.acknowledged);
        Ok(known.copied().filter(|failed| comm.has_member(*failed)).collect())
    }

    /// The failed members whose failure the program has not acknowledged.
    fn unacknowledged<'a>(&'a self, comm: &'a Comm) -> impl Iterator<Item = &'a Peer> {
        self.failures.failed.iter().skip(comm.acknowledged).filter(|failed| comm.has_member(**failed))
    }

    /// The first failed member for which a condition holds and whose failure is not acknowledged.
    pub(crate) fn is_acknowledged(&self, comm: &Comm, peer: Peer) -> bool {
        self.failures.failed.iter().take(comm.acknowledged).any(|failed| *failed == peer)
    }

    /// Acknowledges the failures of the first members that have failed; returns how many are acknowledged.
    pub fn acknowledge(&mut self, handle: handle::Comm, count: usize) -> Result<usize> {
        self.look_for_news();
        let comm = self.comm(handle)?;
        let members = self.failures.failed.iter().enumerate().filter(|(_, failed)| comm.has_member(**failed));
        let places: Vec<usize> = members.map(|(place, _)| place + 1).collect();
        let upto = places.iter().take(count).next_back().copied().unwrap_or(0).max(comm.acknowledged);
        self.comm_mut(handle)?.acknowledged = upto;
        Ok(places.iter().filter(|place| **place <= upto).count())
    }

    // ---- revoking ----

    /// Revokes a communicator for all its members.
    pub fn revoke(&mut self, handle: handle::Comm) -> Result<()> {
        let comm = self.comm(handle)?;
        if comm.group.is_empty() {
            bail!(MPI_ERR_COMM, "{} has no members yet: its request is not complete", comm.describe());
        }
        let (context, members) = (comm.context, comm.everybody());
        self.revoke_context(context, members.iter(), handle != MPI_COMM_SELF)
    }

    /// Revokes a context for some processes; `is_shared`: others than this one have it.
    pub fn revoke_context(&mut self, context: u32, members: impl Iterator<Item = Peer>, is_shared: bool) -> Result<()> {
        let members: Vec<Peer> = members.collect();
        if is_shared {
            self.spread_revocation(context, members)?;
        }
        self.note_revoked(context);
        self.look_for_news();
        self.sweep_runs();
        Ok(())
    }

    /// Tells the members of a context that it was revoked: in memory, through `mpirun` those of this job on other hosts, and all
    /// others by messages.
    fn spread_revocation(&mut self, context: u32, members: Vec<Peer>) -> Result<()> {
        let node = self.engine.node();
        let goes_on = node.goes_on();
        let elsewhere = members.iter().copied().filter(|member| node.home(*member).is_none());
        let (by_message, by_mpirun): (Vec<Peer>, Vec<Peer>) =
            elsewhere.partition(|member| node.is_foreign(*member) || !goes_on);
        let has_room = node.revoke(context, members.into_iter());
        if !by_mpirun.is_empty() {
            self.revoke_on_hosts(context)?;
        }
        by_message.into_iter().for_each(|member| self.engine.tell_revoked(member, context));
        if !has_room {
            bail!(MPI_ERR_NO_SPACE, "too many communicators, windows and files of this job were revoked");
        }
        Ok(())
    }

    /// This process has heard that a context was revoked. Where members are told by messages, it tells them, too: whoever began
    /// may have ended in the middle.
    fn pass_on_revocation(&mut self, context: u32) {
        let window = self.windows.iter().find(|(_, win)| win.context == context);
        let members: Vec<Peer> = match (window, self.comm_of(context)) {
            (Some((_, win)), _) => win.group.iter().collect(),
            (None, Some(comm)) => comm.everybody().iter().collect(),
            (None, None) => return,
        };
        let node = self.engine.node();
        let is_told_by_message =
            |member: &Peer| node.home(*member).is_none() && (node.is_foreign(*member) || !node.goes_on());
        if members.iter().any(is_told_by_message) {
            // This process knows of it in any case.
            let _ = self.spread_revocation(context, members);
        }
    }

    /// An error if a window was revoked.
    #[inline(always)]
    pub fn check_window(&self, win: handle::Win) -> Result<()> {
        if self.failures.any() { self.check_window_revoked(win) } else { Ok(()) }
    }

    #[cold]
    fn check_window_revoked(&self, win: handle::Win) -> Result<()> {
        let win = self.win(win)?;
        if self.failures.revoked.contains(&win.context) {
            return Err(revoked_error(&win.describe()));
        }
        Ok(())
    }
}
