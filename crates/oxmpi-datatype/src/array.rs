//! Subarrays and distributed arrays: parts of a global array, expressed as vectors between markers
//! that span the whole array.

use std::sync::Arc;

use oxmpi_abi::{Result, bail};

use crate::construct::{bounded, moved, vector};
use crate::contents::{DarrayArgs, Origin, SubarrayArgs};
use crate::datatype::{Datatype, Wide};
use crate::facts::{add, mul};
use oxmpi_abi::constants::{
    MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_NONE, MPI_ERR_ARG,
    MPI_ORDER_C, MPI_ORDER_FORTRAN,
};

impl Datatype {
    /// A part of an array. The three lists have one entry for each dimension.
    pub fn subarray(
        sizes: Vec<i64>,
        subsizes: Vec<i64>,
        starts: Vec<i64>,
        order: i32,
        old: &Arc<Datatype>,
    ) -> Result<Arc<Datatype>> {
        if sizes.is_empty() {
            bail!(MPI_ERR_ARG, "ndims is 0; an array has at least one dimension");
        }
        for (i, ((&size, &sub), &start)) in sizes.iter().zip(&subsizes).zip(&starts).enumerate() {
            if size < 1 {
                bail!(MPI_ERR_ARG, "array_of_sizes[{i}] is {size}; it must be positive");
            }
            if sub < 1 || sub > size {
                bail!(MPI_ERR_ARG, "array_of_subsizes[{i}] is {sub}; it must be between 1 and the size {size}");
            }
            if start < 0 || start > size - sub {
                bail!(
                    MPI_ERR_ARG,
                    "array_of_starts[{i}] is {start}; with {sub} of {size} elements it must be between 0 and {}",
                    size - sub
                );
            }
        }
        let mut stride = old.extent();
        let mut start = 0;
        let mut part: Option<Arc<Datatype>> = None;
        for i in fastest_first(order, sizes.len())? {
            part = Some(match part {
                // In the fastest dimension the elements are contiguous.
                None => vector(1, subsizes[i], 0, old, Origin::Contiguous)?,
                Some(inner) => vector(subsizes[i], 1, stride, &inner, Origin::Hvector)?,
            });
            start = add(start, mul(stride, Wide::from(starts[i]))?)?;
            stride = mul(stride, Wide::from(sizes[i]))?;
        }
        let part = moved(part.unwrap_or_else(|| old.clone()), start)?;
        let args = SubarrayArgs { sizes, subsizes, starts, order, old: Some(old.clone()) };
        Ok(bounded(part, 0, stride, Origin::Subarray(Box::new(args))))
    }

    /// The part of rank `rank` of an array that is distributed over a grid of `size` processes. The
    /// four lists have one entry for each dimension.
    #[allow(clippy::too_many_arguments)]
    pub fn darray(
        size: i32,
        rank: i32,
        gsizes: Vec<i64>,
        distribs: Vec<i32>,
        dargs: Vec<i32>,
        psizes: Vec<i32>,
        order: i32,
        old: &Arc<Datatype>,
    ) -> Result<Arc<Datatype>> {
        check_grid(size, rank, &gsizes, &psizes)?;
        let coords = coordinates(rank, &psizes);
        let mut part = old.clone();
        for i in fastest_first(order, gsizes.len())? {
            let block = block_size(i, gsizes[i], distribs[i], dargs[i], psizes[i])?;
            let parts = if distribs[i] == MPI_DISTRIBUTE_NONE { (1, 0) } else { (i64::from(psizes[i]), coords[i]) };
            part = cyclic(block, gsizes[i], parts.1, parts.0, &part)?;
        }
        let (lb, ub) = (part.lb(), part.ub());
        let args = DarrayArgs { size, rank, gsizes, distribs, dargs, psizes, order, old: Some(old.clone()) };
        Ok(bounded(part, lb, ub, Origin::Darray(Box::new(args))))
    }
}

fn check_grid(size: i32, rank: i32, gsizes: &[i64], psizes: &[i32]) -> Result<()> {
    if size < 1 {
        bail!(MPI_ERR_ARG, "size is {size}; a group has at least one process");
    }
    if rank < 0 || rank >= size {
        bail!(MPI_ERR_ARG, "rank is {rank}; in a group of {size} it must be between 0 and {}", size - 1);
    }
    if gsizes.is_empty() {
        bail!(MPI_ERR_ARG, "ndims is 0; an array has at least one dimension");
    }
    if let Some(i) = gsizes.iter().position(|g| *g < 1) {
        bail!(MPI_ERR_ARG, "array_of_gsizes[{i}] is {}; it must be positive", gsizes[i]);
    }
    if let Some(i) = psizes.iter().position(|p| *p < 1) {
        bail!(MPI_ERR_ARG, "array_of_psizes[{i}] is {}; it must be positive", psizes[i]);
    }
    let grid = psizes.iter().try_fold(1i32, |product, p| product.checked_mul(*p));
    if grid != Some(size) {
        bail!(MPI_ERR_ARG, "the product of array_of_psizes {psizes:?} is not the size of the group, {size}");
    }
    Ok(())
}

