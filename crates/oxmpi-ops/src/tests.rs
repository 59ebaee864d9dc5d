//! Checks every pair of operation and predefined type against a second, slow implementation.

use crate::{Kernel, Op, Operands, Reduction, dense, kernel, predefined};
use oxmpi_abi::constants::*;
use oxmpi_datatype::{Datatype, Group, NAMED, Named, Scalar, predefined as predefined_type};
use std::sync::Arc;

const OPS: [Op; 14] = [
    Op::Max,
    Op::Min,
    Op::Sum,
    Op::Prod,
    Op::Land,
    Op::Band,
    Op::Lor,
    Op::Bor,
    Op::Lxor,
    Op::Bxor,
    Op::Minloc,
    Op::Maxloc,
    Op::Replace,
    Op::NoOp,
];

/// A value in a form that all scalars share. Reals are small multiples of powers of two, exact in
/// every format.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Value {
    Int(i128),
    Real(f64),
    Complex(f64, f64),
}
use Value::{Complex, Int, Real};

/// A real number in a format with so many bits of fraction, an exponent of 15 bits or fewer, and
/// perhaps an explicit first bit.
fn encode_real(value: f64, fraction: u32, exponent: u32, explicit: bool) -> u128 {
    let bits = value.to_bits();
    let sign = u128::from(bits >> 63);
    let place = fraction + u32::from(explicit);
    if value == 0.0 {
        return sign << (place + exponent);
    }
    let e = (bits >> 52 & 0x7ff) as i64 - 1023 + (1 << (exponent - 1)) - 1;
    let m = u128::from(bits & ((1 << 52) - 1)) << 76 >> (128 - fraction);
    sign << (place + exponent) | (e as u128) << place | u128::from(explicit) << fraction | m
}

fn decode_real(bits: u128, fraction: u32, exponent: u32, explicit: bool) -> f64 {
    let place = fraction + u32::from(explicit);
    let sign = if bits >> (place + exponent) & 1 != 0 { -1.0 } else { 1.0 };
    let e = (bits >> place & ((1 << exponent) - 1)) as i64;
    let m = (bits & ((1 << fraction) - 1)) as f64 / 2f64.powi(fraction as i32);
    if e == 0 && m == 0.0 {
        return sign * 0.0;
    }
    sign * (1.0 + m) * 2f64.powi((e - ((1 << (exponent - 1)) - 1)) as i32)
}

/// Fraction bits, exponent bits, explicit first bit, bytes.
fn format_of(scalar: Scalar) -> Option<(u32, u32, bool, usize)> {
    Some(match scalar {
        Scalar::F16 | Scalar::C16 => (10, 5, false, 2),
        Scalar::Bfloat16 => (7, 8, false, 2),
        Scalar::F32 | Scalar::C32 => (23, 8, false, 4),
        Scalar::F64 | Scalar::C64 => (52, 11, false, 8),
        Scalar::LongDouble | Scalar::CLongDouble if cfg!(target_arch = "x86_64") => (63, 15, true, 16),
        Scalar::LongDouble | Scalar::CLongDouble | Scalar::F128 | Scalar::C128 => (112, 15, false, 16),
        _ => return None,
    })
}

fn is_complex(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::C16 | Scalar::C32 | Scalar::C64 | Scalar::CLongDouble | Scalar::C128)
}

fn is_signed(scalar: Scalar) -> bool {
    matches!(
        scalar,
        Scalar::I8 | Scalar::Char | Scalar::I16 | Scalar::I32 | Scalar::I64 | Scalar::I128 | Scalar::Logical(_)
    )
}

fn encode(value: Value, scalar: Scalar, to: &mut [u8]) {
    let real = |value, to: &mut [u8]| {
        let (fraction, exponent, explicit, bytes) = format_of(scalar).unwrap();
        to[..bytes].copy_from_slice(&encode_real(value, fraction, exponent, explicit).to_le_bytes()[..bytes]);
    };
    match value {
        Int(value) => to.copy_from_slice(&value.to_le_bytes()[..scalar.size()]),
        Real(value) => real(value, to),
        Complex(re, im) => {
            let half = scalar.size() / 2;
            real(re, &mut to[..half]);
            real(im, &mut to[half..]);
        }
    }
}

