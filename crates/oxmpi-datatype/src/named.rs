//! The predefined datatypes: handle, name, size, alignment, representation in memory, and length in
//! `external32`. One table; all other facts about a named type are derived from it.
//!
//! On the platforms of OxMPI (64-bit Linux, x86-64 and aarch64) every optional type of the ABI has
//! a representation, so none has an undefined size. A half-precision real (`MPI_REAL2`,
//! `MPI_COMPLEX4`, `MPIX_C_FLOAT16`) is an IEEE binary16 in two bytes: it is moved as bytes, or
//! converted to binary32 for computations. `MPIX_BFLOAT16` is the upper half of a binary32.

use oxmpi_abi::{Result, bail};

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use oxmpi_abi::constants::{MPI_DATATYPE_NULL, MPI_LB, MPI_UB};

/// The handle of `MPI_DATATYPE_NULL`; the predefined datatypes are the 255 values after it.
pub const NULL: usize = MPI_DATATYPE_NULL.0;

/// `MPI_LB` and `MPI_UB`, the markers that MPI removed after MPI-2: OxMPI's own values, outside
/// those of the ABI. They are allowed only in the list of types of a struct, and in queries.
pub const LB: usize = MPI_LB.0;
pub const UB: usize = MPI_UB.0;

/// The machine representation of one element, for reductions and conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    F16,
    /// The sign, the exponent and the first seven bits of a binary32.
    Bfloat16,
    F32,
    F64,
    /// C `long double`: x87 extended in 16 bytes on x86-64, binary128 on aarch64.
    LongDouble,
    F128,
    /// Complex numbers: two of the real type.
    C16,
    C32,
    C64,
    CLongDouble,
    C128,
    /// C and C++ bool.
    Bool,
    /// Fortran LOGICAL of that many bytes.
    Logical(u8),
    /// A character or a byte: no arithmetic.
    Char,
    WChar,
    Byte,
}

impl Scalar {
    pub const fn size(self) -> usize {
        match self {
            Scalar::I8 | Scalar::U8 | Scalar::Bool | Scalar::Char | Scalar::Byte => 1,
            Scalar::I16 | Scalar::U16 | Scalar::F16 | Scalar::Bfloat16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 | Scalar::C16 | Scalar::WChar => 4,
            Scalar::I64 | Scalar::U64 | Scalar::F64 | Scalar::C32 => 8,
            Scalar::I128 | Scalar::LongDouble | Scalar::F128 | Scalar::C64 => 16,
            Scalar::CLongDouble | Scalar::C128 => 32,
            Scalar::Logical(n) => n as usize,
        }
    }

    /// The alignment that C and Fortran compilers use: its size, or half of it for a complex
    /// number.
    pub const fn align(self) -> usize {
        match self {
            Scalar::C16 | Scalar::C32 | Scalar::C64 | Scalar::CLongDouble | Scalar::C128 => self.size() / 2,
            _ => self.size(),
        }
    }
}

/// The groups of types by which the standard defines the allowed reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    CInteger,
    FortranInteger,
    Floating,
    Logical,
    Complex,
    Byte,
    /// `MPI_AINT`, `MPI_OFFSET`, `MPI_COUNT`: integers in every language.
    MultiLanguage,
    /// Value and index, for MINLOC and MAXLOC.
    Pair,
    /// Characters: no predefined reduction.
    Character,
    Packed,
}

/// A predefined datatype.
#[derive(Debug)]
pub struct Named {
    pub handle: u16,
    pub name: &'static str,
    pub group: Group,
    /// The element; of a pair type, its value.
    pub scalar: Scalar,
    /// The second half of a pair type.
    pub index: Option<Index>,
    /// Length of one `scalar` in `external32`.
    pub external: u8,
}

/// The index of a pair type: its representation, its position in the pair, and its length in
/// `external32`.
#[derive(Clone, Copy, Debug)]
pub struct Index {
    pub scalar: Scalar,
    pub at: u8,
    pub external: u8,
}

impl Named {
    const fn new(handle: u16, name: &'static str, group: Group, scalar: Scalar, external: u8) -> Named {
        Named { handle, name, group, scalar, index: None, external }
    }

    /// A pair with the layout of a C struct; `external` is the length of the value and of the
    /// index.
    const fn pair(handle: u16, name: &'static str, scalar: Scalar, index: Scalar, external: (u8, u8)) -> Named {
        let align = index.align();
        let at = (scalar.size().div_ceil(align) * align) as u8;
        let index = Some(Index { scalar: index, at, external: external.1 });
        Named { handle, name, group: Group::Pair, scalar, index, external: external.0 }
    }

