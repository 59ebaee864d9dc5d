//! The call and the arguments that created a type, for `MPI_Type_get_envelope` and
//! `MPI_Type_get_contents`.

use std::sync::Arc;

use crate::datatype::{Datatype, Lens, Shape, predefined};
use crate::named::Named;

/// The constructor, with those of its arguments that the shape does not contain.
pub(crate) enum Origin {
    Named,
    Dup,
    Contiguous,
    Vector { step: i64 },
    Hvector,
    Indexed,
    Hindexed,
    IndexedBlock,
    HindexedBlock,
    Struct,
    Resized,
    Subarray(Box<SubarrayArgs>),
    Darray(Box<DarrayArgs>),
    F90Real(i32, i32),
    F90Complex(i32, i32),
    F90Integer(i32),
    ValueIndex(&'static Named, &'static Named),
}

pub(crate) struct SubarrayArgs {
    pub sizes: Vec<i64>,
    pub subsizes: Vec<i64>,
    pub starts: Vec<i64>,
    pub order: i32,
    pub old: Option<Arc<Datatype>>,
}

pub(crate) struct DarrayArgs {
    pub size: i32,
    pub rank: i32,
    pub gsizes: Vec<i64>,
    pub distribs: Vec<i32>,
    pub dargs: Vec<i32>,
    pub psizes: Vec<i32>,
    pub order: i32,
    pub old: Option<Arc<Datatype>>,
}

/// The ABI's numbers for the constructors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Combiner {
    Named = 101,
    Dup = 102,
    Contiguous = 103,
    Vector = 104,
    Hvector = 105,
    Indexed = 106,
    Hindexed = 107,
    IndexedBlock = 108,
    HindexedBlock = 109,
    Struct = 110,
    Subarray = 111,
    Darray = 112,
    F90Real = 113,
    F90Complex = 114,
    F90Integer = 115,
    Resized = 116,
    ValueIndex = 117,
}

/// The number of arguments of each sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    pub integers: usize,
    pub addresses: usize,
    /// Arguments of type `MPI_Count`: only for a type of the large-count form of a constructor.
    pub large_counts: usize,
    pub datatypes: usize,
    pub combiner: Combiner,
}

/// The arguments of the constructor, sorted as the standard sorts them.
#[derive(Default)]
pub struct Contents {
    pub integers: Vec<i32>,
    pub addresses: Vec<i64>,
    pub large_counts: Vec<i64>,
    pub datatypes: Vec<Arc<Datatype>>,
}

impl Datatype {
    pub fn combiner(&self) -> Combiner {
        match self.origin {
            Origin::Named => Combiner::Named,
            Origin::Dup => Combiner::Dup,
            Origin::Contiguous => Combiner::Contiguous,
            Origin::Vector { .. } => Combiner::Vector,
            Origin::Hvector => Combiner::Hvector,
            Origin::Indexed => Combiner::Indexed,
            Origin::Hindexed => Combiner::Hindexed,
            Origin::IndexedBlock => Combiner::IndexedBlock,
            Origin::HindexedBlock => Combiner::HindexedBlock,
            Origin::Struct => Combiner::Struct,
            Origin::Resized => Combiner::Resized,
            Origin::Subarray(_) => Combiner::Subarray,
            Origin::Darray(_) => Combiner::Darray,
            Origin::F90Real(..) => Combiner::F90Real,
            Origin::F90Complex(..) => Combiner::F90Complex,
            Origin::F90Integer(_) => Combiner::F90Integer,
            Origin::ValueIndex(..) => Combiner::ValueIndex,
        }
    }

    pub fn envelope(&self) -> Envelope {
        let mut tally = Tally { large: self.large, sizes: [0; 4] };
        self.describe(&mut tally);
        let [integers, addresses, large_counts, datatypes] = tally.sizes;
        Envelope { integers, addresses, large_counts, datatypes, combiner: self.combiner() }
    }

    /// The arguments; none for a named type. Datatypes among them are the original ones, so handles
    /// to them are new references.
    pub fn contents(&self) -> Contents {
        let mut list = List { large: self.large, contents: Contents::default() };
        self.describe(&mut list);
        list.contents
    }

