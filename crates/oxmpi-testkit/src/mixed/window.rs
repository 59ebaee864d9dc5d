//! The serial model of windows. Within an epoch no two accesses conflict: conflicting ones are left
//! out, so that their order does not matter.

use super::program::mix;

#[derive(Clone, Debug)]
pub struct WindowUse {
    pub comm: usize,
    pub memory: Memory,
    pub epochs: Vec<Epoch>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    Allocated,
    Shared,
    /// Memory of the program.
    Own,
}

#[derive(Clone, Debug)]
pub struct Epoch {
    pub kind: EpochKind,
    pub accesses: Vec<Access>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochKind {
    Fence,
    /// One lock for each target.
    Lock {
        exclusive: bool,
    },
    /// A lock of all, with flushes.
    LockAll,
    /// Post, start, complete, wait, between all ranks.
    PostStart,
}

impl EpochKind {
    /// The target takes no part.
    pub fn is_passive(self) -> bool {
        matches!(self, EpochKind::Lock { .. } | EpochKind::LockAll)
    }
}

#[derive(Clone, Debug)]
pub struct Access {
    pub origin: usize,
    pub target: usize,
    pub slot: usize,
    pub count: usize,
    /// Every second slot, by a datatype of the target.
    pub strided: bool,
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Put,
    Get,
    Sum,
    Max,
    GetAndSum,
    FetchAndSum,
    /// Compares with the current value, or with another one.
    CompareAndSwap {
        succeeds: bool,
    },
}

/// Numbers in the memory of each rank.
pub const SLOTS: usize = 16;

/// An access as its origin makes it.
#[derive(Clone, Debug)]
pub struct Planned {
    pub access: Access,
    pub operands: Vec<i32>,
    /// The value to compare with.
    pub compare: i32,
}

/// What all ranks do in a window, and what each of them sees: the results of its accesses and its memory after each
/// epoch.
pub struct Planning {
    pub epochs: Vec<(EpochKind, Vec<Planned>)>,
    pub seen: Vec<Vec<i32>>,
}

/// The initial memory of a rank.
pub fn initial(step: usize, rank: usize) -> Vec<i32> {
    (0..SLOTS).map(|slot| (mix(step as u32, rank, slot + 50) % 1000) as i32).collect()
}

impl Access {
    /// The access with numbers reduced to their ranges.
    fn in_range(&self, ranks: usize) -> Access {
        let single = matches!(self.what, What::FetchAndSum | What::CompareAndSwap { .. });
        let count = if single { 1 } else { self.count.clamp(1, 4) };
        let strided = self.strided && !single;
        let span = if strided { 2 * count - 1 } else { count };
        let slot = self.slot % (SLOTS - span + 1);
        Access { origin: self.origin % ranks, target: self.target % ranks, slot, count, strided, what: self.what }
    }

    pub fn slots(&self) -> impl Iterator<Item = usize> + use<> {
        let (slot, step) = (self.slot, if self.strided { 2 } else { 1 });
        (0..self.count).map(move |index| slot + index * step)
    }
}

/// What a slot is used for in an epoch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Written,
    Combined(What),
    /// By one origin, in its order.
    By(usize),
}

pub fn plan(step: usize, window: &WindowUse, ranks: usize) -> Planning {
    let mut memory: Vec<Vec<i32>> = (0..ranks).map(|rank| initial(step, rank)).collect();
    let mut seen = vec![Vec::new(); ranks];
    let mut epochs = Vec::new();
    for (number, epoch) in window.epochs.iter().enumerate() {
        let mut uses = vec![[None; SLOTS]; ranks];
        let mut planned = Vec::new();
        for (index, access) in epoch.accesses.iter().enumerate() {
            let access = access.in_range(ranks);
            let wanted = match access.what {
                What::Put => Use::Written,
                What::Get => Use::Read,
                What::Sum | What::Max => Use::Combined(access.what),
                _ => Use::By(access.origin),
            };
            let is_free = |used: Option<Use>| used.is_none() || used == Some(wanted) && wanted != Use::Written;
            if !access.slots().all(|slot| is_free(uses[access.target][slot])) {
                continue;
            }
            access.slots().for_each(|slot| uses[access.target][slot] = Some(wanted));
            let word = |place: usize| (mix(step as u32, 100 * number + index, place + 90) % 1000) as i32;
            let operands: Vec<i32> = (0..access.count).map(word).collect();
            let there = memory[access.target][access.slot];
            let compare = match access.what {
                What::CompareAndSwap { succeeds: false } => there.wrapping_add(1),
                _ => there,
            };
            apply(&access, &operands, compare, &mut memory[access.target], &mut seen[access.origin]);
            planned.push(Planned { access, operands, compare });
        }
        for (seen, memory) in seen.iter_mut().zip(&memory) {
            seen.extend(memory);
        }
        epochs.push((epoch.kind, planned));
    }
    Planning { epochs, seen }
}

fn apply(access: &Access, operands: &[i32], compare: i32, memory: &mut [i32], seen: &mut Vec<i32>) {
    for (slot, &operand) in access.slots().zip(operands) {
        let old = memory[slot];
        let new = match access.what {
            What::Put => operand,
            What::Get => old,
            What::Max => old.max(operand),
            What::Sum | What::GetAndSum | What::FetchAndSum => old.wrapping_add(operand),
            What::CompareAndSwap { .. } => {
                if old == compare {
                    operand
                } else {
                    old
                }
            }
        };
        memory[slot] = new;
        if !matches!(access.what, What::Put | What::Sum | What::Max) {
            seen.push(old);
        }
    }
}