fn decode(from: &[u8], scalar: Scalar) -> Value {
    let mut word = [0; 16];
    if let Some((fraction, exponent, explicit, bytes)) = format_of(scalar) {
        let mut part = |from: &[u8]| {
            word[..bytes].copy_from_slice(&from[..bytes]);
            decode_real(u128::from_le_bytes(word), fraction, exponent, explicit)
        };
        return if is_complex(scalar) { Complex(part(from), part(&from[bytes..])) } else { Real(part(from)) };
    }
    word[..from.len()].copy_from_slice(from);
    let shift = 128 - 8 * from.len() as u32;
    let raw = i128::from_le_bytes(word) << shift;
    Int(if is_signed(scalar) { raw >> shift } else { (raw as u128 >> shift) as i128 })
}

/// The result of the integer operations, truncated to the size of the element.
fn cut(value: i128, scalar: Scalar) -> Value {
    let mut bytes = vec![0; scalar.size()];
    encode(Int(value), scalar, &mut bytes);
    decode(&bytes, scalar)
}

fn expected(op: Op, scalar: Scalar, a: Value, b: Value) -> Value {
    match (op, a, b) {
        (Op::Replace, ..) => b,
        (Op::NoOp, ..) => a,
        (Op::Max, Int(a), Int(b)) => Int(a.max(b)),
        (Op::Min, Int(a), Int(b)) => Int(a.min(b)),
        (Op::Max, Real(a), Real(b)) => Real(a.max(b)),
        (Op::Min, Real(a), Real(b)) => Real(a.min(b)),
        (Op::Sum, Int(a), Int(b)) => cut(a.wrapping_add(b), scalar),
        (Op::Prod, Int(a), Int(b)) => cut(a.wrapping_mul(b), scalar),
        (Op::Sum, Real(a), Real(b)) => Real(a + b),
        (Op::Prod, Real(a), Real(b)) => Real(a * b),
        (Op::Sum, Complex(a, b), Complex(c, d)) => Complex(a + c, b + d),
        (Op::Prod, Complex(a, b), Complex(c, d)) => Complex(a * c - b * d, a * d + b * c),
        (Op::Land, Int(a), Int(b)) => Int((a != 0 && b != 0).into()),
        (Op::Lor, Int(a), Int(b)) => Int((a != 0 || b != 0).into()),
        (Op::Lxor, Int(a), Int(b)) => Int(((a != 0) != (b != 0)).into()),
        (Op::Band, Int(a), Int(b)) => cut(a & b, scalar),
        (Op::Bor, Int(a), Int(b)) => cut(a | b, scalar),
        (Op::Bxor, Int(a), Int(b)) => cut(a ^ b, scalar),
        _ => panic!("{op:?} {scalar:?}"),
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 20
    }

    fn value(&mut self, scalar: Scalar) -> Value {
        let mut small = || (self.next() % 17) as f64 / 4.0 - 2.0;
        if is_complex(scalar) {
            return Complex(small(), small());
        }
        if format_of(scalar).is_some() {
            return Real(small());
        }
        match scalar {
            Scalar::Bool | Scalar::Logical(_) => Int((self.next() % 2).into()),
            _ if self.next().is_multiple_of(4) => Int(0),
            _ => cut(i128::from(self.next()) << 100 ^ i128::from(self.next()) << 50 ^ i128::from(self.next()), scalar),
        }
    }
}

const GAP: u8 = 0xa5;

/// `count` random elements, at an address that is aligned for nothing when `off` is odd.
fn random_elements(named: &Named, count: usize, off: usize, random: &mut Random) -> (Vec<u8>, Vec<(Value, i128)>) {
    let mut bytes = vec![GAP; off + count * named.extent() + 16];
    let mut values = Vec::new();
    for element in bytes[off..].chunks_exact_mut(named.extent()).take(count) {
        let value = random.value(named.scalar);
        encode(value, named.scalar, &mut element[..named.scalar.size()]);
        let index = (random.next() % 3) as i128;
        if let Some(found) = named.index {
            let kind = if format_of(found.scalar).is_some() { Real(index as f64) } else { Int(index) };
            encode(kind, found.scalar, &mut element[found.at as usize..][..found.scalar.size()]);
        }
        values.push((value, index));
    }
    (bytes, values)
}

