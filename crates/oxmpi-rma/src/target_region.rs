//! Finds the memory that an operation names in the window of a rank, and refuses what is not part
//! of the window.

use crate::far::origin::FarRank;
use crate::{Flavor, Reach, RemoteRun, Target, Window};
use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_datatype::{Cursor, Datatype, Region, Source, Target as Written};
use oxmpi_transport::Peer;
use std::sync::Arc;

/// Elements in a rank's window.
pub struct TargetRegion {
    pub buf: Region,
    /// The process whose addresses the buffer has, if it is another one of this node.
    pub process: Option<Peer>,
    /// The rank, if it is on another node; the buffer then has bytes from the start of its window as addresses.
    pub far: Option<FarRank>,
    pub rank: usize,
    /// The address of byte zero of the window, in the same process.
    pub origin: usize,
    /// The address that the displacement names.
    pub start: usize,
}

impl TargetRegion {
    /// The region as memory that this process can read; `None` when it is in another process.
    pub(crate) fn near_source(&self) -> Option<Source<'_>> {
        // SAFETY: `Window::target_region` found all of it inside a window that is mapped here or this process's own, and the
        // window keeps its memory for as long as it can be accessed.
        self.is_here().then(|| unsafe { Source::new(self.buf.clone()) })
    }

    /// The region as memory that this process can write.
    pub(crate) fn near_target(&self) -> Option<Written<'_>> {
        // SAFETY: `Window::target_region` found all of it inside a window that is mapped here or
        // this process's own; others access the same memory, but no Rust reference covers it.
        self.is_here().then(|| unsafe { Written::new(self.buf.clone()) })
    }

    fn is_here(&self) -> bool {
        self.process.is_none() && self.far.is_none()
    }

    /// The region as a run in another process; `None` when it has gaps, or is in this process.
    pub fn remote_run(&self) -> Option<RemoteRun> {
        let address = self.buf.as_dense()?.addr();
        let offset = address.wrapping_sub(self.origin);
        self.process.map(|process| RemoteRun { rank: self.rank, process, address, offset })
    }
}

impl Window {
    /// So many elements of a type at a displacement in a rank's window.
    pub fn target_region(&self, rank: usize, disp: i64, count: u64, datatype: &Arc<Datatype>) -> Result<TargetRegion> {
        let target = &self.targets[rank];
        // The span of the elements, from the address that the displacement names.
        let span = (i128::from(count) - 1).max(0) * datatype.extent();
        let (low, high) = match count == 0 || datatype.size() == 0 {
            true => (0, 0),
            false => {
                let low = datatype.true_lb();
                (low + span.min(0), low + datatype.true_extent() + span.max(0))
            }
        };
        let (start, base) = if self.flavor == Flavor::Dynamic {
            // Only the agent of its node knows what a rank there has attached.
            if target.reach != Reach::Agent {
                self.check_attached(rank, disp, (low, high), count, datatype)?;
            }
            (i128::from(disp), std::ptr::null_mut())
        } else {
            if disp < 0 {
                bail!(MPI_ERR_DISP, "the displacement is {disp}, which is negative");
            }
            let start = i128::from(disp) * i128::from(target.unit);
            if start + low < 0 || start + high > target.size as i128 {
                return Err(self.out_of_range(rank, disp, start + low, start + high));
            }
            (start, target.base)
        };
        let direct = target.reach == Reach::Here;
        let origin = if direct { base } else { remote(target) };
        let named = origin.wrapping_offset(start as isize);
        Ok(TargetRegion {
            buf: Region::typed(named, count, datatype),
            process: (target.reach == Reach::Process).then_some(target.process),
            far: self.far_rank(rank),
            rank,
            origin: origin.addr(),
            start: named.addr(),
        })
    }

    #[cold]
    fn out_of_range(&self, rank: usize, disp: i64, from: i128, to: i128) -> Error {
        let Target { size, unit, .. } = self.targets[rank];
        let text = format!(
            "bytes {from} to {to} of the memory of rank {rank} (displacement {disp} in units of {unit} bytes) are not \
             all in its window, which has {size} bytes"
        );
        Error::new(MPI_ERR_RMA_RANGE, text)
    }

    /// An error unless all bytes of the elements are attached; gaps between them need not be.
    fn check_attached(
        &self,
        rank: usize,
        disp: i64,
        (low, high): (i128, i128),
        count: u64,
        datatype: &Arc<Datatype>,
    ) -> Result<()> {
        let (from, bytes) = (i128::from(disp) + low, high - low);
        let (Ok(first), Ok(all)) = (u64::try_from(from), u64::try_from(bytes)) else {
            return Err(not_attached(rank, from, bytes));
        };
        let table = self.control.attached(rank);
        if all == 0 || table.contains(first, all, || self.is_gone(rank)) {
            return Ok(());
        }
        let buf = Region::typed(std::ptr::without_provenance_mut(disp as usize), count, datatype);
        let mut cursor = Cursor::new();
        let mut pieces = Vec::new();
        while cursor.iovecs(&buf, &mut pieces, PIECES_AT_A_TIME, usize::MAX) > 0 {
            for (address, bytes) in pieces.drain(..) {
                if !table.contains(address as u64, bytes as u64, || self.is_gone(rank)) {
                    return Err(not_attached(rank, address as i128, bytes as i128));
                }
            }
        }
        Ok(())
    }
}

const PIECES_AT_A_TIME: usize = 1024;

#[cold]
fn not_attached(rank: usize, from: i128, bytes: i128) -> Error {
    let text = format!("rank {rank} has not attached all of the {bytes} bytes from address {from:#x} on");
    Error::new(MPI_ERR_RMA_RANGE, text)
}

/// The address of memory in another process, as a pointer that is never dereferenced here.
fn remote(target: &Target) -> *mut u8 {
    std::ptr::without_provenance_mut(target.address)
}
