//! From an operation and an element to its loop. The caller has checked that the standard allows
//! the pair.

use crate::bfloat::Bfloat;
use crate::binary::pick;
use crate::half::{Half, HalfComplexProd};
use crate::number::*;
use crate::wide::{LongDouble, Quad};
use crate::{Kernel, Op, copy, logical, pair};
use oxmpi_datatype::{Named, Scalar};

pub(crate) fn kernel(op: Op, named: &Named) -> Option<Kernel> {
    if let Some(index) = named.index {
        return pair::select(op, named.scalar, index.scalar);
    }
    if matches!(op, Op::Replace | Op::NoOp) {
        return copy::select(op, named.size());
    }
    match named.scalar {
        Scalar::I8 | Scalar::Char => integer::<i8, u8>(op),
        Scalar::I16 => integer::<i16, u16>(op),
        Scalar::I32 => integer::<i32, u32>(op),
        Scalar::I64 => integer::<i64, u64>(op),
        Scalar::I128 => integer::<i128, u128>(op),
        Scalar::U8 | Scalar::Bool | Scalar::Byte => integer::<u8, u8>(op),
        Scalar::U16 => integer::<u16, u16>(op),
        Scalar::U32 => integer::<u32, u32>(op),
        Scalar::U64 => integer::<u64, u64>(op),
        Scalar::F16 => real::<Half>(op),
        Scalar::Bfloat16 => real::<Bfloat>(op),
        Scalar::F32 => real::<f32>(op),
        Scalar::F64 => real::<f64>(op),
        Scalar::LongDouble => real::<LongDouble>(op),
        Scalar::F128 => real::<Quad>(op),
        Scalar::C16 if op == Op::Prod => Some(pick::<HalfComplexProd>()),
        Scalar::C16 => complex_sum::<Half>(op),
        Scalar::C32 => complex::<f32>(op),
        Scalar::C64 => complex::<f64>(op),
        Scalar::CLongDouble => complex::<LongDouble>(op),
        Scalar::C128 => complex::<Quad>(op),
        Scalar::Logical(bytes) => logical::select(op, bytes),
        Scalar::WChar => None,
    }
}

/// Sums, products and bit operations of signed and unsigned integers are equal: the unsigned type
/// `U` computes them.
fn integer<N: Number, U: Number + Bits>(op: Op) -> Option<Kernel> {
    Some(match op {
        Op::Max => pick::<Larger<N>>(),
        Op::Min => pick::<Smaller<N>>(),
        Op::Sum => pick::<Sum<U>>(),
        Op::Prod => pick::<Prod<U>>(),
        Op::Land => pick::<BothTrue<U>>(),
        Op::Band => pick::<And<U>>(),
        Op::Lor => pick::<OneTrue<U>>(),
        Op::Bor => pick::<Or<U>>(),
        Op::Lxor => pick::<OnlyOneTrue<U>>(),
        Op::Bxor => pick::<Xor<U>>(),
        Op::Minloc | Op::Maxloc | Op::Replace | Op::NoOp => return None,
    })
}

fn real<N: Number>(op: Op) -> Option<Kernel> {
    Some(match op {
        Op::Max => pick::<Larger<N>>(),
        Op::Min => pick::<Smaller<N>>(),
        Op::Sum => pick::<Sum<N>>(),
        Op::Prod => pick::<Prod<N>>(),
        _ => return None,
    })
}

fn complex<N: Real>(op: Op) -> Option<Kernel> {
    if op == Op::Prod { Some(pick::<ComplexProd<N>>()) } else { complex_sum::<N>(op) }
}

fn complex_sum<N: Number>(op: Op) -> Option<Kernel> {
    (op == Op::Sum).then(pick::<Sum<N, 2>>)
}
