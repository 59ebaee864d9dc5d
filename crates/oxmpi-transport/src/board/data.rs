//! Operations that only move data.
//!
//! Long blocks go in pieces, one round each. The writer waits for the readers only when its staging
//! buffer is full.

use super::{CallSignature, SharedBoard, Wait, demote_lines, pack, pieces, unpack, unpack_streaming};
use crate::local;
use oxmpi_abi::Result;
use oxmpi_abi::functions::Fun;
use oxmpi_base::board::ENTRY_BYTES;
use oxmpi_coll::choose::BoardWay;
use oxmpi_datatype::{Source, Target};

/// Bounds for the pieces of a broadcast: small enough that reading one overlaps writing the next.
const BROADCAST: (usize, usize) = (16 << 10, 64 << 10);

impl SharedBoard {
    /// `MPI_Bcast`.
    pub fn bcast(&mut self, wait: &mut impl Wait, root: usize, buf: &Target<'_>) -> Result<()> {
        let call = CallSignature::rooted(Fun::Bcast, None, root, buf.len());
        self.balance_cpu(buf.len());
        if std::mem::take(&mut self.arrived) {
            self.sender = Some(root);
        }
        if self.choices.bcast.of(buf.len()) == BoardWay::Direct {
            return self.bcast_directly(wait, call, root, buf);
        }
        for piece in pieces(buf.len(), self.bcast_piece(buf.len())) {
            self.begin_bcast(wait, call, root, buf, piece)?;
            self.end_bcast(wait, root, buf, piece)?;
        }
        Ok(())
    }

    /// The longest piece of a broadcast of so many bytes.
    pub(super) fn bcast_piece(&self, bytes: usize) -> usize {
        (bytes / 2).clamp(BROADCAST.0, BROADCAST.1).next_multiple_of(64).min(self.chunk())
    }

    #[inline]
    pub(super) fn begin_bcast(
        &mut self,
        wait: &mut impl Wait,
        call: CallSignature,
        root: usize,
        buf: &Target<'_>,
        (at, bytes): (usize, usize),
    ) -> Result<()> {
        if self.rank() != root {
            return self.listen(call).map(drop);
        }
        let round = self.open(wait, call)?;
        self.write(wait, round, buf, at, bytes)?;
        self.member.publish();
        self.wake_all(wait);
        Ok(())
    }

    #[inline]
    pub(super) fn end_bcast(
        &mut self,
        wait: &mut impl Wait,
        root: usize,
        buf: &Target<'_>,
        (at, bytes): (usize, usize),
    ) -> Result<()> {
        if self.rank() != root {
            self.await_entry(wait, root)?;
            // SAFETY: the root has written `bytes` bytes there in this round.
            unsafe { unpack(buf, at, self.found(root, self.member.round(), bytes), bytes) };
        }
        self.close(wait);
        Ok(())
    }

