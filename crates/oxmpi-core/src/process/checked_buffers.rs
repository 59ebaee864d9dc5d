//! Buffers of operations under way, for `--check` (`check/buffers.rs`).

use super::Process;
use crate::check;
use crate::check::buffers::{LocalUse, MOST, PROPOSED, Use};
use crate::check::message::Expected;
use crate::check::origins;
use crate::request::{Active, Body};
use oxmpi_abi::functions::Fun;
use oxmpi_base::callers::{CALLERS, callers};
use oxmpi_base::thread_number::thread_number;
use oxmpi_check::Finding;
use oxmpi_check::catalogue::{BUF_EARLY, BUF_OVERLAP, BUF_RECV, BUF_SEND, REQ_FREED, RMA_ORIGIN, THREAD_REQUEST};

impl Process {
    /// A call is about to use buffers. With `stays` they may become pending.
    #[cold]
    pub fn propose_buffers(&mut self, mut uses: Vec<Use>, stays: bool) {
        self.forget_copies();
        let mut pending = std::mem::take(&mut self.buffers.pending);
        pending.retain(|(handle, _)| self.is_pending(*handle));
        for (index, one) in uses.iter().enumerate() {
            let clash = uses[..index].iter().find(|other| (one.writes || other.writes) && one.overlaps(other));
            if let Some(other) = clash {
                let text = format!("{} a buffer that the same call {}", one.what(), other.verb());
                check::tell(self.engine.node(), &BUF_OVERLAP, text);
            }
        }
        if pending.len() <= MOST {
            for one in &uses {
                let clash = pending.iter().find(|(_, other)| (one.writes || other.writes) && one.overlaps(other));
                if let Some((_, other)) = clash {
                    let text =
                        format!("{} a buffer while {} it, whose request is not complete", one.what(), other.what());
                    check::tell(self.engine.node(), &BUF_OVERLAP, text);
                }
            }
        }
        self.buffers.pending = pending;
        for one in &uses {
            let clash = |other: &&LocalUse| (one.writes || other.one.writes) && one.overlaps(&other.one);
            if let Some(other) = self.buffers.accesses.iter().find(clash) {
                let text = format!("{} a buffer while {} it, which is not complete", one.what(), other.one.what());
                check::tell(self.engine.node(), &RMA_ORIGIN, text);
            }
        }
        if !stays {
            uses.clear();
        }
        for one in uses.iter_mut().filter(|one| !one.writes) {
            one.hash = Some(one.buffer.checksum());
        }
        PROPOSED.set(uses);
    }

    /// A call is about to make a persistent request, whose operations use buffers.
    #[cold]
    pub fn propose_kept_buffers(&mut self, uses: Vec<Use>) {
        PROPOSED.set(uses);
    }

    /// The operation of the proposed buffers has a request.
    #[cold]
    pub fn bind_buffers(&mut self, handle: usize, fun: Fun) {
        // Others are of a call that has made no request.
        let uses = PROPOSED.take().into_iter().filter(|one| one.fun == fun);
        match self.requests.get(handle).map(|request| &request.body) {
            None => {}
            Some(Body::Persistent(_, None)) => {
                self.buffers.kept.insert(handle, uses.collect());
                self.keep_call(handle, fun);
            }
            Some(_) => uses.for_each(|one| self.bind_buffer(handle, one)),
        }
    }

    fn bind_buffer(&mut self, handle: usize, mut one: Use) {
        if one.writes && self.is_over(handle) {
            one.result = Some(one.buffer.checksum());
        }
        if let Some(expected) = &one.expected {
            let is_over = self.is_over(handle);
            expected.posted(is_over, &one.buffer);
        }
        if self.buffers.pending.len() <= MOST {
            one.watch(if one.writes { self.buffers.watchpoints() } else { 0 });
            self.buffers.pending.push((handle, one));
        }
    }

    /// A persistent request is about to be started.
    #[cold]
    pub fn propose_start(&mut self, handle: usize) {
        self.buffers.has_started = true;
        // A message in ready mode that is here has come too early.
        self.engine.progress();
        let uses = self.buffers.kept.get(&handle).map(|uses| uses.iter().map(Use::again).collect());
        self.propose_buffers(uses.unwrap_or_default(), true);
    }

    /// It was started.
    #[cold]
    pub fn bind_start(&mut self, handle: usize) {
        PROPOSED.take().into_iter().for_each(|one| self.bind_buffer(handle, one));
    }

    /// A part of the buffer of a request is about to be read, in addition to others.
    #[cold]
    pub fn bind_part(&mut self, handle: usize, one: Use) {
        self.propose_buffers(vec![one], true);
        self.bind_start(handle);
    }

    /// Results that the library has written since: nobody else may change them before the request is complete.
    #[cold]
    pub(crate) fn hash_results_of_requests(&mut self) {
        let mut pending = std::mem::take(&mut self.buffers.pending);
        for (handle, one) in pending.iter_mut().filter(|(_, one)| one.writes && one.result.is_none()) {
            if self.is_pending(*handle) && self.is_over(*handle) {
                one.result = Some(one.buffer.checksum());
            }
        }
        self.buffers.pending = pending;
    }

