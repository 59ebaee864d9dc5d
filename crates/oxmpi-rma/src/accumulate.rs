//! Accumulates: combine elements of a window with elements of the origin, atomically per element.
//!
//! One mechanism serves all of them. The memory of every rank is divided into blocks, blocks share
//! [stripes](crate::Control::stripe), and a rank that changes an element holds the stripe of the
//! block in which the element begins. So any mixture of operations on elements of any size is
//! atomic, whether or not the memory is mapped here, and long runs use the same loops as
//! reductions. Reading alone needs no stripe for elements that the processor reads and writes with
//! one instruction; a pair or a complex number of eight bytes is written in halves. `scattered.rs`
//! handles derived types.

use crate::control::STRIPES;
use crate::request::{PART_UNIT, SHORTEST, What};
use crate::transfer::{get_remote, put_remote};
use crate::{RemoteRun, Window};
use oxmpi_abi::constants::*;
use oxmpi_abi::{Result, bail};
use oxmpi_base::stripe::Stripe;
use oxmpi_base::valgrind;
use oxmpi_datatype::{Datatype, Group, NAMED, NULL, Named};
use oxmpi_ops::{Kernel, Op};
use oxmpi_transport::NodeMemory;
use std::mem::MaybeUninit;
use std::sync::{Arc, LazyLock};

/// What an accumulate does to each element.
#[derive(Clone, Copy)]
pub struct Combine {
    pub op: Op,
    pub kernel: Kernel,
    /// Bytes from one element to the next.
    pub extent: usize,
    /// The handles of the operation and of the elements' type.
    pub handles: [u32; 2],
}

/// The combination of an operation and a predefined type without gaps; `None` for all other types,
/// and for operations that the type does not have.
#[inline]
pub fn predefined_combine(op: usize, datatype: usize) -> Option<Combine> {
    let found = oxmpi_ops::dense(op, datatype)?;
    Some(Combine { op: found.op, kernel: found.kernel, extent: found.size, handles: [op as u32, datatype as u32] })
}

/// The one predefined type that all types consist of.
pub fn only_element(types: &[&Arc<Datatype>]) -> Result<&'static Named> {
    let Some(element) = types[0].only() else {
        bail!(MPI_ERR_TYPE, "{:?} is not made of one predefined datatype, which an accumulate requires", types[0]);
    };
    for other in &types[1..] {
        match other.only() {
            Some(found) if std::ptr::eq(found, element) => {}
            Some(found) => {
                bail!(MPI_ERR_TYPE, "the datatypes differ: one is made of {}, another of {}", element.name, found.name)
            }
            None => {
                bail!(MPI_ERR_TYPE, "{other:?} is not made of one predefined datatype, which an accumulate requires")
            }
        }
    }
    Ok(element)
}

impl Window {
    #[inline]
    fn stripe(&self, rank: usize, offset: usize) -> &Stripe {
        self.control.stripe(rank, (offset >> self.block_shift) % STRIPES)
    }

    /// Takes a stripe of a rank's memory. A rank that waits for a stripe of its own memory will
    /// soon serve requests again and says so: if the others worked alone in the meantime, it would
    /// have to wait for them in turn.
    #[inline]
    fn take(&self, rank: usize, stripe: &Stripe) {
        if stripe.try_take(self.rank) {
            return;
        }
        let wait = || stripe.wait(self.rank, self.stripe_pauses, |holder| self.is_gone(holder));
        if rank == self.rank && self.is_remote { self.control.while_polling(rank, wait) } else { wait() }
    }

    /// Combines a run of elements in memory that is mapped here. `source` is null for `MPI_NO_OP`;
    /// `old`, unless it is null, gets the previous elements.
    ///
    /// # Safety
    /// `at` is memory of a rank's window, and all three have `count` elements; `source` and `old` do not overlap it.
    #[inline]
    pub unsafe fn combine(
        &self,
        rank: usize,
        with: &Combine,
        at: *mut u8,
        source: *const u8,
        old: *mut u8,
        count: usize,
    ) {
        let extent = with.extent;
        let offset = at.addr().wrapping_sub(self.targets[rank].base.addr());
        // SAFETY: this function's condition; every rank that changes these elements takes the same
        // stripes.
        unsafe {
            if with.op == Op::NoOp && is_one_word(with.handles[1]) && read_at_once(at, old, extent, count) {
                return;
            }
            if (offset ^ (offset + count * extent - 1)) >> self.block_shift == 0 {
                let stripe = self.stripe(rank, offset);
                self.take(rank, stripe);
                if !old.is_null() {
                    copy_elements(at, old, extent, count);
                }
                if with.op != Op::NoOp {
                    (with.kernel)(at, source, at, count);
                }
                stripe.give_back();
                return;
            }
            self.combine_blocks(rank, with, at, source, old, count);
        }
    }

