//! Operations that only move data.
//!
//! Long blocks go in pieces, one round each. The writer waits for the readers only when its staging
//! buffer is full.

use super::{CallSignature, Node, Wait, demote_lines, pack, pieces, unpack, unpack_streaming};
use crate::local;
use oxmpi_abi::Result;
use oxmpi_abi::functions::Fun;
use oxmpi_base::board::ENTRY_BYTES;
use oxmpi_coll::choose::BoardWay;
use oxmpi_datatype::{Source, Target};

/// Bounds for the pieces of a broadcast: small enough that reading one overlaps writing the next.
const BROADCAST: (usize, usize) = (16 << 10, 64 << 10);

impl Node {
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
        let piece = (buf.len() / 2).clamp(BROADCAST.0, BROADCAST.1).next_multiple_of(64);
        for (at, bytes) in pieces(buf.len(), piece.min(self.chunk())) {
            if self.rank() == root {
                let round = self.open(wait, call)?;
                self.write(wait, round, buf, at, bytes)?;
                self.member.publish();
                self.wake_all(wait);
            } else {
                let round = self.listen(call)?;
                self.await_entry(wait, root)?;
                // SAFETY: the root has written `bytes` bytes there in this round.
                unsafe { unpack(buf, at, self.found(root, round, bytes), bytes) };
            }
            self.close(wait);
        }
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
        let Some(recv) = recv else {
            let Some(send) = send else { return Ok(()) };
            for (at, bytes) in pieces(block, self.chunk()) {
                let round = self.open(wait, call)?;
                self.write_for_one(wait, round, send, at, bytes)?;
                self.member.publish();
                self.wake(wait, root);
                self.close(wait);
            }
            return Ok(());
        };
        if let Some(send) = send {
            local::copy_part(send, 0, recv, root * block, block);
        }
        for (at, bytes) in pieces(block, self.chunk()) {
            let round = self.listen(call)?;
            for rank in self.others() {
                self.await_entry(wait, rank)?;
                // SAFETY: that rank has written `bytes` bytes there in this round.
                unsafe { unpack(recv, rank * block + at, self.found(rank, round, bytes), bytes) };
            }
            self.member.exchanged();
            self.close(wait);
        }
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
        let stride = self.stride(block);
        for (at, bytes) in pieces(block, stride) {
            match (send, recv) {
                (Some(send), _) => {
                    let round = self.open(wait, call)?;
                    let to = self.target(wait, round, bytes * self.ranks())?;
                    for rank in self.others() {
                        // SAFETY: our staging buffer has room for a piece for every rank.
                        unsafe { pack(send, rank * block + at, to.wrapping_add(rank * bytes), bytes) };
                    }
                    self.member.publish();
                    self.wake_all(wait);
                }
                (None, Some(recv)) => {
                    let round = self.listen(call)?;
                    self.await_entry(wait, root)?;
                    let from = self.found(root, round, bytes * self.ranks()).wrapping_add(self.rank() * bytes);
                    // SAFETY: the root has written our piece there.
                    unsafe { unpack(recv, at, from, bytes) };
                }
                (None, None) => return Ok(()),
            }
            self.close(wait);
        }
        if let (Some(send), Some(recv)) = (send, recv) {
            local::copy_part(send, root * block, recv, 0, block);
        }
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
        let own = self.rank() * block;
        let (from, start): (&Source<'_>, usize) = send.map_or((recv, own), |send| (send, 0));
        let unpack = unpack_for(way);
        for (at, bytes) in pieces(block, self.chunk()) {
            let round = self.open(wait, call)?;
            self.write(wait, round, from, start + at, bytes)?;
            self.member.publish();
            // Copied while the blocks of the others are on their way.
            if let Some(send) = send {
                local::copy_part(send, at, recv, own + at, bytes);
            }
            for rank in self.others() {
                self.await_entry(wait, rank)?;
                // SAFETY: that rank has written `bytes` bytes there in this round.
                unsafe { unpack(recv, rank * block + at, self.found(rank, round, bytes), bytes) };
            }
            self.exchanged(wait);
            self.close(wait);
        }
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
        let from = send.unwrap_or(recv);
        let unpack = unpack_for(way);
        for (at, bytes) in pieces(block, self.stride(block)) {
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
            for rank in self.others() {
                self.await_entry(wait, rank)?;
                let from = self.found(rank, round, bytes * self.ranks()).wrapping_add(self.rank() * bytes);
                // SAFETY: that rank has written our piece there.
                unsafe { unpack(recv, rank * block + at, from, bytes) };
            }
            self.exchanged(wait);
            self.close(wait);
        }
        Ok(())
    }

    /// The longest piece of a block when a rank writes one piece for every rank.
    fn stride(&self, block: usize) -> usize {
        let most = self.chunk() / self.ranks();
        // Whole cache lines, unless the blocks are small.
        if block <= most { block.max(1) } else { most & !63 }
    }
}

/// How the pieces of a receive buffer are filled.
fn unpack_for(way: BoardWay) -> unsafe fn(&Target<'_>, usize, *const u8, usize) {
    if way == BoardWay::PiecesPastCache { unpack_streaming } else { unpack }
}