fn check(op: Op, named: &'static Named, kernel: Kernel, count: usize, off: usize, random: &mut Random) {
    let (a, a_values) = random_elements(named, count, off, random);
    let (b, b_values) = random_elements(named, count, off, random);
    let mut outs = [vec![GAP; a.len()], a.clone(), b.clone()];
    let (third, rest) = outs.split_at_mut(1);
    let (on_a, on_b) = rest.split_at_mut(1);
    // SAFETY: every array holds `count` elements from `off` on.
    unsafe {
        let at = |bytes: &[u8]| bytes.as_ptr().add(off);
        kernel(at(&a), at(&b), third[0].as_mut_ptr().add(off), count);
        let place = on_a[0].as_mut_ptr().add(off);
        kernel(place, at(&b), place, count);
        let place = on_b[0].as_mut_ptr().add(off);
        kernel(at(&a), place, place, count);
    }
    for (which, out) in outs.iter().enumerate() {
        let context = || format!("{op:?} on {} x {count}, offset {off}, out {which}", named.name);
        assert!(out[off + count * named.extent()..].iter().all(|byte| *byte == GAP), "{}", context());
        for (i, element) in out[off..].chunks_exact(named.extent()).take(count).enumerate() {
            let got = decode(&element[..named.scalar.size()], named.scalar);
            let ((a, ia), (b, ib)) = (a_values[i], b_values[i]);
            let Some(index) = named.index else {
                assert_eq!(got, expected(op, named.scalar, a, b), "{} at {i}: {a:?} {b:?}", context());
                continue;
            };
            let number = |value| match value {
                Int(value) => value as f64,
                Real(value) => value,
                Complex(..) => panic!("a pair has no complex value"),
            };
            let first = match op {
                Op::Minloc => number(a) < number(b) || a == b && ia < ib,
                Op::Maxloc => number(a) > number(b) || a == b && ia < ib,
                _ => op == Op::NoOp,
            };
            let at = index.at as usize;
            let got_index = decode(&element[at..][..index.scalar.size()], index.scalar);
            let wanted = if first { (a, ia) } else { (b, ib) };
            assert_eq!((got, number(got_index) as i128), wanted, "{} at {i}", context());
            let gaps = element[named.scalar.size()..at].iter().chain(&element[at + index.scalar.size()..]);
            assert!(gaps.copied().all(|byte| byte == GAP), "{}", context());
        }
    }
}

#[test]
fn every_operation_on_every_type() {
    let mut random = Random(1);
    for named in NAMED {
        for op in OPS {
            let Ok(kernel) = kernel(op, named) else { continue };
            for count in [0, 1, 2, 3, 7, 16, 31, 33, 65, 130] {
                for off in [0, 1, 8] {
                    check(op, named, kernel, count, off, &mut random);
                }
            }
        }
    }
}

#[test]
fn every_pair_of_a_value_and_an_index() {
    let mut random = Random(2);
    let comparable = |named: &&Named| {
        matches!(named.group, Group::CInteger | Group::FortranInteger | Group::Floating | Group::MultiLanguage)
    };
    for value in NAMED.iter().filter(comparable) {
        for index in NAMED.iter().filter(comparable).filter(|named| named.group != Group::Floating) {
            let of = |named: &Named| predefined_type(named.handle.into()).unwrap();
            let pair = Datatype::value_index(of(value), of(index)).unwrap();
            let named = pair.only().unwrap();
            for op in [Op::Minloc, Op::Maxloc, Op::Replace, Op::NoOp] {
                check(op, named, kernel(op, named).unwrap(), 9, 3, &mut random);
            }
        }
    }
}