    /// As [`Window::combine`], for elements in several blocks. Takes many stripes at a time: a
    /// stripe costs little, but waits for all earlier stores.
    ///
    /// # Safety
    /// As for [`Window::combine`].
    #[inline(never)]
    unsafe fn combine_blocks(
        &self,
        rank: usize,
        with: &Combine,
        mut at: *mut u8,
        mut source: *const u8,
        mut old: *mut u8,
        mut count: usize,
    ) {
        let extent = with.extent;
        let most = ((32 << self.block_shift) / extent).max(1);
        let at_once = (NEAR / extent).max(1);
        while count > 0 {
            let offset = at.addr().wrapping_sub(self.targets[rank].base.addr());
            let mut part = count.min(most);
            count -= part;
            let stripes = self.stripes_of(offset, part * extent, extent);
            self.take_stripes(rank, stripes);
            while part > 0 {
                // Elements that are fetched and then changed stay in the cache for the second
                // access.
                let now = if old.is_null() { part } else { part.min(at_once) };
                let bytes = now * extent;
                // SAFETY: this function's condition.
                unsafe {
                    if !old.is_null() {
                        old.copy_from_nonoverlapping(at, bytes);
                        old = old.add(bytes);
                    }
                    if with.op != Op::NoOp {
                        (with.kernel)(at, source, at, now);
                    }
                }
                at = at.wrapping_add(bytes);
                source = source.wrapping_add(bytes);
                part -= now;
            }
            self.give_stripes_back(rank, stripes);
        }
    }

    /// Compares an element with another one and replaces it if they are equal; whether it did.
    ///
    /// # Safety
    /// `at` is memory of a rank's window that is mapped here, and all four have room for the element.
    #[inline]
    pub unsafe fn compare_and_swap(
        &self,
        rank: usize,
        at: *mut u8,
        bytes: usize,
        new: *const u8,
        compare: *const u8,
        old: *mut u8,
    ) -> bool {
        let stripe = self.stripe(rank, at.addr().wrapping_sub(self.targets[rank].base.addr()));
        self.take(rank, stripe);
        // SAFETY: this function's condition.
        let alike = unsafe {
            copy_elements(at, old, bytes, 1);
            same(old, compare, bytes)
        };
        if alike {
            // SAFETY: one element of `bytes` bytes may be read at `new` and written at `at`.
            unsafe { copy_elements(new, at, bytes, 1) };
        }
        stripe.give_back();
        alike
    }

    /// As [`Window::compare_and_swap`], in memory that is not mapped here.
    ///
    /// # Safety
    /// The last three have room for the element.
    pub unsafe fn compare_and_swap_remote(
        &self,
        node: &NodeMemory,
        at: RemoteRun,
        bytes: usize,
        new: *const u8,
        compare: *const u8,
        old: *mut u8,
    ) -> Result<bool> {
        // SAFETY: this function's condition.
        unsafe {
            if self.ask(node, at, What::CompareAndSwap, bytes, [(new, bytes), (compare, bytes)], old) {
                return Ok(same(old, compare, bytes));
            }
        }
        let stripe = self.stripe(at.rank, at.offset);
        self.take(at.rank, stripe);
        let swap = || {
            get_remote(node, old, bytes, at)?;
            // SAFETY: `old` and `compare` have `bytes` bytes.
            let alike = unsafe { same(old, compare, bytes) };
            if alike {
                put_remote(node, new, bytes, at)?;
            }
            Ok(alike)
        };
        let result = swap();
        stripe.give_back();
        result
    }

