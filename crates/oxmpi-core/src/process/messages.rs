//! Requests of messages: starting them, asking whether they are done, and buffered sends.

use super::Process;
use crate::buffer::BufferPool;
use crate::check;
use crate::comm::Comm;
use crate::engine::{Engine, OpId, Outcome, Route};
use crate::record;
use crate::request::{Active, Body, Plain, PoolId, Request, Start};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle;
use oxmpi_abi::{Result, Status, bail};
use oxmpi_datatype::{OwnedBytes, Source};
use std::sync::{Arc, Mutex};

impl Process {
    /// The buffer that a buffered send on this communicator uses.
    fn pool_for(&self, comm: handle::Comm) -> PoolId {
        match self.comm(comm) {
            Ok(comm) if comm.buffer.is_some() => PoolId::Comm(comm.handle),
            Ok(Comm { session: Some(session), .. })
                if self.session_buffers.get(session).is_some_and(Option::is_some) =>
            {
                PoolId::Session(*session)
            }
            _ => PoolId::Process,
        }
    }

    /// Where a buffer for buffered sends is or would be attached.
    pub fn pool_slot(&mut self, id: PoolId) -> Result<(&mut Option<BufferPool>, &mut Engine)> {
        // Checked first, so that the borrows below are of different fields.
        match id {
            PoolId::Process => return Ok((&mut self.buffer, &mut self.engine)),
            PoolId::Comm(handle) => {
                self.comm_mut(handle)?;
            }
            PoolId::Session(_) => {}
        }
        let engine = &mut self.engine;
        let slot = match id {
            PoolId::Comm(handle) => match self.comms.get_mut(handle) {
                Some(comm) => &mut comm.buffer,
                None => unreachable!("checked above"),
            },
            PoolId::Session(handle) => self.session_buffers.entry(handle).or_default(),
            PoolId::Process => unreachable!("returned above"),
        };
        Ok((slot, engine))
    }

    /// A buffered send: complete for the caller when this returns.
    pub fn send_buffered(&mut self, comm: handle::Comm, route: &Route, buf: &Source<'_>) -> Result<()> {
        let (slot, engine) = self.pool_slot(self.pool_for(comm))?;
        let Some(pool) = slot else {
            bail!(MPI_ERR_BUFFER, "no buffer is attached for buffered sends (MPI_Buffer_attach)");
        };
        pool.check_room(engine, buf.len())?;
        let bytes = OwnedBytes::packed(buf);
        let length = bytes.len();
        if let Some(op) = engine.send_stored(route, bytes) {
            pool.add(op, length);
        }
        Ok(())
    }

    /// Starts what a persistent request describes.
    pub fn begin(&mut self, start: &Start) -> Result<Active> {
        let done = || Active::Done(Outcome::sent());
        Ok(match start {
            Start::Send { mode, route, buf } => {
                self.engine.send(*mode, route, buf.clone()).map_or_else(done, Active::Send)
            }
            Start::Buffered { comm, route, buf } => {
                self.send_buffered(*comm, route, buf)?;
                done()
            }
            Start::Recv { pattern, buf, expected } => {
                if let Some(expected) = expected {
                    expected.started();
                }
                Active::Recv(self.post_recv(*pattern, buf.clone(), expected.clone()))
            }
            Start::Collective(bound_plan, kept) => {
                record::started(*kept);
                Active::Promise(self.perform_later(Arc::clone(bound_plan)))
            }
            Start::OnBoard(operation, kept) => {
                record::started(*kept);
                Active::Promise(self.start_kept(operation)?)
            }
            Start::Outgoing(plan) => Active::Sending(Box::new(plan.start())),
            Start::Incoming(plan) => {
                let started = Arc::new(Mutex::new(plan.start()));
                self.receiving.push(Arc::clone(&started));
                self.progress_partitioned();
                Active::Receiving(started)
            }
            Start::Nothing(status) => Active::Done(Outcome { status: *status, error: None }),
        })
    }

    /// Makes a request for a send that was started; a complete one needs no slot of its own.
    #[inline]
    pub fn send_request(&mut self, comm: handle::Comm, op: Option<OpId>) -> handle::Request {
        match op {
            Some(op) => self.once(comm, Active::Send(op)),
            // To know which ones were never completed.
            None if check::is_on() => self.once(comm, Active::Done(Outcome::sent())),
            None => self.sent,
        }
    }

    /// Completes a plain send or receive that is done, the common case of every wait: stores its
    /// status where it is wanted.
    #[inline]
    pub fn finish_plain(&mut self, handle: handle::Request, status: Option<&mut Status>) -> Plain {
        if check::is_on() {
            return Plain::Other;
        }
        if handle == self.sent {
            if let Some(status) = status {
                status.assign(&Status::empty());
            }
            return Plain::Done;
        }
        let Some(request) = self.requests.get(handle.0) else { return Plain::Other };
        let Body::Once(Active::Send(op) | Active::Recv(op)) = request.body else { return Plain::Other };
        let comm = request.comm;
        let Some(error) = self.engine.finish(op, status) else { return Plain::Pending };
        // `forget`: a plain request has nothing to drop, but the compiler would check.
        std::mem::forget(self.requests.remove(handle.0));
        match error {
            None => Plain::Done,
            Some(error) => Plain::Failed(error, comm),
        }
    }

    #[inline]
    pub fn once(&mut self, comm: handle::Comm, active: Active) -> handle::Request {
        handle::Request(self.requests.insert(Request { comm, body: Body::Once(active) }))
    }

    /// The position of a completed send or receive in the order of completion; 0 for other
    /// requests.
    pub fn place_of(&self, handle: handle::Request) -> u64 {
        match self.requests.get(handle.0).map(|request| &request.body) {
            Some(Body::Once(active) | Body::Persistent(_, Some(active))) => match active {
                Active::Send(op) | Active::Recv(op) => self.engine.place(*op),
                _ => 0,
            },
            _ => 0,
        }
    }

    /// Whether an active request is done; an inactive one counts as done.
    #[inline]
    pub fn is_request_done(&mut self, handle: handle::Request) -> Result<bool> {
        let Process { requests, engine, buffer, comms, session_buffers, .. } = self;
        let Some(request) = requests.get_mut(handle.0) else { return Err(self.bad_request(handle)) };
        Ok(match &mut request.body {
            Body::Generalized(generalized) => generalized.complete,
            Body::Sent | Body::Persistent(_, None) => true,
            Body::Once(active) | Body::Persistent(_, Some(active)) => active.is_done(engine, |engine, pool, mark| {
                let pool = match pool {
                    PoolId::Process => buffer.as_mut(),
                    PoolId::Comm(comm) => comms.get_mut(comm).and_then(|comm| comm.buffer.as_mut()),
                    PoolId::Session(session) => session_buffers.get_mut(&session).and_then(Option::as_mut),
                };
                pool.is_none_or(|pool| pool.is_flushed(engine, mark))
            }),
        })
    }
}