#[test]
fn the_table_of_the_standard() {
    let allowed = |op, name: &str| kernel(op, NAMED.iter().find(|named| named.name == name).unwrap()).is_ok();
    for name in ["MPI_INT", "MPI_UINT8_T", "MPI_SIGNED_CHAR", "MPI_CHAR", "MPI_AINT", "MPI_OFFSET", "MPI_COUNT"] {
        assert!(OPS[..10].iter().all(|op| allowed(*op, name)), "{name}");
    }
    for (op, no, yes) in [
        (Op::Max, "MPI_C_DOUBLE_COMPLEX", "MPI_REAL16"),
        (Op::Sum, "MPI_LOGICAL", "MPI_COMPLEX4"),
        (Op::Prod, "MPI_BYTE", "MPI_OFFSET"),
        (Op::Land, "MPI_INTEGER", "MPI_C_BOOL"),
        (Op::Lor, "MPI_DOUBLE", "MPI_LOGICAL16"),
        (Op::Lxor, "MPI_INTEGER8", "MPI_AINT"),
        (Op::Land, "MPI_CHARACTER", "MPI_CHAR"),
        (Op::Band, "MPI_C_BOOL", "MPI_BYTE"),
        (Op::Bor, "MPI_FLOAT", "MPI_INTEGER16"),
        (Op::Bxor, "MPI_LOGICAL", "MPI_COUNT"),
        (Op::Minloc, "MPI_INT", "MPI_2INT"),
        (Op::Maxloc, "MPI_DOUBLE", "MPI_2DOUBLE_PRECISION"),
        (Op::Min, "MPI_DOUBLE_INT", "MPI_LONG_DOUBLE"),
        (Op::Sum, "MPI_CHARACTER", "MPI_CHAR"),
        (Op::Band, "MPI_PACKED", "MPI_INTEGER1"),
        (Op::Max, "MPI_WCHAR", "MPI_LONG"),
    ] {
        assert!(!allowed(op, no) && allowed(op, yes), "{op:?} {no} {yes}");
    }
    let error = kernel(Op::Max, NAMED.iter().find(|named| named.name == "MPI_COMPLEX").unwrap()).unwrap_err();
    assert_eq!(error.class(), MPI_ERR_OP);
    assert!(error.text().contains("MPI_MAX") && error.text().contains("MPI_COMPLEX"), "{error}");
    let error = kernel(Op::Sum, NAMED.iter().find(|named| named.name == "MPI_CHARACTER").unwrap()).unwrap_err();
    assert!(error.text().contains("MPI_SIGNED_CHAR"), "{error}");
}

#[test]
fn handles_of_the_abi() {
    for (handle, op) in [(MPI_SUM, Op::Sum), (MPI_MINLOC, Op::Minloc), (MPI_NO_OP, Op::NoOp), (MPI_BXOR, Op::Bxor)] {
        assert_eq!(predefined(handle.0), Some(op));
    }
    assert_eq!(predefined(MPI_OP_NULL.0), None);
    assert_eq!(predefined(0), None);
    assert_eq!((0..4096).filter_map(predefined).count(), OPS.len());
}

#[test]
fn the_table_for_quick_calls_says_the_same() {
    for handle in 0..128 {
        for datatype in 0x180..0x380 {
            let found = dense(handle, datatype).map(|found| (found.op, found.size, found.kernel as usize));
            let named = NAMED.iter().find(|n| n.handle as usize == datatype && n.size() == n.extent());
            let wanted = predefined(handle).zip(named).and_then(|(op, named)| {
                let kernel = kernel(op, named).ok()?;
                Some((op, named.size(), kernel as usize))
            });
            assert_eq!(found, wanted);
        }
    }
    assert!(dense(usize::MAX, MPI_INT.0).is_none() && dense(MPI_SUM.0, usize::MAX).is_none());
}

fn of(name: &str) -> &'static Named {
    NAMED.iter().find(|named| named.name == name).unwrap()
}

fn apply<const N: usize>(op: Op, name: &str, a: [u8; N], b: [u8; N]) -> [u8; N] {
    let mut out = [0; N];
    // SAFETY: one element each.
    unsafe { kernel(op, of(name)).unwrap()(a.as_ptr(), b.as_ptr(), out.as_mut_ptr(), 1) };
    out
}