    /// Combines a run of elements in memory of another process, as [`Window::combine`] does.
    ///
    /// # Safety
    /// `source` and `old`, where they are not null, have `count` elements.
    pub unsafe fn combine_remote(
        &self,
        node: &NodeMemory,
        with: &Combine,
        at: RemoteRun,
        source: *const u8,
        old: *mut u8,
        count: usize,
    ) -> Result<()> {
        let [op, datatype] = with.handles;
        let what = What::Combine { op, datatype, fetch: !old.is_null() };
        let bytes = count * with.extent;
        let given = if with.op == Op::NoOp { 0 } else { bytes };
        // SAFETY: `source` and `old`, unless they are null, have `count` elements: this function's
        // condition.
        if unsafe { self.ask(node, at, what, bytes, [(source, given), (std::ptr::null(), 0)], old) } {
            return Ok(());
        }
        // SAFETY: `source` and `old`, unless they are null, have `count` elements, and `from` is a multiple of the
        // extent below that.
        let own = |from: usize, bytes: usize| unsafe {
            let old = if old.is_null() { old } else { old.add(from) };
            self.combine_alone(node, with, at.behind(from), source.wrapping_add(from), old, bytes / with.extent)
        };
        if bytes < SHORTEST || !PART_UNIT.is_multiple_of(with.extent) {
            return own(0, bytes);
        }
        self.share(node, at, what, bytes, [source.expose_provenance(), old.expose_provenance()], own)
    }

    /// As [`Window::combine_remote`], without the help of the target.
    ///
    /// # Safety
    /// As for [`Window::combine_remote`].
    unsafe fn combine_alone(
        &self,
        node: &NodeMemory,
        with: &Combine,
        mut at: RemoteRun,
        mut source: *const u8,
        mut old: *mut u8,
        mut count: usize,
    ) -> Result<()> {
        let mut few = [const { MaybeUninit::<u64>::uninit() }; 32];
        let mut many = Vec::<u8>::new();
        let mut stage: *mut u8 = few.as_mut_ptr().cast();
        let mut most = size_of_val(&few) / with.extent;
        let direct = with.op == Op::NoOp || (with.op == Op::Replace && old.is_null());
        if count > most {
            most = (STAGE_BYTES / with.extent).min(count);
            if !direct {
                many.reserve_exact(most * with.extent);
                stage = many.as_mut_ptr();
            }
        }
        while count > 0 {
            let part = count.min(most);
            let bytes = part * with.extent;
            let stripes = self.stripes_of(at.offset, bytes, with.extent);
            self.take_stripes(at.rank, stripes);
            // SAFETY: `source` and `old`, unless they are null, have `part` more elements; the
            // stage has room for a part.
            let result = unsafe { combine_part(node, with, at, source, old, stage, part) };
            self.give_stripes_back(at.rank, stripes);
            result?;
            source = source.wrapping_add(bytes);
            if !old.is_null() {
                old = old.wrapping_add(bytes);
            }
            at = at.behind(bytes);
            count -= part;
        }
        Ok(())
    }

    /// The stripes of the elements in a run, one bit each.
    #[inline]
    pub(crate) fn stripes_of(&self, offset: usize, bytes: usize, extent: usize) -> u64 {
        stripes_of(self.block_shift, offset, bytes, extent)
    }

    /// Takes stripes in the order of their numbers, as every rank does that takes several.
    #[inline]
    pub(crate) fn take_stripes(&self, rank: usize, stripes: u64) {
        bits(stripes).for_each(|stripe| self.take(rank, self.control.stripe(rank, stripe)));
    }

    #[inline]
    pub(crate) fn give_stripes_back(&self, rank: usize, stripes: u64) {
        bits(stripes).for_each(|stripe| self.control.stripe(rank, stripe).give_back());
    }
}

/// The stripes of the elements in a run, one bit each; blocks have `1 << block_shift` bytes.
#[inline]
pub(crate) fn stripes_of(block_shift: u32, offset: usize, bytes: usize, extent: usize) -> u64 {
    let first = offset >> block_shift;
    let last = offset.wrapping_add(bytes - extent) >> block_shift;
    if last.wrapping_sub(first) >= STRIPES - 1 {
        return u64::MAX;
    }
    (first..=last).fold(0, |mask, block| mask | 1 << (block % STRIPES))
}

/// The positions of the bits that are set, from the lowest.
pub(crate) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(lowest)
    })
}