    /// The pair of a value and an index for which the ABI has no name.
    pub(crate) const fn unnamed_pair(value: &Named, index: &Named) -> Named {
        Named::pair(0, "", value.scalar, index.scalar, (value.external, index.external))
    }

    pub const fn size(&self) -> usize {
        self.scalar.size() + if let Some(index) = self.index { index.scalar.size() } else { 0 }
    }

    pub const fn align(&self) -> usize {
        let value = self.scalar.align();
        match self.index {
            Some(index) if index.scalar.align() > value => index.scalar.align(),
            _ => value,
        }
    }

    /// The end of the last element.
    pub const fn end(&self) -> usize {
        match self.index {
            Some(index) => index.at as usize + index.scalar.size(),
            None => self.scalar.size(),
        }
    }

    pub const fn extent(&self) -> usize {
        self.end().div_ceil(self.align()) * self.align()
    }

    pub const fn external_size(&self) -> usize {
        self.external as usize + if let Some(index) = self.index { index.external as usize } else { 0 }
    }
}

/// The predefined datatypes in the order of their handles.
pub static NAMED: &[Named] = &{
    use Group::*;
    use Scalar::{Bfloat16, Bool, Byte as B, C16, C32, C64, C128, CLongDouble, Char, F16, F32, F64, F128};
    use Scalar::{I8, I16, I32, I64, I128, Logical as L, LongDouble, U8, U16, U32, U64, WChar};
    [
        Named::new(0x201, "MPI_AINT", MultiLanguage, I64, 8),
        Named::new(0x202, "MPI_COUNT", MultiLanguage, I64, 8),
        Named::new(0x203, "MPI_OFFSET", MultiLanguage, I64, 8),
        Named::new(0x207, "MPI_PACKED", Packed, B, 1),
        Named::new(0x208, "MPI_SHORT", CInteger, I16, 2),
        Named::new(0x209, "MPI_INT", CInteger, I32, 4),
        Named::new(0x20a, "MPI_LONG", CInteger, I64, 4),
        Named::new(0x20b, "MPI_LONG_LONG_INT", CInteger, I64, 8),
        Named::new(0x20c, "MPI_UNSIGNED_SHORT", CInteger, U16, 2),
        Named::new(0x20d, "MPI_UNSIGNED", CInteger, U32, 4),
        Named::new(0x20e, "MPI_UNSIGNED_LONG", CInteger, U64, 4),
        Named::new(0x20f, "MPI_UNSIGNED_LONG_LONG", CInteger, U64, 8),
        Named::new(0x210, "MPI_FLOAT", Floating, F32, 4),
        Named::new(0x212, "MPI_C_COMPLEX", Complex, C32, 8),
        Named::new(0x213, "MPI_CXX_FLOAT_COMPLEX", Complex, C32, 8),
        Named::new(0x214, "MPI_DOUBLE", Floating, F64, 8),
        Named::new(0x216, "MPI_C_DOUBLE_COMPLEX", Complex, C64, 16),
        Named::new(0x217, "MPI_CXX_DOUBLE_COMPLEX", Complex, C64, 16),
        Named::new(0x218, "MPI_LOGICAL", Logical, L(4), 4),
        Named::new(0x219, "MPI_INTEGER", FortranInteger, I32, 4),
        Named::new(0x21a, "MPI_REAL", Floating, F32, 4),
        Named::new(0x21b, "MPI_COMPLEX", Complex, C32, 8),
        Named::new(0x21c, "MPI_DOUBLE_PRECISION", Floating, F64, 8),
        Named::new(0x21d, "MPI_DOUBLE_COMPLEX", Complex, C64, 16),
        Named::new(0x21e, "MPI_CHARACTER", Character, Char, 1),
        Named::new(0x220, "MPI_LONG_DOUBLE", Floating, LongDouble, 16),
        Named::new(0x224, "MPI_C_LONG_DOUBLE_COMPLEX", Complex, CLongDouble, 32),
        Named::new(0x225, "MPI_CXX_LONG_DOUBLE_COMPLEX", Complex, CLongDouble, 32),
        Named::pair(0x228, "MPI_FLOAT_INT", F32, I32, (4, 4)),
        Named::pair(0x229, "MPI_DOUBLE_INT", F64, I32, (8, 4)),
        Named::pair(0x22a, "MPI_LONG_INT", I64, I32, (4, 4)),
        Named::pair(0x22b, "MPI_2INT", I32, I32, (4, 4)),
        Named::pair(0x22c, "MPI_SHORT_INT", I16, I32, (2, 4)),
        Named::pair(0x22d, "MPI_LONG_DOUBLE_INT", LongDouble, I32, (16, 4)),
        Named::pair(0x230, "MPI_2REAL", F32, F32, (4, 4)),
        Named::pair(0x231, "MPI_2DOUBLE_PRECISION", F64, F64, (8, 8)),
        Named::pair(0x232, "MPI_2INTEGER", I32, I32, (4, 4)),
        Named::new(0x238, "MPI_C_BOOL", Logical, Bool, 1),
        Named::new(0x239, "MPI_CXX_BOOL", Logical, Bool, 1),
        Named::new(0x23c, "MPI_WCHAR", Character, WChar, 2),
        Named::new(0x240, "MPI_INT8_T", CInteger, I8, 1),
        Named::new(0x241, "MPI_UINT8_T", CInteger, U8, 1),
        Named::new(0x243, "MPI_CHAR", Character, Char, 1),
        Named::new(0x244, "MPI_SIGNED_CHAR", CInteger, I8, 1),
        Named::new(0x245, "MPI_UNSIGNED_CHAR", CInteger, U8, 1),
        Named::new(0x247, "MPI_BYTE", Byte, B, 1),
        Named::new(0x248, "MPI_INT16_T", CInteger, I16, 2),
        Named::new(0x249, "MPI_UINT16_T", CInteger, U16, 2),
        Named::new(0x250, "MPI_INT32_T", CInteger, I32, 4),
        Named::new(0x251, "MPI_UINT32_T", CInteger, U32, 4),
        Named::new(0x258, "MPI_INT64_T", CInteger, I64, 8),
        Named::new(0x259, "MPI_UINT64_T", CInteger, U64, 8),
        Named::new(0x2c0, "MPI_LOGICAL1", Logical, L(1), 1),
        Named::new(0x2c1, "MPI_INTEGER1", FortranInteger, I8, 1),
        Named::new(0x2c8, "MPI_LOGICAL2", Logical, L(2), 2),
        Named::new(0x2c9, "MPI_INTEGER2", FortranInteger, I16, 2),
        Named::new(0x2ca, "MPI_REAL2", Floating, F16, 2),
        Named::new(0x2d0, "MPI_LOGICAL4", Logical, L(4), 4),
        Named::new(0x2d1, "MPI_INTEGER4", FortranInteger, I32, 4),
        Named::new(0x2d2, "MPI_REAL4", Floating, F32, 4),
        Named::new(0x2d3, "MPI_COMPLEX4", Complex, C16, 4),
        Named::new(0x2d8, "MPI_LOGICAL8", Logical, L(8), 8),
        Named::new(0x2d9, "MPI_INTEGER8", FortranInteger, I64, 8),
        Named::new(0x2da, "MPI_REAL8", Floating, F64, 8),
        Named::new(0x2db, "MPI_COMPLEX8", Complex, C32, 8),
        Named::new(0x2e0, "MPI_LOGICAL16", Logical, L(16), 16),
        Named::new(0x2e1, "MPI_INTEGER16", FortranInteger, I128, 16),
        Named::new(0x2e2, "MPI_REAL16", Floating, F128, 16),
        Named::new(0x2e3, "MPI_COMPLEX16", Complex, C64, 16),
        Named::new(0x2eb, "MPI_COMPLEX32", Complex, C128, 32),
        Named::new(0x2f8, "MPIX_C_FLOAT16", Floating, F16, 2),
        Named::new(0x2f9, "MPIX_BFLOAT16", Floating, Bfloat16, 2),
    ]
};

