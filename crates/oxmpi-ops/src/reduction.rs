//! An operation over elements of a datatype, predefined or derived: finds the data in the type and
//! loops over it.
//!
//! [`Operands`] are addresses that prove nothing: that they are valid memory is the condition of [`Reduction::apply`].

use crate::{Kernel, Op, kernel};
use oxmpi_abi::constants::MPI_ERR_OP;
use oxmpi_abi::{Result, bail};
use oxmpi_datatype::{Cursor, Datatype, Named, Region};
use std::sync::Arc;

/// Two vectors of `count` elements of a datatype, as a token: making it touches no memory. The
/// result of an operation takes the place of the second. They do not overlap, unless they are the
/// same.
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    pub left: *const u8,
    pub inout: *mut u8,
    pub count: u64,
}

/// A predefined operation on elements of one datatype that consists of one predefined type.
#[derive(Clone)]
pub struct Reduction {
    kernel: Kernel,
    datatype: Arc<Datatype>,
    way: Way,
}

/// How the loop reaches the data.
#[derive(Clone, Copy)]
enum Way {
    /// There is no data.
    Nothing,
    /// An element of the type is one run of `each` elements of the kernel, which begins `shift`
    /// bytes after its address.
    Run { shift: isize, each: usize },
    /// The runs of the layout hold whole elements of this many bytes.
    Pieces { size: usize },
    /// Pairs with gaps: the layout omits the gaps, so only the type map shows the pairs.
    Map,
}

impl Reduction {
    /// `MPI_ERR_OP` if the operation is not defined for the content of the type. The type is
    /// committed.
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

    /// `inout[i] = left[i] op inout[i]` for every element; gaps are not changed.
    ///
    /// # Safety
    /// Both operands have `count` elements of the type: `left` may be read, `inout` read and written. They do not
    /// overlap, unless they are the same.
    pub unsafe fn apply(&self, on: &Operands) {
        // SAFETY: the runs of `count` elements of the type are data of both operands: `way` found them from the type.
        unsafe {
            match self.way {
                Way::Nothing => {}
                Way::Run { shift, each } => self.run(on, shift, on.count as usize * each),
                Way::Pieces { size } => self.by_pieces(on, size),
                Way::Map => {
                    for i in 0..on.count {
                        let at = self.datatype.extent() as isize * i as isize;
                        self.datatype.runs().for_each(|run| self.run(on, at + run.disp as isize, run.count as usize));
                    }
                }
            }
        }
    }

    /// # Safety
    /// As for [`Reduction::apply`].
    unsafe fn by_pieces(&self, on: &Operands, size: usize) {
        const AT_ONCE: usize = 128;
        let buf = Region::typed(on.inout, on.count, &self.datatype);
        let mut cursor = Cursor::new();
        let mut pieces = Vec::with_capacity(AT_ONCE);
        while cursor.iovecs(&buf, &mut pieces, AT_ONCE, usize::MAX) > 0 {
            for &(address, len) in &pieces {
                // SAFETY: a piece of the type's layout over `inout`; `left` has the same layout.
                unsafe { self.run(on, address.wrapping_sub(on.inout.addr()) as isize, len / size) };
            }
            pieces.clear();
        }
    }

    /// `count` elements of the kernel, `shift` bytes into the vectors.
    ///
    /// # Safety
    /// They are data of both operands, which are as for [`Reduction::apply`].
    #[inline]
    unsafe fn run(&self, on: &Operands, shift: isize, count: usize) {
        let (left, inout) = (on.left.wrapping_offset(shift), on.inout.wrapping_offset(shift));
        // SAFETY: `count` elements at both addresses may be read, those of `inout` written; a kernel allows `out` to be
        // one of its operands.
        unsafe { (self.kernel)(left, inout, inout, count) }
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
    // Two elements show whether several lie in one run.
    match Region::typed(std::ptr::null_mut(), 2, datatype).as_dense() {
        Some(start) => Way::Run { shift: start.addr() as isize, each: datatype.size() as usize / size },
        None => Way::Pieces { size },
    }
}

/// # Safety
/// None needed.
unsafe fn nothing(_: *const u8, _: *const u8, _: *mut u8, _: usize) {}
