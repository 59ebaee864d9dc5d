//! Rebuilds a type for elements of other lengths, by the same constructor calls: for a file whose
//! data representation differs from that of memory. Displacements in extents change with the
//! lengths, displacements in bytes do not, and nothing is aligned.

use std::collections::HashMap;
use std::sync::Arc;

use oxmpi_abi::Result;
use oxmpi_abi::constants::MPI_BYTE;

use crate::contents::Origin;
use crate::datatype::{Datatype, Lens, Shape, predefined};
use crate::named::Named;

impl Datatype {
    /// A committed type of runs of bytes, with `length` bytes for each predefined type.
    pub fn restated(
        self: &Arc<Datatype>,
        length: &mut dyn FnMut(&'static Named) -> Result<i64>,
    ) -> Result<Arc<Datatype>> {
        // The tree may be deep, so it is walked with a list; a child that is used several times is
        // rebuilt once.
        let mut made: HashMap<*const Datatype, Arc<Datatype>> = HashMap::new();
        let mut left = vec![self];
        while let Some(next) = left.last().copied() {
            let before = left.len();
            let has = |child: &&Arc<Datatype>| !made.contains_key(&Arc::as_ptr(child));
            left.extend(next.arguments().iter().filter(has));
            if left.len() == before {
                left.pop();
                if !made.contains_key(&Arc::as_ptr(next)) {
                    let new = next.remade(&|child| made[&Arc::as_ptr(child)].clone(), length)?;
                    made.insert(Arc::as_ptr(next), new);
                }
            }
        }
        let new = made[&Arc::as_ptr(self)].clone();
        new.commit()?;
        Ok(new)
    }

    /// The types among the constructor's arguments.
    fn arguments(&self) -> &[Arc<Datatype>] {
        match &self.origin {
            Origin::Subarray(args) => args.old.as_slice(),
            Origin::Darray(args) => args.old.as_slice(),
            _ => self.children(),
        }
    }

    /// Repeats the constructor's call with other types.
    fn remade(
        self: &Arc<Datatype>,
        new: &dyn Fn(&Arc<Datatype>) -> Arc<Datatype>,
        length: &mut dyn FnMut(&'static Named) -> Result<i64>,
    ) -> Result<Arc<Datatype>> {
        if let (Origin::Subarray(args), [old]) = (&self.origin, self.arguments()) {
            let (sizes, subsizes, starts) = (args.sizes.clone(), args.subsizes.clone(), args.starts.clone());
            return Datatype::subarray(sizes, subsizes, starts, args.order, &new(old));
        }
        if let (Origin::Darray(args), [old]) = (&self.origin, self.arguments()) {
            let (gsizes, distribs) = (args.gsizes.clone(), args.distribs.clone());
            let (dargs, psizes) = (args.dargs.clone(), args.psizes.clone());
            return Datatype::darray(args.size, args.rank, gsizes, distribs, dargs, psizes, args.order, &new(old));
        }
        match &self.shape {
            Shape::Basic(named) => {
                let byte = predefined(MPI_BYTE.0).unwrap_or_else(|| unreachable!("bytes are predefined"));
                Datatype::contiguous(length(named)?, byte)
            }
            Shape::LowerMarker | Shape::UpperMarker => Ok(self.clone()),
            Shape::Vector { count, len, stride, child } => match self.origin {
                Origin::Contiguous => Datatype::contiguous(*len, &new(child)),
                Origin::Vector { step } => Datatype::vector(*count, *len, step, &new(child)),
                // The argument had 64 bits.
                _ => Datatype::hvector(*count, *len, *stride as i64, &new(child)),
            },
            Shape::Indexed { lens, disps, child, .. } => {
                let (disps, child) = (disps.to_vec(), new(child));
                match (lens, &self.origin) {
                    (Lens::Each(lens), Origin::Indexed) => Datatype::indexed(lens.to_vec(), disps, &child),
                    (Lens::Each(lens), _) => Datatype::hindexed(lens.to_vec(), disps, &child),
                    (Lens::All(len), Origin::IndexedBlock) => Datatype::indexed_block(*len, disps, &child),
                    (Lens::All(len), _) => Datatype::hindexed_block(*len, disps, &child),
                }
            }
            Shape::Struct { lens, disps, types } => {
                Datatype::create_struct(lens.to_vec(), disps.to_vec(), types.iter().map(new).collect())
            }
            Shape::Same(child) => match self.origin {
                Origin::Resized => Datatype::resized(&new(child), self.lb() as i64, self.extent() as i64),
                _ => Ok(new(child)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named::NAMED;
    use oxmpi_abi::constants::MPI_ORDER_C;

    fn of(name: &str) -> &'static Arc<Datatype> {
        predefined(NAMED.iter().find(|n| n.name == name).unwrap().handle.into()).unwrap()
    }

    fn external(ty: &Arc<Datatype>) -> Arc<Datatype> {
        ty.restated(&mut |named| Ok(named.external_size() as i64)).unwrap()
    }

    #[test]
    fn displacements_in_extents_follow_the_lengths() {
        // Eight bytes in memory and four in the file.
        let long = of("MPI_LONG");
        let vector = external(&Datatype::vector(3, 2, 5, long).unwrap());
        assert_eq!((vector.size(), vector.extent()), (24, 4 * 12));
        let sub = external(&Datatype::subarray(vec![4, 6], vec![2, 3], vec![1, 2], MPI_ORDER_C, long).unwrap());
        assert_eq!((sub.size(), sub.extent(), sub.true_lb()), (24, 96, 4 * 8));
        let hvector = external(&Datatype::hvector(3, 1, 100, long).unwrap());
        assert_eq!((hvector.size(), hvector.extent()), (12, 204));
        let block = external(&Datatype::indexed(vec![1, 2], vec![3, 7], long).unwrap());
        assert_eq!((block.true_lb(), block.ub()), (12, 36));
        let hindexed = external(&Datatype::hindexed_block(1, vec![3, 90], long).unwrap());
        assert_eq!((hindexed.true_lb(), hindexed.ub()), (3, 94));
        let resized = external(&Datatype::resized(long, 0, 64).unwrap());
        assert_eq!((resized.size(), resized.extent()), (4, 64));
    }

    #[test]
    fn nothing_is_aligned_and_deep_types_do_not_overflow_the_stack() {
        let (double, int) = (of("MPI_DOUBLE").clone(), of("MPI_INT").clone());
        let particle = Datatype::create_struct(vec![1, 1], vec![0, 8], vec![double, int]).unwrap();
        assert_eq!(particle.extent(), 16);
        assert_eq!(external(&particle).extent(), 12);
        let mut deep = particle;
        for _ in 0..100_000 {
            deep = Datatype::dup(&deep);
        }
        assert_eq!(external(&deep).extent(), 12);
    }
}
