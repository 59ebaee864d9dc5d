//! A datatype: an immutable tree of constructors. Sizes and bounds are computed when a node is
//! created, the program that moves its data when it is committed.
//!
//! The tree may be very deep (a type nested a hundred thousand times is legal), so nothing here
//! recurses over it, not even `Drop`. Sizes and bounds have 128 bits: a type that is too large for
//! any address space can be created and queried, but not committed.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use oxmpi_abi::{Result, bail};

use crate::class_hash::Classes;
use crate::contents::Origin;
use crate::facts::Facts;
use crate::layout::Layout;
use crate::lower;
use crate::named::{LB, NAMED, NULL, Named, UB};
use oxmpi_abi::constants::MPI_ERR_TYPE;

/// A displacement or length in bytes of a type that need not fit into an address space.
pub type Wide = i128;

pub struct Datatype {
    pub(crate) shape: Shape,
    pub(crate) origin: Origin,
    pub(crate) facts: Facts,
    /// Made by a `_c` constructor: its arguments are reported as large counts.
    pub(crate) large: bool,
    committed: AtomicBool,
    layout: OnceLock<Layout>,
    overlaps: OnceLock<bool>,
    pub(crate) classes: OnceLock<Classes>,
}

/// The type map, as replications of the type maps of other types.
pub(crate) enum Shape {
    Basic(&'static Named),
    LowerMarker,
    UpperMarker,
    /// `count` blocks at a distance of `stride` bytes, each of `len` copies of the child at a
    /// distance of its extent.
    Vector {
        count: i64,
        len: i64,
        stride: Wide,
        child: Arc<Datatype>,
    },
    /// Blocks of copies of the child; displacements are in units of `unit` bytes.
    Indexed {
        lens: Lens,
        disps: Box<[i64]>,
        unit: Wide,
        child: Arc<Datatype>,
    },
    Struct {
        lens: Box<[i64]>,
        disps: Box<[i64]>,
        types: Box<[Arc<Datatype>]>,
    },
    /// The type map of the child, with other bounds or another constructor.
    Same(Arc<Datatype>),
}

/// Lengths of the blocks of an indexed type.
pub(crate) enum Lens {
    All(i64),
    Each(Box<[i64]>),
}

impl Lens {
    #[inline]
    pub(crate) fn get(&self, i: usize) -> i64 {
        match self {
            Lens::All(len) => *len,
            Lens::Each(lens) => lens[i],
        }
    }
}

impl Datatype {
    pub(crate) fn new(shape: Shape, origin: Origin, facts: Facts) -> Arc<Datatype> {
        let committed = AtomicBool::new(false);
        Arc::new(Datatype {
            shape,
            origin,
            facts,
            large: false,
            committed,
            layout: OnceLock::new(),
            overlaps: OnceLock::new(),
            classes: OnceLock::new(),
        })
    }

    /// Marks the new type as created by the large-count form of its constructor.
    pub fn as_large(mut self: Arc<Datatype>) -> Arc<Datatype> {
        if let Some(new) = Arc::get_mut(&mut self) {
            new.large = true;
        }
        self
    }

    /// Bytes of data in one element; never negative, but may exceed 64 bits.
    pub fn size(&self) -> Wide {
        self.facts.size
    }

    pub fn lb(&self) -> Wide {
        self.facts.lb
    }

    pub fn ub(&self) -> Wide {
        self.facts.ub
    }

    pub fn extent(&self) -> Wide {
        self.facts.extent()
    }

    pub fn true_lb(&self) -> Wide {
        self.facts.true_lb
    }

    pub fn true_extent(&self) -> Wide {
        self.facts.true_ub - self.facts.true_lb
    }

    /// Number of basic elements in one element of this type; a pair counts as two.
    pub fn elements(&self) -> Wide {
        self.facts.elements
    }

    /// The predefined type of all elements, if there is exactly one. Reductions and accumulates
    /// over derived types need it.
    pub fn only(&self) -> Option<&'static Named> {
        self.facts.only
    }

