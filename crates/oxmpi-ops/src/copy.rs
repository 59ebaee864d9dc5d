//! `MPI_REPLACE` and `MPI_NO_OP`: the result is one of the operands.

use crate::{Kernel, Op};

pub(crate) fn select(op: Op, size: usize) -> Option<Kernel> {
    Some(match size {
        1 => of::<1>(op)?,
        2 => of::<2>(op)?,
        4 => of::<4>(op)?,
        8 => of::<8>(op)?,
        16 => of::<16>(op)?,
        32 => of::<32>(op)?,
        _ => return None,
    })
}

fn of<const SIZE: usize>(op: Op) -> Option<Kernel> {
    Some(match op {
        Op::Replace => right::<SIZE>,
        Op::NoOp => left::<SIZE>,
        _ => return None,
    })
}

/// # Safety
/// As for a [`Kernel`].
unsafe fn right<const SIZE: usize>(_: *const u8, right: *const u8, out: *mut u8, count: usize) {
    // SAFETY: the caller promises what a [`Kernel`] needs; `copy_from` allows the two to be the same.
    unsafe { out.copy_from(right, count * SIZE) }
}

/// # Safety
/// As for a [`Kernel`].
unsafe fn left<const SIZE: usize>(left: *const u8, _: *const u8, out: *mut u8, count: usize) {
    // SAFETY: the caller promises what a [`Kernel`] needs; `copy_from` allows the two to be the same.
    unsafe { out.copy_from(left, count * SIZE) }
}
