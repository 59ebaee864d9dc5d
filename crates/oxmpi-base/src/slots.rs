//! Slot tables: they store the objects behind MPI handles.
//!
//! A handle is a number, never an address, so a stale, wrong-kind or invalid one is detected by a
//! comparison instead of a crash. A table stores objects of one kind. It grows, reuses the slot
//! that was freed last, and allocates nothing after it has reached its working size. It must never
//! return an object for a handle that was not given out for it.
//!
//! ```text
//!  63            32 31 30 29    26 25                       0
//! +----------------+--+--+--------+--------------------------+
//! |   generation   | 1| 1|  kind  |           slot           |
//! +----------------+--+--+--------+--------------------------+
//! ```
//!
//! Bits 30 and 31 mark a dynamic handle and distinguish it from the standard's predefined values, which
//! are below 4096. The low word is the handle in Fortran and in the `toint` functions, in all ABIs: none
//! of the predefined integers of MPICH and Open MPI has both bits. The generation starts at 1 and
//! increases each time a slot is reused, so that the handle of a freed object stays invalid.

use crate::message_queues::{TablePlace, VecPlace, inside_option};
use std::fmt;
use std::mem::offset_of;
use std::slice;

const _: () = assert!(usize::BITS == 64, "a handle is 64 bits wide");

const SLOT_BITS: u32 = 26;
const SLOT_MASK: usize = (1 << SLOT_BITS) - 1;
const KIND_SHIFT: u32 = SLOT_BITS;
const KIND_MASK: usize = 0xf;
const DYNAMIC: usize = 3 << 30;
const LOW_WORD: usize = u32::MAX as usize;
const GENERATION_SHIFT: u32 = 32;

/// Maximum number of objects in a table.
pub const MAX_SLOTS: usize = 1 << SLOT_BITS;

/// End of the list of free slots.
const NONE: u32 = u32::MAX;

/// The kind of object that a handle names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    Comm = 1,
    Group = 2,
    Datatype = 3,
    Op = 4,
    Request = 5,
    Message = 6,
    Errhandler = 7,
    Info = 8,
    Win = 9,
    File = 10,
    Session = 11,
    /// Any object of the tool information interface.
    Tool = 12,
    /// Not an MPI object: identifiers inside the library that need the same protection against
    /// reuse.
    Internal = 15,
}