/// # Safety
/// As for [`Window::combine_remote`]; the stage has room for `count` elements, and the stripes are held.
unsafe fn combine_part(
    node: &NodeMemory,
    with: &Combine,
    at: RemoteRun,
    source: *const u8,
    old: *mut u8,
    stage: *mut u8,
    count: usize,
) -> Result<()> {
    let bytes = count * with.extent;
    match with.op {
        Op::NoOp => get_remote(node, old, bytes, at),
        Op::Replace if old.is_null() => put_remote(node, source, bytes, at),
        _ => {
            let before = if old.is_null() { stage } else { old };
            get_remote(node, before, bytes, at)?;
            // SAFETY: `before`, `source` and `stage` have `count` elements each.
            unsafe { (with.kernel)(before, source, stage, count) };
            // The gaps of a pair are part of the stage, and no kernel writes them.
            if valgrind::is_on() {
                valgrind::make_defined(stage as usize, bytes);
            }
            put_remote(node, stage, bytes, at)
        }
    }
}

/// Whether `MPI_Compare_and_swap` supports a type.
pub fn check_comparable(element: &Named) -> Result<()> {
    use Group::*;
    if matches!(element.group, CInteger | FortranInteger | Logical | MultiLanguage | Byte) {
        return Ok(());
    }
    bail!(MPI_ERR_TYPE, "{} cannot be compared and swapped; integers, logicals and MPI_BYTE can", element.name)
}

/// Bytes moved at a time: enough that system calls are cheap, and few enough that others do not
/// wait long.
pub(crate) const STAGE_BYTES: usize = 64 << 10;

/// Bytes that stay in the first-level cache.
const NEAR: usize = 8 << 10;

// ---- single elements ----

/// Whether the processor reads and writes elements of a predefined type with one instruction.
#[inline]
fn is_one_word(datatype: u32) -> bool {
    static WORDS: LazyLock<[bool; 256]> = LazyLock::new(|| {
        let mut words = [false; 256];
        for named in NAMED.iter().filter(|named| named.size() <= 8 && named.index.is_none()) {
            words[usize::from(named.handle) - NULL] = named.group != Group::Complex;
        }
        words
    });
    WORDS.get((datatype as usize).wrapping_sub(NULL)).is_some_and(|&word| word)
}

/// Reads elements with one load each; false for elements that need more than one.
///
/// # Safety
/// Both have `count` elements of `bytes` bytes.
#[inline]
unsafe fn read_at_once(from: *const u8, to: *mut u8, bytes: usize, count: usize) -> bool {
    macro_rules! by_size {
        ($($bytes:literal $type:ty),*) => {
            match bytes {
                $($bytes if from.cast::<$type>().is_aligned() => {
                    for index in 0..count {
                        // SAFETY: this function's condition; volatile, so that each element is one
                        // load.
                        unsafe {
                            let value = from.cast::<$type>().add(index).read_volatile();
                            to.cast::<$type>().add(index).write_unaligned(value);
                        }
                    }
                    true
                })*
                _ => false,
            }
        };
    }
    by_size!(1 u8, 2 u16, 4 u32, 8 u64)
}

/// # Safety
/// Both have `count` elements of `bytes` bytes, and do not overlap.
#[inline]
unsafe fn copy_elements(from: *const u8, to: *mut u8, bytes: usize, count: usize) {
    // SAFETY: this function's condition. One element is one move, so that a reader without a stripe
    // sees all or nothing of it.
    unsafe {
        match (bytes, count) {
            (8, 1) => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            (4, 1) => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            (2, 1) => to.cast::<u16>().write_unaligned(from.cast::<u16>().read_unaligned()),
            _ => to.copy_from_nonoverlapping(from, bytes * count),
        }
    }
}

/// # Safety
/// Both have `bytes` bytes.
#[inline]
unsafe fn same(a: *const u8, b: *const u8, bytes: usize) -> bool {
    // SAFETY: this function's condition.
    unsafe {
        match bytes {
            8 => a.cast::<u64>().read_unaligned() == b.cast::<u64>().read_unaligned(),
            4 => a.cast::<u32>().read_unaligned() == b.cast::<u32>().read_unaligned(),
            _ => (0..bytes).all(|index| a.add(index).read() == b.add(index).read()),
        }
    }
}