#[test]
fn nans_and_zeros_do_not_depend_on_the_order() {
    let nan = f64::NAN.to_le_bytes();
    for other in [0.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324] {
        let other = other.to_le_bytes();
        for op in [Op::Min, Op::Max] {
            let both = [apply(op, "MPI_DOUBLE", nan, other), apply(op, "MPI_DOUBLE", other, nan)];
            assert!(f64::from_le_bytes(both[0]).is_nan());
            assert_eq!(both[0], both[1]);
        }
    }
    let (minus, plus) = ((-0.0f32).to_le_bytes(), 0.0f32.to_le_bytes());
    for (a, b) in [(minus, plus), (plus, minus)] {
        assert_eq!(apply(Op::Min, "MPI_FLOAT", a, b), minus);
        assert_eq!(apply(Op::Max, "MPI_FLOAT", a, b), plus);
    }
    // Of the wide formats, and of pairs.
    for (name, format) in [
        ("MPI_REAL16", (112, 15, false)),
        ("MPI_LONG_DOUBLE", format_of(Scalar::LongDouble).map(|f| (f.0, f.1, f.2)).unwrap()),
    ] {
        let encode = |value| encode_real(value, format.0, format.1, format.2).to_le_bytes();
        let nan =
            (encode_real(1.5, format.0, format.1, format.2) | 0x7fff << (format.0 + u32::from(format.2))).to_le_bytes();
        for (a, b) in [(encode(-0.0), encode(0.0)), (encode(0.0), encode(-0.0))] {
            assert_eq!(apply(Op::Min, name, a, b), encode(-0.0));
            assert_eq!(apply(Op::Max, name, a, b), encode(0.0));
        }
        for (a, b) in [(nan, encode(3.0)), (encode(3.0), nan)] {
            assert_eq!(apply(Op::Min, name, a, b), nan);
            assert_eq!(apply(Op::Max, name, a, b), nan);
        }
    }
    let pair = |value: f32, index: i32| {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&value.to_le_bytes());
        bytes[4..].copy_from_slice(&index.to_le_bytes());
        bytes
    };
    for op in [Op::Minloc, Op::Maxloc] {
        assert_eq!(apply(op, "MPI_FLOAT_INT", pair(f32::NAN, 5), pair(1.0, 2)), pair(f32::NAN, 5));
        assert_eq!(apply(op, "MPI_FLOAT_INT", pair(1.0, 2), pair(f32::NAN, 5)), pair(f32::NAN, 5));
        assert_eq!(apply(op, "MPI_FLOAT_INT", pair(f32::NAN, 7), pair(f32::NAN, 5)), pair(f32::NAN, 5));
    }
}

#[test]
fn halves_are_rounded_to_the_nearest() {
    use crate::half::Half;
    // All values, in order, by their definition.
    let value = |bits: u16| {
        let (e, m) = (i32::from(bits >> 10), f64::from(bits & 0x3ff));
        if e == 0 { m * 2f64.powi(-24) } else { (1.0 + m / 1024.0) * 2f64.powi(e - 15) }
    };
    for bits in 0..0x7c00u16 {
        assert_eq!(f64::from(Half(bits).wide()), value(bits));
        assert_eq!(f64::from(Half(bits | 0x8000).wide()), -value(bits));
        assert_eq!(Half::narrow(Half(bits).wide()).0, bits);
        // Just below, at and just above the middle to the next one.
        let middle = ((value(bits) + value(bits + 1)) / 2.0) as f32;
        assert_eq!(Half::narrow(middle.next_down()).0, bits);
        assert_eq!(Half::narrow(middle.next_up()).0, bits + 1);
        assert_eq!(Half::narrow(-middle).0, 0x8000 | (bits + (bits & 1)));
    }
    assert_eq!(Half::narrow(f32::MAX).0, 0x7c00);
    assert_eq!(Half::narrow(f32::NEG_INFINITY).0, 0xfc00);
    assert_eq!(Half(0x7c00).wide(), f32::INFINITY);
    assert!(Half(0x7c01).wide().is_nan() && Half::narrow(f32::NAN).0 > 0x7c00);
}

#[test]
fn wide_formats_keep_all_their_bits() {
    // 1 + the last bit, plus the same, is exact; the product has to be rounded.
    let quad = |value: f64| encode_real(value, 112, 15, false);
    let odd = quad(1.0) | 1;
    assert_eq!(apply(Op::Sum, "MPI_REAL16", odd.to_le_bytes(), odd.to_le_bytes()), (quad(2.0) | 1).to_le_bytes());
    assert_eq!(apply(Op::Prod, "MPI_REAL16", odd.to_le_bytes(), odd.to_le_bytes()), (quad(1.0) | 2).to_le_bytes());
    if cfg!(target_arch = "x86_64") {
        let long = |value: f64| encode_real(value, 63, 15, true);
        let odd = long(1.0) | 1;
        let padded = (odd | 0xabcd << 80).to_le_bytes();
        assert_eq!(apply(Op::Sum, "MPI_LONG_DOUBLE", padded, padded), (long(2.0) | 1).to_le_bytes());
        assert_eq!(apply(Op::Prod, "MPI_LONG_DOUBLE", padded, padded), (long(1.0) | 2).to_le_bytes());
    }
}