    fn is_over(&mut self, handle: usize) -> bool {
        self.is_request_done(oxmpi_abi::handle::Request(handle)).unwrap_or(false)
    }

    /// Whether a request has an operation under way.
    fn is_pending(&self, handle: usize) -> bool {
        match self.requests.get(handle).map(|request| &request.body) {
            Some(Body::Persistent(_, active)) => active.is_some(),
            Some(_) => true,
            None => false,
        }
    }

    /// The program completes the operation of a request.
    #[cold]
    pub fn complete_buffers(&mut self, handle: usize) {
        self.give_held_members();
        self.buffers.cancelled.remove(&handle);
        // A persistent request lives on.
        let is_persistent = matches!(self.requests.get(handle).map(|found| &found.body), Some(Body::Persistent(..)));
        if !is_persistent {
            origins::forget(handle);
        }
        while let Some(at) = self.buffers.pending.iter().position(|(of, _)| *of == handle) {
            let (_, one) = self.buffers.pending.swap_remove(at);
            let was_cancelled = self.is_cancelled(handle);
            if was_cancelled {
                continue;
            }
            let fun = one.fun.name();
            if one.hash.is_some_and(|hash| hash != one.buffer.checksum()) {
                let text = format!("the buffer of {fun} was changed before its request was complete");
                check::tell(self.engine.node(), &BUF_SEND, text);
            }
            let used_at = one.used_at();
            let line = used_at.map(|address| -> [u64; CALLERS] { [address, 0] });
            let was_changed = one.result.is_some_and(|hash| hash != one.buffer.checksum());
            if was_changed || one.expected.as_ref().is_some_and(|expected| expected.has_changed(&one.buffer)) {
                let text = format!("the buffer of {fun} was changed by the program before its request was complete");
                let callers = line.unwrap_or_else(callers);
                check::tell_finding(self.engine.node(), Finding::new(&BUF_RECV, text), Some(callers));
            } else if line.is_some() && !one.expected.as_ref().is_some_and(Expected::was_told) {
                let text = format!("the buffer of {fun} was used by the program before its request was complete");
                check::tell_finding(self.engine.node(), Finding::new(&BUF_EARLY, text), line);
            }
            if let Some(expected) = &one.expected {
                expected.renew();
            }
        }
    }

    fn is_cancelled(&self, handle: usize) -> bool {
        match self.requests.get(handle).map(|request| &request.body) {
            Some(Body::Once(active) | Body::Persistent(_, Some(active))) => active.peek(&self.engine).is_cancelled(),
            _ => false,
        }
    }

    /// A thread is about to wait for a request.
    #[cold]
    pub fn begin_wait(&mut self, handle: usize) {
        let (own, buffers) = (thread_number(), &mut self.buffers);
        let other = buffers.waits.iter().any(|wait| wait.0 == handle && wait.1 != own);
        // A wait of a thread ends with it, also with an error.
        buffers.waits.retain(|wait| wait.1 != own);
        if !self.is_pending(handle) {
            if !self.buffers.has_started && self.requests.get(handle).is_some() {
                let fun = origins::of(handle).map(|origin| origin.fun);
                self.buffers.never_started.entry(fun).or_insert_with(|| Some(callers()));
            }
            return;
        }
        self.buffers.waits.push((handle, own));
        if other {
            let fun = origins::of(handle).map_or("another call", |origin| origin.fun.name());
            let text = format!("the request of {fun} is waited for by two threads at once");
            check::tell(self.engine.node(), &THREAD_REQUEST, text);
        }
    }

    /// The request is complete.
    #[cold]
    pub fn end_wait(&mut self, handle: usize) {
        self.buffers.waits.retain(|wait| wait.0 != handle);
    }

    /// The program has cancelled the operation of a request.
    #[cold]
    pub fn note_cancelled(&mut self, handle: usize) {
        self.buffers.cancelled.insert(handle);
    }

    /// A request is about to be freed. Nobody will know when its receive is complete.
    #[cold]
    pub fn note_freed(&self, handle: usize) {
        let body = self.requests.get(handle).map(|request| &request.body);
        // A cancelled one may be freed: what it would bring is not wanted.
        if self.buffers.cancelled.contains(&handle) {
            return;
        }
        if let Some(Body::Once(Active::Recv(..)) | Body::Persistent(_, Some(Active::Recv(..)))) = body {
            let fun = origins::of(handle).map_or("a receive", |origin| origin.fun.name());
            let text = format!("the request of {fun} was freed while active: nobody knows when the message is there");
            check::tell(self.engine.node(), &REQ_FREED, text);
        }
    }

    /// A request was freed: nobody knows when its operation ends.
    #[cold]
    pub fn forget_buffers(&mut self, handle: usize) {
        self.give_held_members();
        origins::forget(handle);
        self.buffers.cancelled.remove(&handle);
        self.buffers.kept.remove(&handle);
        self.call_table.kept.remove(&handle);
        self.release_buffers(handle);
    }

    /// The program knows that the operation of a request is complete.
    #[cold]
    pub fn release_buffers(&mut self, handle: usize) {
        self.buffers.pending.retain(|(of, _)| *of != handle);
    }
}