/// The coordinates of a rank in the grid of processes, which is row-major, whatever the order of
/// the array.
fn coordinates(rank: i32, psizes: &[i32]) -> Vec<i64> {
    let mut rest = rank;
    let mut coords: Vec<i64> = psizes.iter().rev().map(|p| (rest % p, rest /= p).0.into()).collect();
    coords.reverse();
    coords
}

/// The block size of a dimension: each distribution is a cyclic one of blocks of some size.
fn block_size(i: usize, gsize: i64, distrib: i32, darg: i32, psize: i32) -> Result<i64> {
    let default = darg == MPI_DISTRIBUTE_DFLT_DARG;
    let psize = i64::from(psize);
    match distrib {
        MPI_DISTRIBUTE_NONE if psize != 1 => {
            bail!(MPI_ERR_ARG, "array_of_psizes[{i}] is {psize}; a dimension that is not distributed needs 1")
        }
        MPI_DISTRIBUTE_NONE => Ok(gsize),
        MPI_DISTRIBUTE_BLOCK | MPI_DISTRIBUTE_CYCLIC if !default && darg < 1 => {
            bail!(MPI_ERR_ARG, "array_of_dargs[{i}] is {darg}; it must be positive or MPI_DISTRIBUTE_DFLT_DARG")
        }
        MPI_DISTRIBUTE_BLOCK if default => Ok(ceil(gsize, psize)),
        MPI_DISTRIBUTE_BLOCK if i64::from(darg) * psize < gsize => {
            bail!(
                MPI_ERR_ARG,
                "array_of_dargs[{i}] is {darg}: {psize} blocks of that size do not cover {gsize} elements"
            )
        }
        MPI_DISTRIBUTE_CYCLIC if default => Ok(1),
        MPI_DISTRIBUTE_BLOCK | MPI_DISTRIBUTE_CYCLIC => Ok(darg.into()),
        _ => {
            bail!(MPI_ERR_ARG, "array_of_distribs[{i}] is {distrib}; it must be MPI_DISTRIBUTE_BLOCK, _CYCLIC or _NONE")
        }
    }
}

/// The blocks of process `part`, when blocks of `block` elements are assigned to `parts` processes
/// in turn.
fn cyclic(block: i64, gsize: i64, part: i64, parts: i64, old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
    let extent = old.extent();
    let ub = mul(extent, Wide::from(gsize))?;
    let blocks = ceil(gsize, block);
    // Blocks part, part + parts, part + 2 * parts … below the number of blocks.
    let count = if part < blocks { ceil(blocks - part, parts) } else { 0 };
    let mine = if count == 0 {
        vector(0, 0, 0, old, Origin::Contiguous)?
    } else {
        let step = mul(extent, Wide::from(block) * Wide::from(parts))?;
        let last = part + (count - 1) * parts;
        let last_len = block.min(gsize - last * block);
        let start = mul(extent, Wide::from(part) * Wide::from(block))?;
        if last_len == block {
            moved(vector(count, block, step, old, Origin::Hvector)?, start)?
        } else if count == 1 {
            moved(vector(1, last_len, 0, old, Origin::Contiguous)?, start)?
        } else {
            let whole = moved(vector(count - 1, block, step, old, Origin::Hvector)?, start)?;
            let at = add(start, mul(step, Wide::from(count - 1))?)?;
            let rest = moved(vector(1, last_len, 0, old, Origin::Contiguous)?, at)?;
            Datatype::create_struct(vec![1, 1], vec![0, 0], vec![whole, rest])?
        }
    };
    Ok(bounded(mine, 0, ub, Origin::Resized))
}

/// Quotient of positive numbers, rounded up.
fn ceil(a: i64, b: i64) -> i64 {
    (a - 1) / b + 1
}

/// The dimensions, beginning with the one whose elements are contiguous.
fn fastest_first(order: i32, ndims: usize) -> Result<Box<dyn Iterator<Item = usize>>> {
    match order {
        MPI_ORDER_FORTRAN => Ok(Box::new(0..ndims)),
        MPI_ORDER_C => Ok(Box::new((0..ndims).rev())),
        _ => bail!(MPI_ERR_ARG, "order is {order}; it must be MPI_ORDER_C or MPI_ORDER_FORTRAN"),
    }
}
