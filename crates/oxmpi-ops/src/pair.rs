//! Pairs of a value and an index: `MPI_MINLOC` and `MPI_MAXLOC`. Of equal values the pair with the
//! lower index wins. A NaN wins against every number, so that the result does not depend on the
//! order.
//!
//! The two halves are read and written separately: the bytes between and after them must not be
//! touched.

use crate::bfloat::Bfloat;
use crate::half::Half;
use crate::number::Ordered;
use crate::wide::{LongDouble, Quad};
use crate::{Kernel, Op};
use oxmpi_datatype::Scalar;

pub(crate) fn select(op: Op, value: Scalar, index: Scalar) -> Option<Kernel> {
    if matches!(op, Op::Replace | Op::NoOp) {
        return by_size(op, value.size(), index.size());
    }
    match (value, index) {
        (Scalar::F32, Scalar::F32) => of::<f32, f32>(op),
        (Scalar::F64, Scalar::F64) => of::<f64, f64>(op),
        (Scalar::I8, _) => by_index::<i8>(op, index),
        (Scalar::I16, _) => by_index::<i16>(op, index),
        (Scalar::I32, _) => by_index::<i32>(op, index),
        (Scalar::I64, _) => by_index::<i64>(op, index),
        (Scalar::I128, _) => by_index::<i128>(op, index),
        (Scalar::U8, _) => by_index::<u8>(op, index),
        (Scalar::U16, _) => by_index::<u16>(op, index),
        (Scalar::U32, _) => by_index::<u32>(op, index),
        (Scalar::U64, _) => by_index::<u64>(op, index),
        (Scalar::F16, _) => by_index::<Half>(op, index),
        (Scalar::Bfloat16, _) => by_index::<Bfloat>(op, index),
        (Scalar::F32, _) => by_index::<f32>(op, index),
        (Scalar::F64, _) => by_index::<f64>(op, index),
        (Scalar::LongDouble, _) => by_index::<LongDouble>(op, index),
        (Scalar::F128, _) => by_index::<Quad>(op, index),
        _ => None,
    }
}

fn by_index<V: Ordered>(op: Op, index: Scalar) -> Option<Kernel> {
    match index {
        Scalar::I8 => of::<V, i8>(op),
        Scalar::I16 => of::<V, i16>(op),
        Scalar::I32 => of::<V, i32>(op),
        Scalar::I64 => of::<V, i64>(op),
        Scalar::I128 => of::<V, i128>(op),
        Scalar::U8 => of::<V, u8>(op),
        Scalar::U16 => of::<V, u16>(op),
        Scalar::U32 => of::<V, u32>(op),
        Scalar::U64 => of::<V, u64>(op),
        _ => None,
    }
}

/// Copies do not depend on the meaning of the halves.
fn by_size(op: Op, value: usize, index: usize) -> Option<Kernel> {
    match value {
        1 => by_index_size::<u8>(op, index),
        2 => by_index_size::<u16>(op, index),
        4 => by_index_size::<u32>(op, index),
        8 => by_index_size::<u64>(op, index),
        16 => by_index_size::<u128>(op, index),
        _ => None,
    }
}

fn by_index_size<V: Ordered>(op: Op, index: usize) -> Option<Kernel> {
    match index {
        1 => of_copies::<V, u8>(op),
        2 => of_copies::<V, u16>(op),
        4 => of_copies::<V, u32>(op),
        8 => of_copies::<V, u64>(op),
        16 => of_copies::<V, u128>(op),
        _ => None,
    }
}

fn of<V: Ordered, I: Ordered>(op: Op) -> Option<Kernel> {
    match op {
        Op::Minloc => Some(each::<V, I, MIN>),
        Op::Maxloc => Some(each::<V, I, MAX>),
        _ => None,
    }
}

fn of_copies<V: Ordered, I: Ordered>(op: Op) -> Option<Kernel> {
    match op {
        Op::Replace => Some(each::<V, I, RIGHT>),
        Op::NoOp => Some(each::<V, I, LEFT>),
        _ => None,
    }
}

const MIN: u8 = 0;
const MAX: u8 = 1;
const RIGHT: u8 = 2;
const LEFT: u8 = 3;

/// # Safety
/// As for a [`Kernel`].
unsafe fn each<V: Ordered, I: Ordered, const OP: u8>(left: *const u8, right: *const u8, out: *mut u8, count: usize) {
    let at = const { size_of::<V>().next_multiple_of(size_of::<I>()) };
    let extent = const {
        let (value, index) = (size_of::<V>(), size_of::<I>());
        let end = value.next_multiple_of(index) + index;
        end.next_multiple_of(if value > index { value } else { index })
    };
    for i in 0..count {
        // SAFETY: within the `count` elements that a [`Kernel`] may access.
        unsafe {
            let (a, b, to) = (left.add(i * extent), right.add(i * extent), out.add(i * extent));
            let values = (a.cast::<V>().read_unaligned(), b.cast::<V>().read_unaligned());
            let indices = (a.add(at).cast::<I>().read_unaligned(), b.add(at).cast::<I>().read_unaligned());
            let first = match OP {
                MIN => is_first(values.0.below(values.1), values.1.below(values.0), values, indices),
                MAX => is_first(values.1.below(values.0), values.0.below(values.1), values, indices),
                RIGHT => false,
                _ => true,
            };
            to.cast::<V>().write_unaligned(if first { values.0 } else { values.1 });
            to.add(at).cast::<I>().write_unaligned(if first { indices.0 } else { indices.1 });
        }
    }
}

/// Whether the first pair wins.
#[inline(always)]
fn is_first<V: Ordered, I: Ordered>(ahead: bool, behind: bool, values: (V, V), indices: (I, I)) -> bool {
    if ahead || behind {
        return ahead;
    }
    let nans = (values.0.is_nan(), values.1.is_nan());
    if nans.0 != nans.1 { nans.0 } else { !indices.1.below(indices.0) }
}