#[test]
fn logicals_of_another_compiler() {
    // -1 for true: the result is true in the same way.
    let (yes, no) = ((-1i32).to_le_bytes(), 0i32.to_le_bytes());
    for (a, b) in [(no, no), (no, yes), (yes, no), (yes, yes)] {
        assert_eq!(apply(Op::Land, "MPI_LOGICAL", a, b), if a == yes && b == yes { yes } else { no });
        assert_eq!(apply(Op::Lor, "MPI_LOGICAL", a, b), if a == yes || b == yes { yes } else { no });
        assert_eq!(apply(Op::Lxor, "MPI_LOGICAL", a, b), if a != b { yes } else { no });
    }
}

/// Applies SUM to elements of a type of ints, and looks at every int of the memory around them.
fn sum_over(datatype: &Arc<Datatype>, start: usize, count: u64, touched: &[usize]) {
    datatype.commit().unwrap();
    let left: Vec<i32> = (0..64).map(|i| 100 + i).collect();
    let mut inout: Vec<i32> = (0..64).collect();
    let reduction = Reduction::new(Op::Sum, datatype).unwrap();
    let operands = Operands { left: left[start..].as_ptr().cast(), inout: inout[start..].as_mut_ptr().cast(), count };
    // SAFETY: from `start` on both vectors have the elements, as no test reaches farther than 64 ints.
    unsafe { reduction.apply(&operands) };
    for (i, value) in inout.iter().enumerate() {
        let i = i as i32;
        assert_eq!(*value, if touched.contains(&(i as usize)) { 100 + 2 * i } else { i }, "{datatype:?} at {i}");
    }
}

#[test]
fn derived_types_of_one_predefined_type() {
    let int = predefined_type(MPI_INT.0).unwrap();
    sum_over(int, 3, 5, &[3, 4, 5, 6, 7]);
    sum_over(&Datatype::contiguous(2, int).unwrap(), 1, 3, &[1, 2, 3, 4, 5, 6]);
    sum_over(&Datatype::vector(2, 2, 3, int).unwrap(), 0, 2, &[0, 1, 3, 4, 5, 6, 8, 9]);
    sum_over(&Datatype::resized(int, 0, 12).unwrap(), 2, 3, &[2, 5, 8]);
    let many = Datatype::resized(int, 0, 8).unwrap();
    sum_over(&Datatype::contiguous(7, &many).unwrap(), 0, 2, &(0..14).map(|i| 2 * i).collect::<Vec<_>>());
    let empty = Datatype::contiguous(0, int).unwrap();
    sum_over(&empty, 0, 4, &[]);

    let double = predefined_type(MPI_DOUBLE.0).unwrap();
    let mixed = Datatype::create_struct(vec![1, 1], vec![0, 8], vec![double.clone(), int.clone()]).unwrap();
    let error = Reduction::new(Op::Sum, &mixed).err().unwrap();
    assert_eq!(error.class(), MPI_ERR_OP);
}

#[test]
fn derived_types_of_pairs_with_gaps() {
    let pair = predefined_type(MPI_SHORT_INT.0).unwrap();
    let datatype = Datatype::vector(2, 1, 2, pair).unwrap();
    datatype.commit().unwrap();
    let element = |value: i16, index: i32| {
        let mut bytes = [GAP; 8];
        bytes[..2].copy_from_slice(&value.to_le_bytes());
        bytes[4..].copy_from_slice(&index.to_le_bytes());
        bytes
    };
    let left: Vec<[u8; 8]> = (0..6).map(|i| element(i, 1)).collect();
    let mut inout = vec![element(3, 0); 6];
    let reduction = Reduction::new(Op::Maxloc, &datatype).unwrap();
    let operands = Operands { left: left.as_ptr().cast(), inout: inout.as_mut_ptr().cast(), count: 2 };
    // SAFETY: both have six pairs, of which two elements of the type reach the last.
    unsafe { reduction.apply(&operands) };
    let was = element(3, 0);
    assert_eq!(inout, [was, was, was, was, was, element(5, 1)]);
}
