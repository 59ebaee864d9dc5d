//! `external32`, the portable representation: big-endian, IEEE formats, sizes that the standard
//! fixes.
//!
//! An integer that is shorter there than in memory keeps its low bytes, and is sign-extended when
//! it is read. A NaN stays a NaN. There is no alignment and no padding.

use std::sync::Arc;

use oxmpi_abi::{Result, bail};

use crate::datatype::{Datatype, Wide};
use crate::named::{Named, Scalar};
use oxmpi_abi::constants::MPI_ERR_TRUNCATE;

impl Datatype {
    /// Bytes of one element in `external32`.
    pub fn external_size(&self) -> Wide {
        self.facts.external
    }
}

/// Writes `count` elements at `base` to `dst` in `external32`. Returns the bytes written.
///
/// # Safety
/// The memory that the elements describe is valid to read, `dst` is valid to write for `room`
/// bytes, and they do not overlap.
pub unsafe fn pack_external(
    base: *const u8,
    count: u64,
    ty: &Arc<Datatype>,
    dst: *mut u8,
    room: usize,
) -> Result<usize> {
    let need = room_for(count, ty, room, "the packed data needs", "the output buffer has")?;
    let mut to = dst;
    each_run(count, ty, |named, disp, n| {
        let from = base.wrapping_offset(disp);
        // SAFETY: the run is a part of the elements, and its place in `dst` a part of the bytes
        // counted above.
        to = unsafe { convert_run::<true>(named, from.cast_mut(), n, to) };
    });
    Ok(need)
}

/// Reads `count` elements in `external32` from `src` into memory at `base`. Returns the bytes read.
///
/// # Safety
/// The memory that the elements describe is valid to write, `src` is valid to read for `available`
/// bytes, and they do not overlap.
pub unsafe fn unpack_external(
    base: *mut u8,
    count: u64,
    ty: &Arc<Datatype>,
    src: *const u8,
    available: usize,
) -> Result<usize> {
    let need = room_for(count, ty, available, "the elements need", "the input buffer has")?;
    let mut from = src.cast_mut();
    each_run(count, ty, |named, disp, n| {
        // SAFETY: the run is a part of the elements, and its place in `src`, which is only read, a
        // part of the bytes counted above.
        from = unsafe { convert_run::<false>(named, base.wrapping_offset(disp), n, from) };
    });
    Ok(need)
}

/// Like [`unpack_external`], for input that may be shorter than the elements: reads whole basic
/// elements as far as they go. Returns the bytes that they have in memory.
///
/// # Safety
/// As for [`unpack_external`].
pub unsafe fn unpack_external_part(
    base: *mut u8,
    count: u64,
    ty: &Arc<Datatype>,
    src: *const u8,
    available: usize,
) -> usize {
    let (mut from, mut left, mut bytes) = (src.cast_mut(), available, 0);
    let mut ended = false;
    each_run(count, ty, |named, disp, n| {
        let each = named.external_size();
        let whole = if ended { 0 } else { n.min((left / each.max(1)) as i64) };
        ended |= whole < n;
        // SAFETY: the run is a part of the elements, and what is read of it lies within
        // `available`.
        from = unsafe { convert_run::<false>(named, base.wrapping_offset(disp), whole, from) };
        left -= whole as usize * each;
        bytes += whole as usize * named.size();
    });
    bytes
}

fn room_for(count: u64, ty: &Datatype, room: usize, needs: &str, has: &str) -> Result<usize> {
    let need = ty.external_size().checked_mul(count.into());
    match need.and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= room) {
        Some(need) => Ok(need),
        None => bail!(MPI_ERR_TRUNCATE, "{needs} {} bytes in external32; {has} {room} left", need.unwrap_or(Wide::MAX)),
    }
}