/// Size in bytes by the low byte of the handle; 0 if the value is not a predefined type or is one
/// with a gap.
static DENSE: [AtomicU8; 256] = {
    let mut table = [const { AtomicU8::new(0) }; 256];
    let mut i = 0;
    while i < NAMED.len() {
        if NAMED[i].size() == NAMED[i].extent() {
            table[NAMED[i].handle as usize - NULL] = AtomicU8::new(NAMED[i].size() as u8);
        }
        i += 1;
    }
    table
};

/// Bytes of an element of the predefined type `handle`, if its elements are contiguous; `None` for
/// any other value. A send of a named type needs this, so it is one load from a small table.
#[inline]
pub fn dense_size(handle: usize) -> Option<usize> {
    let at = handle.wrapping_sub(NULL);
    let size = DENSE.get(at)?.load(Relaxed);
    if size != 0 { Some(size.into()) } else { None }
}

/// From now on the elements of a type are not taken for bytes without gaps.
pub(crate) fn forget_dense(named: &Named) {
    DENSE[named.handle as usize - NULL].store(0, Relaxed);
}

/// The table's entry for `handle`.
pub fn named(handle: usize) -> Option<&'static Named> {
    let handle = u16::try_from(handle).ok()?;
    NAMED.binary_search_by_key(&handle, |n| n.handle).ok().map(|i| &NAMED[i])
}

