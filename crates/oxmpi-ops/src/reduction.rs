//! An operation over elements of a datatype, predefined or derived: where the data lies in the type, and the loop over it.

use crate::{Kernel, Op, kernel};
use oxmpi_abi::constants::MPI_ERR_OP;
use oxmpi_abi::{Result, bail};
use oxmpi_datatype::{Buf, Cursor, Datatype, Named};
use std::sync::Arc;

/// A predefined operation on elements of one datatype; what the type has in it is of one predefined type.
#[derive(Clone)]
pub struct Reduction {
    kernel: Kernel,
    datatype: Arc<Datatype>,
    way: Way,
}

/// How the loop gets to the data.
#[derive(Clone, Copy)]
enum Way {
    /// There is no data.
    Nothing,
    /// Elements of the type are `each` elements of the kernel in one run, which begins `shift` bytes further on.
    Run { shift: isize, each: usize },
    /// The runs of the layout hold whole elements of so many bytes.
    Pieces { size: usize },
    /// Pairs with gaps: the layout leaves the gaps out, so only the type map still tells the pairs.
    Map,
}

impl Reduction {
    /// `MPI_ERR_OP` when the operation is not defined for what the type consists of. The type is committed.
    pub fn new(op: Op, datatype: &Arc<Datatype>) -> Result<Reduction> {
        let datatype = datatype.clone();
        let Some(named) = datatype.only() else {
            if datatype.size() == 0 {
                return Ok(Reduction { kernel: nothing, datatype, way: Way::Nothing });
            }
            bail!(
                MPI_ERR_OP,
                "{} is defined for elements of one predefined type, but the {datatype:?} mixes several",
                op.name()
            );
        };
        Ok(Reduction { kernel: kernel(op, named)?, way: way(&datatype, named), datatype })
    }

    /// `inout[i] = left[i] op inout[i]` over `count` elements of the datatype; what lies between the data stays as it is.
    ///
    /// # Safety
    /// The data of `count` elements is valid to read at `left` and to read and write at `inout`, and the two do not
    /// overlap, unless they are the same.
    pub unsafe fn apply(&self, left: *const u8, inout: *mut u8, count: u64) {
        match self.way {
            Way::Nothing => {}
            Way::Run { shift, each } => {
                let (left, inout) = (left.wrapping_offset(shift), inout.wrapping_offset(shift));
                // SAFETY: as the caller promised.
                unsafe { (self.kernel)(left, inout, inout, count as usize * each) }
            }
            // SAFETY: as the caller promised.
            Way::Pieces { size } => unsafe { self.by_pieces(left, inout, count, size) },
            Way::Map => {
                for i in 0..count {
                    let at = self.datatype.extent() as isize * i as isize;
                    for run in self.datatype.runs() {
                        let shift = at + run.disp as isize;
                        let (left, inout) = (left.wrapping_offset(shift), inout.wrapping_offset(shift));
                        // SAFETY: as the caller promised.
                        unsafe { (self.kernel)(left, inout, inout, run.count as usize) }
                    }
                }
            }
        }
    }

    /// # Safety
    /// As for [`Reduction::apply`].
    unsafe fn by_pieces(&self, left: *const u8, inout: *mut u8, count: u64, size: usize) {
        const AT_ONCE: usize = 128;
        let buf = Buf::typed(inout, count, &self.datatype);
        let mut cursor = Cursor::new();
        let mut pieces = Vec::with_capacity(AT_ONCE);
        while cursor.iovecs(&buf, &mut pieces, AT_ONCE, usize::MAX) > 0 {
            for &(address, len) in &pieces {
                let shift = address.wrapping_sub(inout.addr()) as isize;
                let (left, inout) = (left.wrapping_offset(shift), inout.wrapping_offset(shift));
                // SAFETY: as the caller promised.
                unsafe { (self.kernel)(left, inout, inout, len / size) }
            }
            pieces.clear();
        }
    }
}

fn way(datatype: &Arc<Datatype>, named: &Named) -> Way {
    if datatype.is_predefined() {
        return Way::Run { shift: 0, each: 1 };
    }
    let size = named.size();
    if size != named.extent() {
        return Way::Map;
    }
    // Two elements show whether many lie in one run.
    match Buf::typed(std::ptr::null_mut(), 2, datatype).as_dense() {
        Some(start) => Way::Run { shift: start.addr() as isize, each: datatype.size() as usize / size },
        None => Way::Pieces { size },
    }
}

/// # Safety
/// None needed.
unsafe fn nothing(_: *const u8, _: *const u8, _: *mut u8, _: usize) {}