pub(crate) fn each_run(count: u64, ty: &Datatype, mut f: impl FnMut(&'static Named, isize, i64)) {
    if ty.size() == 0 {
        return;
    }
    for i in 0..count {
        let at = Wide::from(i) * ty.extent();
        ty.runs().for_each(|run| f(run.named, (at + run.disp) as isize, run.count));
    }
}

/// Converts `n` elements at a distance of their extent in memory, and without gaps outside. Returns
/// the address of the next one outside.
///
/// # Safety
/// As [`pack_external`] or [`unpack_external`].
unsafe fn convert_run<const PACK: bool>(named: &Named, mem: *mut u8, n: i64, mut outside: *mut u8) -> *mut u8 {
    for i in 0..n as isize {
        let mem = mem.wrapping_offset(i * named.extent() as isize);
        // SAFETY: the caller promises valid memory on both sides; both parts are inside the
        // element.
        unsafe {
            convert::<PACK>(named.scalar, named.external.into(), mem, outside);
            outside = outside.wrapping_add(named.external.into());
            if let Some(index) = named.index {
                convert::<PACK>(index.scalar, index.external.into(), mem.wrapping_add(index.at.into()), outside);
                outside = outside.wrapping_add(index.external.into());
            }
        }
    }
    outside
}

/// Converts one number; a complex one as its two parts.
///
/// # Safety
/// `mem` is valid for the size of the scalar, `outside` for `len` bytes; the destination may be
/// written.
unsafe fn convert<const PACK: bool>(scalar: Scalar, len: usize, mem: *mut u8, outside: *mut u8) {
    let part = match scalar {
        Scalar::C16 => Scalar::F16,
        Scalar::C32 => Scalar::F32,
        Scalar::C64 => Scalar::F64,
        Scalar::CLongDouble => Scalar::LongDouble,
        Scalar::C128 => Scalar::F128,
        _ => {
            // SAFETY: the caller promises `mem` for the scalar and `outside` for `len` bytes.
            return unsafe { convert_part::<PACK>(scalar, len, mem, outside) };
        }
    };
    // SAFETY: the caller promises `mem` for the scalar and `outside` for `len` bytes; the parts are
    // their halves.
    unsafe {
        convert_part::<PACK>(part, len / 2, mem, outside);
        convert_part::<PACK>(part, len / 2, mem.wrapping_add(part.size()), outside.wrapping_add(len / 2));
    }
}

/// # Safety
/// As [`convert`].
unsafe fn convert_part<const PACK: bool>(scalar: Scalar, len: usize, mem: *mut u8, outside: *mut u8) {
    let size = scalar.size();
    let mut word = [0u8; 16];
    if PACK {
        // SAFETY: `mem` is valid for `size`, at most 16.
        unsafe { word.as_mut_ptr().copy_from_nonoverlapping(mem, size) };
        let value = to_external(scalar, u128::from_le_bytes(native(word, size)));
        // SAFETY: `outside` is valid for `len`, at most 16: the low bytes of the value, highest
        // first.
        unsafe { outside.copy_from_nonoverlapping(value.to_be_bytes()[16 - len..].as_ptr(), len) };
    } else {
        // SAFETY: `outside` is valid for `len`, at most 16.
        unsafe { word[16 - len..].as_mut_ptr().copy_from_nonoverlapping(outside, len) };
        let value = from_external(scalar, len, u128::from_be_bytes(word));
        let bytes = native(value.to_le_bytes(), size);
        // SAFETY: `mem` is valid for `size`.
        unsafe { mem.copy_from_nonoverlapping(bytes.as_ptr(), size) };
    }
}

/// Little-endian bytes from native ones, and the other way round.
fn native(mut word: [u8; 16], size: usize) -> [u8; 16] {
    if cfg!(target_endian = "big") {
        word[..size].reverse();
    }
    word
}

/// The external bits of a value in memory (in the low `size` bytes).
fn to_external(scalar: Scalar, bits: u128) -> u128 {
    match scalar {
        Scalar::LongDouble if cfg!(target_arch = "x86_64") => x87_to_quad(bits),
        // Any value except zero is true, and true is one outside.
        Scalar::Bool | Scalar::Logical(_) => u128::from(bits != 0),
        _ => bits,
    }
}

/// The bits in memory of the low `len` bytes outside.
fn from_external(scalar: Scalar, len: usize, bits: u128) -> u128 {
    match scalar {
        Scalar::LongDouble if cfg!(target_arch = "x86_64") => quad_to_x87(bits),
        Scalar::Bool | Scalar::Logical(_) => u128::from(bits != 0),
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 | Scalar::I128 => {
            let unused = 128 - 8 * len as u32;
            ((bits << unused) as i128 >> unused) as u128
        }
        _ => bits,
    }
}

const QUAD_FRACTION: u128 = (1 << 112) - 1;

/// Converts an x87 extended number (sign and exponent in 16 bits, 64 bits of significand with an
/// explicit leading one) to binary128. Same exponent, 49 more bits of fraction: always exact.
fn x87_to_quad(bits: u128) -> u128 {
    let sign_exponent = bits >> 64 & 0xffff;
    let significand = bits as u64;
    // The leading bit is 0 only for zero and subnormal numbers, whose exponent is 0 too. A number
    // with exponent 0 and a leading one is the smallest normal one.
    let leading = u128::from(significand >> 63);
    let exponent = if sign_exponent & 0x7fff == 0 { sign_exponent | leading } else { sign_exponent };
    exponent << 112 | u128::from(significand << 1 >> 1) << 49
}

/// Converts a binary128 number to x87 extended, rounded to nearest, ties to even.
fn quad_to_x87(bits: u128) -> u128 {
    let sign = bits >> 127 << 15;
    let mut exponent = bits >> 112 & 0x7fff;
    let fraction = bits & QUAD_FRACTION;
    if exponent == 0x7fff {
        // A NaN that loses all its set bits must not become an infinity.
        let kept = fraction >> 49 | u128::from(fraction != 0) << 62;
        return (sign | 0x7fff) << 64 | 1 << 63 | kept;
    }
    let mut significand = u128::from(exponent != 0) << 63 | fraction >> 49;
    let rest = fraction & ((1 << 49) - 1);
    let half = 1 << 48;
    if rest > half || (rest == half && significand & 1 == 1) {
        significand += 1;
        if significand >> 64 != 0 {
            significand >>= 1;
            exponent += 1;
        }
        if exponent == 0 && significand >> 63 != 0 {
            exponent = 1;
        }
    }
    if exponent == 0x7fff {
        significand = 1 << 63;
    }
    (sign | exponent) << 64 | significand
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::predefined;
    use crate::named::NAMED;

    fn of(name: &str) -> &'static Arc<Datatype> {
        predefined(NAMED.iter().find(|n| n.name == name).unwrap().handle.into()).unwrap()
    }

    fn round<T: Copy>(name: &str, value: T) -> (Vec<u8>, T) {
        let ty = of(name);
        let mut out = vec![0u8; 64];
        // SAFETY: one value in, 64 bytes out; then the same bytes back into a value of the same
        // type.
        unsafe {
            let n = pack_external(std::ptr::from_ref(&value).cast(), 1, ty, out.as_mut_ptr(), out.len()).unwrap();
            out.truncate(n);
            let mut back = value;
            let n = unpack_external(std::ptr::from_mut(&mut back).cast(), 1, ty, out.as_ptr(), out.len()).unwrap();
            assert_eq!(n, out.len());
            (out, back)
        }
    }

    #[test]
    fn numbers_are_big_endian_and_come_back() {
        assert_eq!(round("MPI_INT", -2i32), (vec![0xff, 0xff, 0xff, 0xfe], -2));
        assert_eq!(round("MPI_LONG", -3i64), (vec![0xff, 0xff, 0xff, 0xfd], -3));
        assert_eq!(round("MPI_UNSIGNED_LONG", 0xfedc_ba98u64), (vec![0xfe, 0xdc, 0xba, 0x98], 0xfedc_ba98));
        assert_eq!(round("MPI_DOUBLE", 1.0f64), (vec![0x3f, 0xf0, 0, 0, 0, 0, 0, 0], 1.0));
        assert_eq!(round("MPI_WCHAR", 0x20acu32), (vec![0x20, 0xac], 0x20ac));
        assert_eq!(round("MPI_C_BOOL", 7u8), (vec![1], 1));
        assert_eq!(round("MPI_LOGICAL", [0u8, 0, 1, 0]), (vec![0, 0, 0, 1], [1, 0, 0, 0]));
        assert_eq!(round("MPI_2INT", [1i32, 2]), (vec![0, 0, 0, 1, 0, 0, 0, 2], [1, 2]));
        assert_eq!(round("MPI_C_COMPLEX", [1.0f32, -2.0]), (vec![0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0], [1.0, -2.0]));
        assert_eq!(round("MPI_INTEGER16", -1i128).0, [0xff; 16]);
        let (bytes, back) = round("MPI_DOUBLE_INT", (0.5f64, 9i32, 0u32));
        assert_eq!((bytes.len(), back.0, back.1), (12, 0.5, 9));
    }

    #[test]
    fn extended_numbers_keep_their_value() {
        let x87 = |sign_exponent: u128, significand: u64| sign_exponent << 64 | u128::from(significand);
        // 1.0, -1.5, the largest, the smallest, an infinity.
        for bits in [
            x87(0x3fff, 1 << 63),
            x87(0xbfff, 3 << 62),
            x87(0x7ffe, u64::MAX),
            x87(0, 1),
            x87(0x0001, 1 << 63),
            x87(0xffff, 1 << 63),
            0,
        ] {
            assert_eq!(quad_to_x87(x87_to_quad(bits)), bits, "{bits:x}");
        }
        assert_eq!(x87_to_quad(x87(0x3fff, 1 << 63)), 0x3fff << 112);
        // One and a little more than half a unit in the last place of x87 rounds up; exactly half
        // rounds to even.
        assert_eq!(quad_to_x87(0x3fff << 112 | 1 << 48 | 1), x87(0x3fff, 1 << 63 | 1));
        assert_eq!(quad_to_x87(0x3fff << 112 | 1 << 48), x87(0x3fff, 1 << 63));
        // Rounding carries into the exponent, and out of the largest number into infinity.
        assert_eq!(quad_to_x87(0x3fff << 112 | QUAD_FRACTION), x87(0x4000, 1 << 63));
        assert_eq!(quad_to_x87(0x7ffe << 112 | QUAD_FRACTION), x87(0x7fff, 1 << 63));
        // NaN stays NaN.
        assert_eq!(quad_to_x87(0x7fff << 112 | 1), x87(0x7fff, 3 << 62));
    }

    #[test]
    fn room_is_checked() {
        let mut out = [0u8; 7];
        // SAFETY: one double is read, and the given length of the output is correct.
        let err = unsafe { pack_external([0u8; 8].as_ptr(), 1, of("MPI_DOUBLE"), out.as_mut_ptr(), 7) }.unwrap_err();
        assert_eq!(err.class(), MPI_ERR_TRUNCATE);
    }
}