    /// The entry in the table, for a predefined type with a name.
    pub fn named(&self) -> Option<&'static Named> {
        match (&self.origin, &self.shape) {
            (Origin::Named, Shape::Basic(named)) => Some(named),
            _ => None,
        }
    }

    /// The handle of a predefined type that has one in the ABI, or of a marker.
    pub fn predefined_handle(&self) -> Option<usize> {
        match self.shape {
            Shape::LowerMarker => Some(LB),
            Shape::UpperMarker => Some(UB),
            _ => self.named().map(|named| named.handle.into()),
        }
    }

    /// Whether the type is predefined, with or without a name: it needs no commit and cannot be
    /// freed.
    pub fn is_predefined(&self) -> bool {
        matches!(
            self.origin,
            Origin::Named
                | Origin::F90Real(..)
                | Origin::F90Complex(..)
                | Origin::F90Integer(..)
                | Origin::ValueIndex(..)
        )
    }

    #[inline]
    pub fn is_committed(&self) -> bool {
        self.committed.load(Ordering::Relaxed)
    }

    /// Prepares the type for communication.
    pub fn commit(&self) -> Result<()> {
        if self.is_committed() {
            return Ok(());
        }
        let f = &self.facts;
        let fits = |w: Wide| isize::try_from(w).is_ok();
        if ![f.size, f.lb, f.ub, f.extent(), f.true_lb, f.true_ub, f.true_ub - f.true_lb].into_iter().all(fits) {
            bail!(
                MPI_ERR_TYPE,
                "the type cannot be committed: its {} bytes of data between {} and {} do not fit into an address space",
                f.size,
                f.true_lb,
                f.true_ub
            );
        }
        if !lower::is_simple(self) {
            self.layout();
        }
        self.set_committed();
        Ok(())
    }

    /// Relaxed: the layout is published by its own lock, and a handle reaches another thread
    /// through the user's synchronisation.
    pub(crate) fn set_committed(&self) {
        self.committed.store(true, Ordering::Relaxed);
    }

    /// The program that moves one element. It is created when the type is committed or, if that
    /// takes no time, at its first use. Only a type that can be committed has one.
    #[inline]
    pub(crate) fn layout(&self) -> &Layout {
        self.layout.get_or_init(|| lower::lower(self))
    }

    /// Whether elements of a committed type surely overlap, so that receiving into it is erroneous.
    /// Only overlaps that are cheap to detect are found.
    pub fn overlaps(&self, count: u64) -> bool {
        let f = &self.facts;
        if count == 0 || f.size == 0 {
            return false;
        }
        let copies = count > 1 && (f.extent() == 0 || (f.block && f.extent().abs() < f.size));
        copies || (!f.block && *self.overlaps.get_or_init(|| self.layout().overlaps()))
    }

    /// The number of blocks of children in the type map.
    pub(crate) fn blocks(&self) -> usize {
        match &self.shape {
            Shape::Basic(_) | Shape::LowerMarker | Shape::UpperMarker => 0,
            Shape::Vector { count, .. } => *count as usize,
            Shape::Indexed { disps, .. } | Shape::Struct { disps, .. } => disps.len(),
            Shape::Same(_) => 1,
        }
    }

    /// Block `i`: its child, its displacement, its number of copies.
    pub(crate) fn nth_block(&self, i: usize) -> Option<(&Arc<Datatype>, Wide, i64)> {
        match &self.shape {
            Shape::Basic(_) | Shape::LowerMarker | Shape::UpperMarker => None,
            Shape::Vector { len, stride, child, .. } => Some((child, i as Wide * stride, *len)),
            Shape::Indexed { lens, disps, unit, child } => Some((child, Wide::from(disps[i]) * unit, lens.get(i))),
            Shape::Struct { lens, disps, types } => Some((&types[i], disps[i].into(), lens[i])),
            Shape::Same(child) => Some((child, 0, 1)),
        }
    }

    pub(crate) fn children(&self) -> &[Arc<Datatype>] {
        match &self.shape {
            Shape::Basic(_) | Shape::LowerMarker | Shape::UpperMarker => &[],
            Shape::Vector { child, .. } | Shape::Indexed { child, .. } | Shape::Same(child) => {
                std::slice::from_ref(child)
            }
            Shape::Struct { types, .. } => types,
        }
    }
}

/// One line with the kind and the size, for error texts; never the tree below.
impl fmt::Debug for Datatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.named() {
            Some(named) => f.write_str(named.name),
            None => {
                let (combiner, facts) = (self.combiner(), &self.facts);
                write!(f, "{combiner:?} type of {} bytes, extent {} from {}", facts.size, facts.extent(), facts.lb)
            }
        }
    }
}

impl Drop for Datatype {
    /// Takes the tree apart with a list instead of recursion.
    fn drop(&mut self) {
        fn take(of: &mut Datatype, into: &mut Vec<Arc<Datatype>>) {
            if let Origin::Subarray(args) = &mut of.origin {
                into.extend(args.old.take());
            }
            if let Origin::Darray(args) = &mut of.origin {
                into.extend(args.old.take());
            }
            match std::mem::replace(&mut of.shape, Shape::LowerMarker) {
                Shape::Vector { child, .. } | Shape::Indexed { child, .. } | Shape::Same(child) => into.push(child),
                Shape::Struct { types, .. } => into.extend(types),
                Shape::Basic(_) | Shape::LowerMarker | Shape::UpperMarker => {}
            }
        }
        if self.children().iter().all(|c| c.children().is_empty()) {
            return;
        }
        let mut left = Vec::new();
        take(self, &mut left);
        while let Some(next) = left.pop() {
            if let Some(mut last) = Arc::into_inner(next) {
                take(&mut last, &mut left);
            }
        }
    }
}

/// The predefined datatype of a handle; `None` also for `MPI_DATATYPE_NULL` and for the markers.
#[inline]
pub fn predefined(handle: usize) -> Option<&'static Arc<Datatype>> {
    static TABLE: LazyLock<Box<[Option<Arc<Datatype>>]>> = LazyLock::new(|| {
        let mut table = vec![None; 256];
        for named in NAMED {
            table[named.handle as usize - NULL] = Some(basic(named, Origin::Named));
        }
        table.into()
    });
    TABLE.get(handle.wrapping_sub(NULL))?.as_ref()
}

/// Like [`predefined`], but also finds `MPI_LB` and `MPI_UB`, for the list of types of a struct.
pub fn predefined_or_marker(handle: usize) -> Option<&'static Arc<Datatype>> {
    static MARKERS: LazyLock<[Arc<Datatype>; 2]> = LazyLock::new(|| {
        let none = Facts::EMPTY;
        [
            Datatype::new(Shape::LowerMarker, Origin::Named, Facts { marked_lb: true, ..none }),
            Datatype::new(Shape::UpperMarker, Origin::Named, Facts { marked_ub: true, ..none }),
        ]
    });
    match handle {
        LB => Some(&MARKERS[0]),
        UB => Some(&MARKERS[1]),
        _ => predefined(handle),
    }
}

/// A predefined type, committed.
pub(crate) fn basic(named: &'static Named, origin: Origin) -> Arc<Datatype> {
    let new = Datatype::new(Shape::Basic(named), origin, Facts::basic(named));
    new.set_committed();
    new
}