    /// `MPI_Gather`: `send` is our block (`None` at a root that is in place), `recv` the root's
    /// buffer for all blocks.
    pub fn gather(
        &mut self,
        wait: &mut impl Wait,
        root: usize,
        block: usize,
        send: Option<&Source<'_>>,
        recv: Option<&Target<'_>>,
    ) -> Result<()> {
        let call = CallSignature::rooted(Fun::Gather, None, root, block);
        if self.choices.gather.of(block) == BoardWay::Direct {
            return self.gather_directly(wait, call, root, block, send, recv);
        }
        for piece in pieces(block, self.chunk()) {
            self.begin_gather(wait, call, root, send, piece)?;
            self.end_gather(wait, root, block, send, recv, piece)?;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn begin_gather(
        &mut self,
        wait: &mut impl Wait,
        call: CallSignature,
        root: usize,
        send: Option<&Source<'_>>,
        (at, bytes): (usize, usize),
    ) -> Result<()> {
        let Some(send) = send.filter(|_| self.rank() != root) else { return self.listen(call).map(drop) };
        let round = self.open(wait, call)?;
        self.write_for_one(wait, round, send, at, bytes)?;
        self.member.publish();
        self.wake(wait, root);
        Ok(())
    }

    #[inline]
    pub(super) fn end_gather(
        &mut self,
        wait: &mut impl Wait,
        root: usize,
        block: usize,
        send: Option<&Source<'_>>,
        recv: Option<&Target<'_>>,
        (at, bytes): (usize, usize),
    ) -> Result<()> {
        if let Some(recv) = recv {
            if let Some(send) = send {
                local::copy_part(send, at, recv, root * block + at, bytes);
            }
            let round = self.member.round();
            for rank in self.others() {
                self.await_entry(wait, rank)?;
                // SAFETY: that rank has written `bytes` bytes there in this round.
                unsafe { unpack(recv, rank * block + at, self.found(rank, round, bytes), bytes) };
            }
            self.member.exchanged();
        }
        self.close(wait);
        Ok(())
    }

    /// `MPI_Scatter`: `send` is the root's buffer of all blocks, `recv` our block (`None` at a root
    /// that is in place).
    pub fn scatter(
        &mut self,
        wait: &mut impl Wait,
        root: usize,
        block: usize,
        send: Option<&Source<'_>>,
        recv: Option<&Target<'_>>,
    ) -> Result<()> {
        let call = CallSignature::rooted(Fun::Scatter, None, root, block);
        if self.choices.scatter.of(block) == BoardWay::Direct {
            return self.scatter_directly(wait, call, root, block, send, recv);
        }
        for piece in pieces(block, self.stride(block)) {
            self.begin_scatter(wait, call, block, send, piece)?;
            self.end_scatter(wait, root, block, send, recv, piece)?;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn begin_scatter(
        &mut self,
        wait: &mut impl Wait,
        call: CallSignature,
        block: usize,
        send: Option<&Source<'_>>,
        (at, bytes): (usize, usize),
    ) -> Result<()> {
        let Some(send) = send else { return self.listen(call).map(drop) };
        let round = self.open(wait, call)?;
        let to = self.target(wait, round, bytes * self.ranks())?;
        for rank in self.others() {
            // SAFETY: our staging buffer has room for a piece for every rank.
            unsafe { pack(send, rank * block + at, to.wrapping_add(rank * bytes), bytes) };
        }
        self.member.publish();
        self.wake_all(wait);
        Ok(())
    }

    #[inline]
    pub(super) fn end_scatter(
        &mut self,
        wait: &mut impl Wait,
        root: usize,
        block: usize,
        send: Option<&Source<'_>>,
        recv: Option<&Target<'_>>,
        (at, bytes): (usize, usize),
    ) -> Result<()> {
        match (send, recv) {
            (Some(send), Some(recv)) => local::copy_part(send, root * block + at, recv, at, bytes),
            (None, Some(recv)) => {
                self.await_entry(wait, root)?;
                let from = self.found(root, self.member.round(), bytes * self.ranks());
                // SAFETY: the root has written our piece there.
                unsafe { unpack(recv, at, from.wrapping_add(self.rank() * bytes), bytes) };
            }
            (_, None) => {}
        }
        self.close(wait);
        Ok(())
    }

    /// `MPI_Allgather`: `send` is our block; `None` when it is in place.
    pub fn allgather(
        &mut self,
        wait: &mut impl Wait,
        block: usize,
        send: Option<&Source<'_>>,
        recv: &Target<'_>,
    ) -> Result<()> {
        let call = CallSignature::of(Fun::Allgather, None, block);
        self.balance_cpu(block * self.ranks());
        let way = self.choices.allgather.of(block);
        if way == BoardWay::Direct {
            return self.allgather_directly(wait, call, block, send, recv);
        }
        for piece in pieces(block, self.chunk()) {
            self.begin_allgather(wait, call, block, send, recv, piece)?;
            self.end_allgather(wait, way, block, recv, piece)?;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn begin_allgather(
        &mut self,
        wait: &mut impl Wait,
        call: CallSignature,
        block: usize,
        send: Option<&Source<'_>>,
        recv: &Target<'_>,
        (at, bytes): (usize, usize),
    ) -> Result<()> {
        let own = self.rank() * block;
        let (from, start): (&Source<'_>, usize) = send.map_or((recv, own), |send| (send, 0));
        let round = self.open(wait, call)?;
        self.write(wait, round, from, start + at, bytes)?;
        self.member.publish();
        // Copied while the blocks of the others are on their way.
        if let Some(send) = send {
            local::copy_part(send, at, recv, own + at, bytes);
        }
        Ok(())
    }

    #[inline]
    pub(super) fn end_allgather(
        &mut self,
        wait: &mut impl Wait,
        way: BoardWay,
        block: usize,
        recv: &Target<'_>,
        (at, bytes): (usize, usize),
    ) -> Result<()> {
        let (unpack, round) = (unpack_for(way), self.member.round());
        for rank in self.others() {
            self.await_entry(wait, rank)?;
            // SAFETY: that rank has written `bytes` bytes there in this round.
            unsafe { unpack(recv, rank * block + at, self.found(rank, round, bytes), bytes) };
        }
        self.exchanged(wait);
        self.close(wait);
        Ok(())
    }

    /// `MPI_Alltoall`: `send` and `recv` have a block for every rank; `send` is `None` for in place.
    pub fn alltoall(
        &mut self,
        wait: &mut impl Wait,
        block: usize,
        send: Option<&Source<'_>>,
        recv: &Target<'_>,
    ) -> Result<()> {
        let call = CallSignature::of(Fun::Alltoall, None, block);
        self.balance_cpu(block * self.ranks());
        let way = self.choices.alltoall.of(block);
        if way == BoardWay::Direct {
            return self.alltoall_directly(wait, call, block, send, recv);
        }
        for piece in pieces(block, self.stride(block)) {
            self.begin_alltoall(wait, call, block, send, recv, piece)?;
            self.end_alltoall(wait, way, block, recv, piece)?;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn begin_alltoall(
        &mut self,
        wait: &mut impl Wait,
        call: CallSignature,
        block: usize,
        send: Option<&Source<'_>>,
        recv: &Target<'_>,
        (at, bytes): (usize, usize),
    ) -> Result<()> {
        let from = send.unwrap_or(recv);
        let round = self.open(wait, call)?;
        let to = self.target(wait, round, bytes * self.ranks())?;
        for rank in self.others() {
            let to = to.wrapping_add(rank * bytes);
            // SAFETY: our staging buffer has room for a piece for every rank.
            unsafe { pack(from, rank * block + at, to, bytes) };
            if self.ranks() == 2 && bytes * 2 > ENTRY_BYTES {
                demote_lines(to, bytes);
            }
        }
        self.member.publish();
        if let Some(send) = send {
            let own = self.rank() * block + at;
            local::copy_part(send, own, recv, own, bytes);
        }
        Ok(())
    }

    #[inline]
    pub(super) fn end_alltoall(
        &mut self,
        wait: &mut impl Wait,
        way: BoardWay,
        block: usize,
        recv: &Target<'_>,
        (at, bytes): (usize, usize),
    ) -> Result<()> {
        let (unpack, round) = (unpack_for(way), self.member.round());
        for rank in self.others() {
            self.await_entry(wait, rank)?;
            let from = self.found(rank, round, bytes * self.ranks()).wrapping_add(self.rank() * bytes);
            // SAFETY: that rank has written our piece there.
            unsafe { unpack(recv, rank * block + at, from, bytes) };
        }
        self.exchanged(wait);
        self.close(wait);
        Ok(())
    }

    /// The longest piece of a block when a rank writes one piece for every rank.
    pub(super) fn stride(&self, block: usize) -> usize {
        let most = self.chunk() / self.ranks();
        // Whole cache lines, unless the blocks are small.
        if block <= most { block.max(1) } else { most & !63 }
    }
}

/// How the pieces of a receive buffer are filled.
fn unpack_for(way: BoardWay) -> unsafe fn(&Target<'_>, usize, *const u8, usize) {
    if way == BoardWay::PiecesPastCache { unpack_streaming } else { unpack }
}
