//! Fortran LOGICALs. The standard does not say which bits are `.TRUE.`. So a true result is a copy
//! of a true operand, and only the bits of `.FALSE.` must be known: all zero, unless the program
//! sets others.

use crate::{Kernel, Op};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Sign-extended, so that its low bytes are the value in LOGICALs of any size.
static FALSE: AtomicI64 = AtomicI64::new(0);

/// Sets the value of `.FALSE.` of the program's Fortran compiler, a little-endian LOGICAL of any
/// size.
pub fn set_fortran_false(bytes: &[u8]) {
    let negative = bytes.last().is_some_and(|byte| *byte >= 0x80);
    let mut value = if negative { [0xff; 8] } else { [0; 8] };
    let len = bytes.len().min(8);
    value[..len].copy_from_slice(&bytes[..len]);
    FALSE.store(i64::from_le_bytes(value), Relaxed);
}

pub(crate) fn select(op: Op, bytes: u8) -> Option<Kernel> {
    Some(match bytes {
        1 => of::<i8>(op)?,
        2 => of::<i16>(op)?,
        4 => of::<i32>(op)?,
        8 => of::<i64>(op)?,
        16 => of::<i128>(op)?,
        _ => return None,
    })
}

fn of<L: Logical>(op: Op) -> Option<Kernel> {
    Some(match op {
        Op::Land => each::<L, AND>,
        Op::Lor => each::<L, OR>,
        Op::Lxor => each::<L, XOR>,
        _ => return None,
    })
}

const AND: u8 = 0;
const OR: u8 = 1;
const XOR: u8 = 2;

trait Logical: Copy + PartialEq {
    fn cut(value: i64) -> Self;
}

macro_rules! logicals {
    ($($t:ty)*) => {$(
        impl Logical for $t {
            fn cut(value: i64) -> Self {
                value as $t
            }
        }
    )*};
}

logicals!(i8 i16 i32 i64 i128);

/// # Safety
/// As for a [`Kernel`].
unsafe fn each<L: Logical, const OP: u8>(left: *const u8, right: *const u8, out: *mut u8, count: usize) {
    let (left, right, out) = (left.cast::<L>(), right.cast::<L>(), out.cast::<L>());
    let no = L::cut(FALSE.load(Relaxed));
    for i in 0..count {
        // SAFETY: within the `count` elements that a [`Kernel`] may access.
        unsafe {
            let (a, b) = (left.add(i).read_unaligned(), right.add(i).read_unaligned());
            let result = match OP {
                AND => {
                    if a == no {
                        a
                    } else {
                        b
                    }
                }
                OR => {
                    if a == no {
                        b
                    } else {
                        a
                    }
                }
                _ => {
                    if a == no {
                        b
                    } else if b == no {
                        a
                    } else {
                        no
                    }
                }
            };
            out.add(i).write_unaligned(result);
        }
    }
}