/// The size-specific type of a class, for `MPI_Type_match_size`.
pub fn match_size(class: i32, size: i32) -> Result<&'static Named> {
    use oxmpi_abi::constants::{
        MPI_ERR_ARG, MPI_TYPECLASS_COMPLEX, MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL, MPIX_TYPECLASS_LOGICAL,
    };
    let (word, prefix) = match class {
        MPI_TYPECLASS_REAL => ("real", "MPI_REAL"),
        MPI_TYPECLASS_INTEGER => ("integer", "MPI_INTEGER"),
        MPI_TYPECLASS_COMPLEX => ("complex", "MPI_COMPLEX"),
        MPIX_TYPECLASS_LOGICAL => ("logical", "MPI_LOGICAL"),
        _ => bail!(MPI_ERR_ARG, "typeclass {class} is not one of MPI_TYPECLASS_REAL, _INTEGER and _COMPLEX"),
    };
    let name = format!("{prefix}{size}");
    match NAMED.iter().find(|n| n.name == name) {
        Some(found) => Ok(found),
        None => bail!(MPI_ERR_ARG, "there is no {word} type of {size} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_c_agrees() {
        assert!(NAMED.windows(2).all(|w| w[0].handle < w[1].handle));
        let shape = |name| {
            let n = NAMED.iter().find(|n| n.name == name).unwrap();
            (n.size(), n.extent())
        };
        assert_eq!(shape("MPI_DOUBLE_INT"), (12, 16));
        assert_eq!(shape("MPI_SHORT_INT"), (6, 8));
        assert_eq!(shape("MPI_LONG_DOUBLE_INT"), (20, 32));
        assert_eq!(shape("MPI_2INT"), (8, 8));
        assert_eq!(shape("MPI_C_LONG_DOUBLE_COMPLEX"), (32, 32));
        assert_eq!(shape("MPI_LONG"), (size_of::<libc::c_long>(), size_of::<libc::c_long>()));
        assert_eq!(shape("MPI_WCHAR").0, size_of::<libc::wchar_t>());
    }

    #[test]
    fn the_table_has_every_type_of_the_abi() {
        use oxmpi_abi::constants::DATATYPE_NAMES;
        use oxmpi_abi::handle::Datatype as Handle;
        for (handle, name) in DATATYPE_NAMES {
            match handle.0 {
                NULL | LB | UB => assert!(named(handle.0).is_none()),
                raw => assert!(named(raw).is_some(), "{name}"),
            }
        }
        // Of two names for one type, the standard calls the second a synonym; the ABI's table has
        // the second one.
        let synonyms = [("MPI_LONG_LONG", "MPI_LONG_LONG_INT"), ("MPI_C_FLOAT_COMPLEX", "MPI_C_COMPLEX")];
        let first =
            |name: &'static str| synonyms.iter().find(|(second, _)| *second == name).map_or(name, |(_, first)| *first);
        for entry in NAMED {
            let is_it = |(h, name): &(Handle, &'static str)| h.0 == entry.handle as usize && first(name) == entry.name;
            assert!(DATATYPE_NAMES.iter().any(is_it), "{}", entry.name);
        }
    }

    #[test]
    fn dense_size_knows_only_what_has_no_gaps() {
        assert_eq!(dense_size(0x209), Some(4));
        assert_eq!(dense_size(0x214), Some(8));
        assert_eq!(dense_size(0x229), None); // MPI_DOUBLE_INT
        assert_eq!(dense_size(NULL), None);
        assert_eq!(dense_size(LB), None);
        assert_eq!(dense_size(0x100), None);
        assert_eq!(dense_size(usize::MAX), None);
    }

    #[test]
    fn match_size_finds_the_sized_types() {
        assert_eq!(match_size(193, 8).unwrap().name, "MPI_REAL8");
        assert_eq!(match_size(192, 16).unwrap().name, "MPI_INTEGER16");
        assert_eq!(match_size(194, 32).unwrap().name, "MPI_COMPLEX32");
        assert_eq!(match_size(193, 7).unwrap_err().class(), 13);
        assert_eq!(match_size(1, 8).unwrap_err().class(), 13);
    }
}
