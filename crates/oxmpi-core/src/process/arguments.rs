//! Arguments that name objects: buffers of a datatype, and the ranks and tags of messages.

use super::Process;
use crate::checks::{FIRST_ADDRESS, bad_address, bad_rank, bad_tag, check_count, check_usable, overlapping};
use crate::comm::Comm;
use crate::engine::Route;
use crate::matching::Pattern;
use oxmpi_abi::Result;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle;
use oxmpi_base::{huge, valgrind};
use oxmpi_datatype::{Region, Signature};

impl Process {
    /// A buffer argument: pointer, count and type as the user passed them, checked as far as
    /// possible. The program promises that the memory is valid; the C boundary relies on that when
    /// it makes a source or a target from the region.
    #[inline]
    pub fn buffer(&self, address: *const u8, count: i64, datatype: handle::Datatype) -> Result<Region> {
        check_count(count)?;
        if let Some(size) = oxmpi_datatype::dense_size(datatype.0)
            && let Some(bytes) = (count as usize).checked_mul(size).filter(|&bytes| bytes <= isize::MAX as usize)
        {
            if bytes > 0 && (address as usize) < FIRST_ADDRESS {
                return Err(bad_address(address as usize));
            }
            if bytes >= huge::LONG {
                huge::used(address as usize, bytes);
            }
            return Ok(Region::dense(address.cast_mut(), bytes));
        }
        self.buffer_typed(address, count, datatype)
    }

    /// A buffer argument that will be written to.
    #[inline]
    pub fn target(&self, address: *const u8, count: i64, datatype: handle::Datatype) -> Result<Region> {
        let buf = self.buffer(address, count, datatype)?;
        if buf.overlaps() { Err(overlapping()) } else { Ok(buf) }
    }

    #[inline(never)]
    fn buffer_typed(&self, address: *const u8, count: i64, datatype: handle::Datatype) -> Result<Region> {
        let found = self.datatype(datatype)?;
        check_usable(found, count)?;
        if address as usize == MPI_IN_PLACE {
            return Err(bad_address(address as usize));
        }
        // A null address is MPI_BOTTOM, valid for a type of absolute addresses; for a type whose
        // data starts at or near zero it can only be a mistake.
        let first = address as i128 + found.true_lb();
        if found.size() > 0 && count > 0 && first >= 0 && first < FIRST_ADDRESS as i128 {
            return Err(bad_address(address as usize));
        }
        if valgrind::is_on() {
            oxmpi_datatype::define_padding(address as usize, count as u64, found);
        }
        Ok(Region::typed(address.cast_mut(), count as u64, found))
    }

    /// The route of a message to `dest`; `None` for `MPI_PROC_NULL`.
    #[inline]
    pub fn route(&self, comm: &Comm, dest: i32, tag: i32) -> Result<Option<Route>> {
        if tag < 0 {
            return Err(bad_tag(tag, false));
        }
        if comm.trouble.is_some() {
            comm.check_not_revoked()?;
        }
        if (dest as u32) < comm.size() as u32 {
            let peer = comm.peer(dest);
            return Ok(Some(Route { peer, context: comm.context, source: comm.rank, tag, signature: Signature::NONE }));
        }
        if dest == MPI_PROC_NULL { Ok(None) } else { Err(bad_rank(comm, dest, false)) }
    }

    /// What a receive from `source` accepts; `None` for `MPI_PROC_NULL`.
    #[inline]
    pub fn pattern(&self, comm: &Comm, source: i32, tag: i32) -> Result<Option<Pattern>> {
        if tag < 0 && tag != MPI_ANY_TAG {
            return Err(bad_tag(tag, true));
        }
        if comm.trouble.is_some() {
            comm.check_not_revoked()?;
        }
        if (source as u32) < comm.size() as u32 || source == MPI_ANY_SOURCE {
            return Ok(Some(Pattern { context: comm.context, source, tag }));
        }
        if source == MPI_PROC_NULL { Ok(None) } else { Err(bad_rank(comm, source, true)) }
    }
}
