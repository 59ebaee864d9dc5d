//! The constructors: each checks its arguments, computes the facts and creates the node. Each has
//! the name of its MPI function. Those that compute extents of arrays (subarray, darray) are in
//! `array.rs`.
//!
//! Markers (`MPI_LB`, `MPI_UB`) can enter only through [`Datatype::create_struct`]: no other
//! constructor gets one, because [`crate::predefined`] does not find them.

use std::sync::Arc;

use oxmpi_abi::{Result, bail};

use crate::contents::Origin;
use crate::datatype::{Datatype, Lens, Shape, Wide};
use crate::facts::{Facts, Map, add, mul};
use oxmpi_abi::constants::{MPI_ERR_ARG, MPI_ERR_COUNT};

impl Datatype {
    pub fn contiguous(count: i64, old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        not_negative("count", count)?;
        vector(1, count, 0, old, Origin::Contiguous)
    }

    /// `stride` in extents of the old type.
    pub fn vector(count: i64, blocklength: i64, stride: i64, old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        not_negative("count", count)?;
        not_negative_arg("blocklength", blocklength)?;
        let bytes = mul(Wide::from(stride), old.extent())?;
        vector(count, blocklength, bytes, old, Origin::Vector { step: stride })
    }

    /// `stride` in bytes.
    pub fn hvector(count: i64, blocklength: i64, stride: i64, old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        not_negative("count", count)?;
        not_negative_arg("blocklength", blocklength)?;
        vector(count, blocklength, Wide::from(stride), old, Origin::Hvector)
    }

    /// Displacements in extents of the old type. Here and below there are as many lengths as
    /// displacements.
    pub fn indexed(blocklengths: Vec<i64>, displacements: Vec<i64>, old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        not_negative_each("array_of_blocklengths", &blocklengths)?;
        indexed(Lens::Each(blocklengths.into()), displacements, old.extent(), old, Origin::Indexed)
    }

    /// Displacements in bytes.
    pub fn hindexed(blocklengths: Vec<i64>, displacements: Vec<i64>, old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        not_negative_each("array_of_blocklengths", &blocklengths)?;
        indexed(Lens::Each(blocklengths.into()), displacements, 1, old, Origin::Hindexed)
    }

    /// Displacements in extents of the old type.
    pub fn indexed_block(blocklength: i64, displacements: Vec<i64>, old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        not_negative_arg("blocklength", blocklength)?;
        indexed(Lens::All(blocklength), displacements, old.extent(), old, Origin::IndexedBlock)
    }

    /// Displacements in bytes.
    pub fn hindexed_block(blocklength: i64, displacements: Vec<i64>, old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        not_negative_arg("blocklength", blocklength)?;
        indexed(Lens::All(blocklength), displacements, 1, old, Origin::HindexedBlock)
    }

    /// Displacements in bytes; as many lengths and types as displacements. The types may be
    /// markers.
    pub fn create_struct(
        blocklengths: Vec<i64>,
        displacements: Vec<i64>,
        types: Vec<Arc<Datatype>>,
    ) -> Result<Arc<Datatype>> {
        not_negative_each("array_of_blocklengths", &blocklengths)?;
        let mut map = Map::EMPTY;
        let mut derived = 0;
        for ((len, disp), ty) in blocklengths.iter().zip(&displacements).zip(&types) {
            map = map.then(Map::of(&ty.facts).repeat(*len, ty.extent())?.shift(Wide::from(*disp))?)?;
            derived += usize::from(!ty.children().is_empty());
        }
        map.branching |= derived > 1;
        let shape = Shape::Struct { lens: blocklengths.into(), disps: displacements.into(), types: types.into() };
        Ok(Datatype::new(shape, Origin::Struct, map.finish()?))
    }

    pub fn resized(old: &Arc<Datatype>, lb: i64, extent: i64) -> Result<Arc<Datatype>> {
        let lb = Wide::from(lb);
        Ok(bounded(old.clone(), lb, lb + Wide::from(extent), Origin::Resized))
    }

    /// A duplicate of the type, committed if the original is.
    pub fn dup(old: &Arc<Datatype>) -> Arc<Datatype> {
        let new = Datatype::new(Shape::Same(old.clone()), Origin::Dup, old.facts);
        if old.is_committed() {
            new.set_committed();
        }
        new
    }
}

pub(crate) fn vector(
    count: i64,
    len: i64,
    stride: Wide,
    child: &Arc<Datatype>,
    origin: Origin,
) -> Result<Arc<Datatype>> {
    let facts = match child.facts.small_vector(count, len, stride) {
        Some(facts) => facts,
        None => Map::of(&child.facts).repeat(len, child.extent())?.repeat(count, stride)?.finish()?,
    };
    Ok(Datatype::new(Shape::Vector { count, len, stride, child: child.clone() }, origin, facts))
}

pub(crate) fn indexed(
    lens: Lens,
    disps: Vec<i64>,
    unit: Wide,
    child: &Arc<Datatype>,
    origin: Origin,
) -> Result<Arc<Datatype>> {
    let map = Map::of(&child.facts).blocks(child.extent(), &lens, &disps, unit)?;
    let shape = Shape::Indexed { lens, disps: disps.into(), unit, child: child.clone() };
    Ok(Datatype::new(shape, origin, map.finish()?))
}

/// The type map of the child between markers.
pub(crate) fn bounded(child: Arc<Datatype>, lb: Wide, ub: Wide, origin: Origin) -> Arc<Datatype> {
    let facts = Facts { lb, ub, marked_lb: true, marked_ub: true, ..child.facts };
    Datatype::new(Shape::Same(child), origin, facts)
}

/// The type map of the child, displaced by some bytes.
pub(crate) fn moved(child: Arc<Datatype>, by: Wide) -> Result<Arc<Datatype>> {
    if by == 0 {
        return Ok(child);
    }
    add(child.facts.true_ub, by)?;
    indexed(Lens::All(1), vec![1], by, &child, Origin::HindexedBlock)
}

fn not_negative(name: &str, count: i64) -> Result<()> {
    if count < 0 {
        bail!(MPI_ERR_COUNT, "{name} is {count}; it must not be negative");
    }
    Ok(())
}

fn not_negative_arg(name: &str, value: i64) -> Result<()> {
    if value < 0 {
        bail!(MPI_ERR_ARG, "{name} is {value}; it must not be negative");
    }
    Ok(())
}

fn not_negative_each(name: &str, values: &[i64]) -> Result<()> {
    match values.iter().position(|v| *v < 0) {
        Some(i) => bail!(MPI_ERR_ARG, "{name}[{i}] is {}; it must not be negative", values[i]),
        None => Ok(()),
    }
}
