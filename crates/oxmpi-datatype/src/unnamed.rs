//! Predefined types without a name: those that Fortran programs request by precision and range, and
//! the pairs of a value and an index beyond the named ones. The same request returns the same type,
//! and a type is never freed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use oxmpi_abi::{Result, bail};

use crate::contents::Origin;
use crate::datatype::{Datatype, basic, predefined};
use crate::named::{Group, NAMED, Named, Scalar, named};
use oxmpi_abi::constants::{MPI_ERR_ARG, MPI_UNDEFINED};

/// The request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Real(i32, i32),
    Complex(i32, i32),
    Integer(i32),
    Pair(u16, u16),
}

// Not a hash map: valgrind would take the memory of that for lost, because no pointer leads to where it begins.
static MADE: Mutex<Option<BTreeMap<Key, Arc<Datatype>>>> = Mutex::new(None);

impl Datatype {
    /// The type of `REAL(selected_real_kind(p, r))`; one of the two may be `MPI_UNDEFINED`.
    pub fn f90_real(p: i32, r: i32) -> Result<Arc<Datatype>> {
        let named = by_name(real_kind(p, r)?.0);
        Ok(keep(Key::Real(p, r), || basic(named, Origin::F90Real(p, r))))
    }

    /// The type of `COMPLEX(selected_real_kind(p, r))`.
    pub fn f90_complex(p: i32, r: i32) -> Result<Arc<Datatype>> {
        let named = by_name(real_kind(p, r)?.1);
        Ok(keep(Key::Complex(p, r), || basic(named, Origin::F90Complex(p, r))))
    }

    /// The type of `INTEGER(selected_int_kind(r))`.
    pub fn f90_integer(r: i32) -> Result<Arc<Datatype>> {
        let name = match r {
            MPI_UNDEFINED => bail!(MPI_ERR_ARG, "r is MPI_UNDEFINED; an integer type needs a range"),
            ..=2 => "MPI_INTEGER1",
            3..=4 => "MPI_INTEGER2",
            5..=9 => "MPI_INTEGER4",
            10..=18 => "MPI_INTEGER8",
            19..=38 => "MPI_INTEGER16",
            _ => bail!(MPI_ERR_ARG, "r is {r}; no integer type has more than 38 decimal digits"),
        };
        Ok(keep(Key::Integer(r), || basic(by_name(name), Origin::F90Integer(r))))
    }

    /// The type of a pair for MINLOC and MAXLOC; `None` if there is none.
    pub fn value_index(value: &Datatype, index: &Datatype) -> Option<Arc<Datatype>> {
        use Group::{CInteger, Floating, FortranInteger, MultiLanguage};
        let (value, index) = (value.named()?, index.named()?);
        let comparable = matches!(value.group, CInteger | FortranInteger | Floating | MultiLanguage);
        let named = match (value.name, index.name) {
            ("MPI_FLOAT", "MPI_INT") => "MPI_FLOAT_INT",
            ("MPI_DOUBLE", "MPI_INT") => "MPI_DOUBLE_INT",
            ("MPI_LONG", "MPI_INT") => "MPI_LONG_INT",
            ("MPI_INT", "MPI_INT") => "MPI_2INT",
            ("MPI_SHORT", "MPI_INT") => "MPI_SHORT_INT",
            ("MPI_LONG_DOUBLE", "MPI_INT") => "MPI_LONG_DOUBLE_INT",
            ("MPI_REAL", "MPI_REAL") => "MPI_2REAL",
            ("MPI_DOUBLE_PRECISION", "MPI_DOUBLE_PRECISION") => "MPI_2DOUBLE_PRECISION",
            ("MPI_INTEGER", "MPI_INTEGER") => "MPI_2INTEGER",
            _ if comparable && matches!(index.group, CInteger | FortranInteger | MultiLanguage) => {
                return Some(keep(Key::Pair(value.handle, index.handle), || {
                    // Never freed, like all predefined types; there are at most as many as pairs of
                    // names.
                    let pair = Box::leak(Box::new(Named::unnamed_pair(value, index)));
                    basic(pair, Origin::ValueIndex(value, index))
                }));
            }
            _ => return None,
        };
        predefined(by_name(named).handle.into()).cloned()
    }
}

/// A number for an element that means the same in every process of a job: its handle, or both handles of a pair.
pub fn number_on_wire(element: &Named) -> u32 {
    let made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |ty: &Datatype| ty.only().is_some_and(|only| std::ptr::eq(only, element));
    let pair = made.iter().flatten().find_map(|(key, ty)| match key {
        Key::Pair(value, index) if is_it(ty) => Some(u32::from(*value) << 16 | u32::from(*index)),
        _ => None,
    });
    pair.unwrap_or(element.handle.into())
}

/// The element with such a number; `None` for a number that no process has made.
pub fn element_on_wire(number: u32) -> Option<&'static Named> {
    match (number >> 16, number & 0xffff) {
        (0, handle) => named(handle as usize),
        (value, index) => {
            let pair = Datatype::value_index(predefined(value as usize)?, predefined(index as usize)?)?;
            pair.only()
        }
    }
}

/// The real and the complex type with at least this precision and range, as compilers choose them.
fn real_kind(p: i32, r: i32) -> Result<(&'static str, &'static str)> {
    if p == MPI_UNDEFINED && r == MPI_UNDEFINED {
        bail!(MPI_ERR_ARG, "p and r are both MPI_UNDEFINED; one of them has to be given");
    }
    // MPI_UNDEFINED is below every limit.
    match (p, r) {
        (..=6, ..=37) => Ok(("MPI_REAL4", "MPI_COMPLEX8")),
        (..=15, ..=307) => Ok(("MPI_REAL8", "MPI_COMPLEX16")),
        // Fortran compilers for x86-64 have the x87 format between double and quadruple precision.
        (..=18, ..=4931) if cfg!(target_arch = "x86_64") => Ok(("MPI_LONG_DOUBLE", "MPI_C_LONG_DOUBLE_COMPLEX")),
        (..=33, ..=4931) => Ok(("MPI_REAL16", "MPI_COMPLEX32")),
        _ => bail!(MPI_ERR_ARG, "p is {p} and r is {r}; no real type has more than 33 digits or a range beyond 4931"),
    }
}

fn by_name(name: &str) -> &'static Named {
    match NAMED.iter().find(|n| n.name == name) {
        Some(named) => named,
        None => unreachable!("{name} is in the table"),
    }
}

fn keep(key: Key, make: impl FnOnce() -> Arc<Datatype>) -> Arc<Datatype> {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.get_or_insert_default().entry(key).or_insert_with(make).clone()
}

const _: () = assert!(Scalar::LongDouble.size() == 16);