    fn describe(&self, to: &mut impl Take) {
        match &self.origin {
            Origin::Named => return,
            Origin::Subarray(args) => {
                to.int(args.sizes.len() as i32);
                to.counts(&args.sizes);
                to.counts(&args.subsizes);
                to.counts(&args.starts);
                to.int(args.order);
                return args.old.iter().for_each(|old| to.datatype(old));
            }
            Origin::Darray(args) => {
                to.int(args.size);
                to.int(args.rank);
                to.int(args.gsizes.len() as i32);
                to.counts(&args.gsizes);
                [&args.distribs, &args.dargs, &args.psizes].into_iter().flatten().for_each(|v| to.int(*v));
                to.int(args.order);
                return args.old.iter().for_each(|old| to.datatype(old));
            }
            Origin::F90Real(p, r) | Origin::F90Complex(p, r) => {
                to.int(*p);
                return to.int(*r);
            }
            Origin::F90Integer(r) => return to.int(*r),
            Origin::ValueIndex(value, index) => {
                let found = [value, index].into_iter().filter_map(|n| predefined(n.handle.into()));
                return found.for_each(|ty| to.datatype(ty));
            }
            _ => {}
        }
        match &self.shape {
            Shape::Vector { count, len, stride, .. } => match self.origin {
                Origin::Contiguous => to.counts(&[*len]),
                Origin::Vector { step } => to.counts(&[*count, *len, step]),
                _ => {
                    to.counts(&[*count, *len]);
                    // The argument had 64 bits.
                    to.addresses(&[*stride as i64]);
                }
            },
            Shape::Indexed { lens, disps, .. } => {
                to.counts(&[disps.len() as i64]);
                match lens {
                    Lens::All(len) => to.counts(&[*len]),
                    Lens::Each(lens) => to.counts(lens),
                }
                match self.origin {
                    Origin::Indexed | Origin::IndexedBlock => to.counts(disps),
                    _ => to.addresses(disps),
                }
            }
            Shape::Struct { lens, disps, .. } => {
                to.counts(&[disps.len() as i64]);
                to.counts(lens);
                to.addresses(disps);
            }
            Shape::Same(_) if matches!(self.origin, Origin::Resized) => {
                to.addresses(&[self.facts.lb as i64, self.facts.extent() as i64]);
            }
            Shape::Same(_) | Shape::Basic(_) | Shape::LowerMarker | Shape::UpperMarker => {}
        }
        self.children().iter().for_each(|child| to.datatype(child));
    }
}

/// Receives the arguments of a constructor, in its order.
trait Take {
    /// An argument that is an `int` in both forms.
    fn int(&mut self, value: i32);
    /// Arguments that are `int` in one form and `MPI_Count` in the other.
    fn counts(&mut self, values: &[i64]);
    /// Arguments that are `MPI_Aint` in one form and `MPI_Count` in the other.
    fn addresses(&mut self, values: &[i64]);
    fn datatype(&mut self, of: &Arc<Datatype>);
}

/// Counts the arguments.
struct Tally {
    large: bool,
    sizes: [usize; 4],
}

impl Take for Tally {
    fn int(&mut self, _: i32) {
        self.sizes[0] += 1;
    }

    fn counts(&mut self, values: &[i64]) {
        self.sizes[if self.large { 2 } else { 0 }] += values.len();
    }

    fn addresses(&mut self, values: &[i64]) {
        self.sizes[if self.large { 2 } else { 1 }] += values.len();
    }

    fn datatype(&mut self, _: &Arc<Datatype>) {
        self.sizes[3] += 1;
    }
}

/// Collects the arguments.
struct List {
    large: bool,
    contents: Contents,
}

impl Take for List {
    fn int(&mut self, value: i32) {
        self.contents.integers.push(value);
    }

    fn counts(&mut self, values: &[i64]) {
        if self.large {
            self.contents.large_counts.extend(values);
        } else {
            // The arguments were ints.
            self.contents.integers.extend(values.iter().map(|v| *v as i32));
        }
    }

    fn addresses(&mut self, values: &[i64]) {
        if self.large {
            self.contents.large_counts.extend(values);
        } else {
            self.contents.addresses.extend(values);
        }
    }

    fn datatype(&mut self, of: &Arc<Datatype>) {
        self.contents.datatypes.push(of.clone());
    }
}