impl Kind {
    /// The standard's term, for error texts: "this is a request, not a communicator".
    pub fn name(self) -> &'static str {
        match self {
            Kind::Comm => "communicator",
            Kind::Group => "group",
            Kind::Datatype => "datatype",
            Kind::Op => "reduction operation",
            Kind::Request => "request",
            Kind::Message => "message",
            Kind::Errhandler => "error handler",
            Kind::Info => "info object",
            Kind::Win => "window",
            Kind::File => "file",
            Kind::Session => "session",
            Kind::Tool => "object of the tool information interface",
            Kind::Internal => "internal identifier",
        }
    }

    fn from_bits(bits: usize) -> Option<Kind> {
        Some(match bits {
            1 => Kind::Comm,
            2 => Kind::Group,
            3 => Kind::Datatype,
            4 => Kind::Op,
            5 => Kind::Request,
            6 => Kind::Message,
            7 => Kind::Errhandler,
            8 => Kind::Info,
            9 => Kind::Win,
            10 => Kind::File,
            11 => Kind::Session,
            12 => Kind::Tool,
            15 => Kind::Internal,
            _ => return None,
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The kind in the bits of a dynamic handle; `None` for a predefined or invalid value.
pub fn kind_of(handle: usize) -> Option<Kind> {
    // A handle with all bits is a -1 of the program.
    if handle & DYNAMIC != DYNAMIC || handle >> GENERATION_SHIFT == 0 || handle == usize::MAX {
        return None;
    }
    Kind::from_bits(handle >> KIND_SHIFT & KIND_MASK)
}

/// The reason why [`SlotTable::get`] found no object, for the error text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lookup {
    Live,
    /// It was valid, but its object has been freed.
    Freed,
    /// It names an object of another kind.
    WrongKind(Kind),
    /// This value was never given out.
    Garbage,
}

/// The objects of one kind, found by handle.
pub struct SlotTable<T> {
    slots: Vec<Slot<T>>,
    free: u32,
    live: usize,
    /// The low word of this table's handles, without the slot.
    mark: usize,
}

struct Slot<T> {
    /// The handle while the slot is in use; while it is free the last one with [`DYNAMIC`] cleared,
    /// or 0 before the first. The generation is always in its high word.
    key: usize,
    next_free: u32,
    value: Option<T>,
}

impl<T> SlotTable<T> {
    pub const fn new(kind: Kind) -> SlotTable<T> {
        let mark = DYNAMIC | (kind as usize) << KIND_SHIFT;
        SlotTable { slots: Vec::new(), free: NONE, live: 0, mark }
    }

    /// Stores `value` and returns its handle.
    ///
    /// # Panics
    /// When [`MAX_SLOTS`] objects are live; [`SlotTable::try_insert`] returns the value instead.
    #[inline]
    pub fn insert(&mut self, value: T) -> usize {
        if self.free == NONE {
            assert!(self.grow(), "more than {MAX_SLOTS} handles of one kind are in use");
        }
        self.fill(value)
    }

    /// Stores `value` and returns its handle, or returns `value` if the table is full.
    #[inline]
    pub fn try_insert(&mut self, value: T) -> Result<usize, T> {
        if self.free == NONE && !self.grow() {
            return Err(value);
        }
        Ok(self.fill(value))
    }

    /// Stores `value` in the first free slot, which must exist.
    #[inline]
    fn fill(&mut self, value: T) -> usize {
        let slot = &mut self.slots[self.free as usize];
        // `forget`: a free slot has nothing to drop, but the compiler would check.
        std::mem::forget(slot.value.replace(value));
        let generation = (slot.key >> GENERATION_SHIFT) as u32;
        slot.key = (generation.wrapping_add(1).max(1) as usize) << GENERATION_SHIFT | self.mark | self.free as usize;
        self.free = slot.next_free;
        self.live += 1;
        slot.key
    }

    /// Adds a free slot; false if the table has its maximum size.
    #[cold]
    fn grow(&mut self) -> bool {
        let index = self.slots.len();
        if index < MAX_SLOTS {
            self.slots.push(Slot { key: 0, next_free: self.free, value: None });
            self.free = index as u32;
        }
        index < MAX_SLOTS
    }

    #[inline]
    pub fn get(&self, handle: usize) -> Option<&T> {
        let slot = self.slots.get(handle & SLOT_MASK)?;
        if slot.key == handle { slot.value.as_ref() } else { None }
    }

    #[inline]
    pub fn get_mut(&mut self, handle: usize) -> Option<&mut T> {
        let slot = self.slots.get_mut(handle & SLOT_MASK)?;
        if slot.key == handle { slot.value.as_mut() } else { None }
    }

    #[inline]
    pub fn contains(&self, handle: usize) -> bool {
        self.get(handle).is_some()
    }

    /// Removes the object; its handle becomes stale.
    #[inline]
    pub fn remove(&mut self, handle: usize) -> Option<T> {
        let index = handle & SLOT_MASK;
        if self.slots.get(index)?.key == handle { self.remove_at(index as u32) } else { None }
    }

    /// Replaces the object of a live handle and returns the old one; returns `value` if the handle
    /// is not live.
    pub fn replace(&mut self, handle: usize, value: T) -> Result<T, T> {
        match self.get_mut(handle) {
            Some(place) => Ok(std::mem::replace(place, value)),
            None => Err(value),
        }
    }

    /// The whole handle of a live object from its low word (a Fortran or `fromint` handle).
    #[inline]
    pub fn from_low_word(&self, low: i32) -> Option<usize> {
        let low = low as u32 as usize;
        let slot = self.slots.get(low & SLOT_MASK)?;
        if slot.key & LOW_WORD == low && slot.value.is_some() { Some(slot.key) } else { None }
    }

    /// Finds out which of the four cases applies to a handle. Not for the fast path.
    #[cold]
    pub fn diagnose(&self, handle: usize) -> Lookup {
        let Some(kind) = kind_of(handle) else { return Lookup::Garbage };
        if handle & LOW_WORD & !SLOT_MASK != self.mark {
            return Lookup::WrongKind(kind);
        }
        match self.slots.get(handle & SLOT_MASK) {
            Some(slot) if slot.key == handle => Lookup::Live,
            Some(slot) if handle >> GENERATION_SHIFT <= slot.key >> GENERATION_SHIFT => Lookup::Freed,
            _ => Lookup::Garbage,
        }
    }

    /// The number of live objects.
    #[inline]
    pub fn len(&self) -> usize {
        self.live
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Whether there has ever been a value.
    pub fn was_used(&self) -> bool {
        !self.slots.is_empty()
    }

    /// The live objects with their handles, in the order of their slots.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { slots: self.slots.iter() }
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        self.slots.iter_mut().filter_map(|slot| Some((slot.key, slot.value.as_mut()?)))
    }

    /// Removes all objects, in the order of their slots; all handles become stale.
    pub fn drain(&mut self) -> Vec<T> {
        let handles: Vec<usize> = self.iter().map(|(handle, _)| handle).collect();
        handles.into_iter().filter_map(|handle| self.remove(handle)).collect()
    }

    /// The index of a handle's slot: a small number, for indexing a side table.
    #[inline]
    pub fn slot_of(handle: usize) -> u32 {
        (handle & SLOT_MASK) as u32
    }

    /// The handle and the object in a slot, for side tables that hold slot numbers.
    #[inline]
    pub fn at(&self, slot: u32) -> Option<(usize, &T)> {
        let slot = self.slots.get(slot as usize)?;
        Some((slot.key, slot.value.as_ref()?))
    }

    #[inline]
    pub fn at_mut(&mut self, slot: u32) -> Option<(usize, &mut T)> {
        let slot = self.slots.get_mut(slot as usize)?;
        Some((slot.key, slot.value.as_mut()?))
    }

    /// Where a debugger finds the objects of a table at `offset`.
    pub fn place(offset: usize) -> TablePlace {
        TablePlace {
            slots: VecPlace::at::<Slot<T>>(offset + offset_of!(SlotTable<T>, slots)),
            key: offset_of!(Slot<T>, key) as u32,
            live: DYNAMIC as u32,
            value: (offset_of!(Slot<T>, value) + inside_option::<T>()) as u32,
        }
    }

    /// Removes the object in a slot; its handle becomes stale.
    #[inline]
    pub fn remove_at(&mut self, index: u32) -> Option<T> {
        let slot = self.slots.get_mut(index as usize)?;
        let value = slot.value.take()?;
        slot.key &= !DYNAMIC;
        slot.next_free = self.free;
        self.free = index;
        self.live -= 1;
        Some(value)
    }
}

pub struct Iter<'a, T> {
    slots: slice::Iter<'a, Slot<T>>,
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = (usize, &'a T);

    fn next(&mut self) -> Option<(usize, &'a T)> {
        self.slots.find_map(|slot| Some((slot.key, slot.value.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn layout() {
        let mut table = SlotTable::new(Kind::Request);
        let a = table.insert('a');
        assert_eq!(a, 1 << 32 | 3 << 30 | 5 << 26);
        let b = table.insert('b');
        assert_eq!(b & LOW_WORD, a & LOW_WORD | 1);
        assert!((a as i32) < 0 && (b as i32) < 0);
        assert_eq!(kind_of(a), Some(Kind::Request));
        for kind in 0..16 {
            if let Some(kind) = Kind::from_bits(kind) {
                assert_eq!(kind_of(SlotTable::new(kind).insert(())), Some(kind));
            }
        }
        for predefined in 0..4096 {
            assert_eq!(kind_of(predefined), None);
        }
    }

    #[test]
    fn last_freed_slot_comes_back_with_another_generation() {
        let mut table = SlotTable::new(Kind::Comm);
        let handles: Vec<usize> = (0..4).map(|n| table.insert(n)).collect();
        assert_eq!(table.remove(handles[1]), Some(1));
        assert_eq!(table.remove(handles[3]), Some(3));
        assert_eq!(table.remove(handles[3]), None);
        let c = table.insert(33);
        assert_eq!(c, handles[3] + (1 << 32));
        assert_eq!(table.get(handles[3]), None);
        assert_eq!(table.get(c), Some(&33));
        assert_eq!(table.insert(11), handles[1] + (1 << 32));
        assert_eq!(table.insert(4), handles[0] + 4);
        assert_eq!(table.len(), 5);
    }

    #[test]
    fn low_word_finds_the_current_generation() {
        let mut table = SlotTable::new(Kind::Datatype);
        let a = table.insert(1);
        assert_eq!(table.from_low_word(a as i32), Some(a));
        table.remove(a);
        assert_eq!(table.from_low_word(a as i32), None);
        let b = table.insert(2);
        assert_eq!(a as i32, b as i32);
        assert_eq!(table.from_low_word(a as i32), Some(b));
        for wrong in [0, -1, i32::MIN, 3, (b as i32) + 1, b as i32 & i32::MAX, b as i32 ^ 1 << 26] {
            assert_eq!(table.from_low_word(wrong), None);
        }
    }

    #[test]
    fn says_what_is_wrong_with_a_handle() {
        let mut comms = SlotTable::new(Kind::Comm);
        let mut requests = SlotTable::new(Kind::Request);
        let comm = comms.insert(());
        let request = requests.insert(());
        assert_eq!(comms.diagnose(comm), Lookup::Live);
        assert_eq!(comms.diagnose(request), Lookup::WrongKind(Kind::Request));
        comms.remove(comm);
        assert_eq!(comms.diagnose(comm), Lookup::Freed);
        let next = comms.insert(());
        assert_eq!(comms.diagnose(comm), Lookup::Freed);
        assert_eq!(comms.diagnose(next), Lookup::Live);
        for garbage in [0, 1, 0x101, usize::MAX, comm & !(1 << 31), comm + 1, comm & LOW_WORD, next + (1 << 32)] {
            assert_eq!(comms.diagnose(garbage), Lookup::Garbage, "{garbage:#x}");
            assert_eq!(comms.get(garbage), None);
        }
        // The key of a free slot must not open it.
        comms.remove(next);
        assert_eq!(comms.get(next & !DYNAMIC), None);
        assert_eq!(comms.remove(next & !DYNAMIC), None);
        assert_eq!(comms.diagnose(next & !DYNAMIC), Lookup::Garbage);
    }

    #[test]
    fn generation_wraps_past_zero() {
        let mut table = SlotTable::new(Kind::Win);
        let a = table.insert(1);
        table.remove(a);
        table.slots[0].key = (u32::MAX as usize) << 32 | (a & LOW_WORD & !DYNAMIC);
        assert_eq!(table.insert(2), a);
    }

    #[test]
    fn replace_and_iterate() {
        let mut table = SlotTable::new(Kind::Info);
        let a = table.insert("a");
        let b = table.insert("b");
        let c = table.insert("c");
        assert_eq!(table.replace(b, "B"), Ok("b"));
        table.remove(a);
        assert_eq!(table.replace(a, "x"), Err("x"));
        assert_eq!(table.iter().collect::<Vec<_>>(), [(b, &"B"), (c, &"c")]);
        assert_eq!(table.at(1), Some((b, &"B")));
        assert_eq!(table.at(0), None);
        for (_, value) in table.iter_mut() {
            *value = "z";
        }
        assert_eq!(table.drain(), ["z", "z"]);
        assert!(table.is_empty() && table.get(b).is_none());
    }

    /// A million random operations, compared with a map from handles to values that keeps all
    /// handles.
    #[test]
    fn agrees_with_a_map() {
        let seed = 0x5eed_0001_u64;
        let mut state = seed;
        let mut random = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as usize % below
        };
        let mut table = SlotTable::new(Kind::Op);
        let mut model: HashMap<usize, Option<u64>> = HashMap::new();
        let mut known: Vec<usize> = Vec::new();
        let mut current: HashMap<i32, usize> = HashMap::new();
        let mut live = 0;
        for step in 0..1_000_000_u64 {
            // Alternate between growing and shrinking phases.
            let insert = random(100) < if (step / 5000) & 1 == 0 { 60 } else { 35 };
            if insert || known.is_empty() {
                let handle = table.insert(step);
                assert!(model.insert(handle, Some(step)).is_none(), "seed {seed:#x} step {step}: handle given twice");
                current.insert(handle as i32, handle);
                known.push(handle);
                live += 1;
            } else {
                // Recent handles are likely live, old ones likely stale.
                let back = random(known.len().min(4000));
                let handle = known[known.len() - 1 - back];
                let expected = model.get_mut(&handle).unwrap();
                assert_eq!(table.get(handle).copied(), *expected, "seed {seed:#x} step {step}");
                let low_word = current.get(&(handle as i32)).copied();
                assert_eq!(table.from_low_word(handle as i32), low_word, "seed {seed:#x} step {step}");
                let diagnosis = if expected.is_some() { Lookup::Live } else { Lookup::Freed };
                assert_eq!(table.diagnose(handle), diagnosis, "seed {seed:#x} step {step}");
                if expected.is_some() {
                    current.remove(&(handle as i32));
                    live -= 1;
                }
                assert_eq!(table.remove(handle), expected.take(), "seed {seed:#x} step {step}");
            }
            assert_eq!(table.len(), live);
        }
        let mut left: Vec<u64> = model.values().filter_map(|value| *value).collect();
        let mut iterated: Vec<u64> = table.iter().map(|(_, value)| *value).collect();
        left.sort_unstable();
        iterated.sort_unstable();
        assert_eq!(left, iterated);
    }
}
