//! The memory of a message or of a collective operation: units of two numbers each, in one of
//! several layouts with the same signature. Gaps must stay unchanged.

use super::program::mix;

/// The layout of the two numbers of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// As elements of `MPI_INT`.
    Ints,
    /// As one element of a contiguous type.
    Pair,
    /// With a gap between them and one after them.
    Gapped,
    /// The second before the first.
    Backward,
}

/// The content of gaps.
const GAP: i32 = -77;
/// The content of memory that an operation may write and has not.
pub const UNTOUCHED: i32 = -5;

impl Layout {
    /// The layout of a rank.
    pub fn of(layouts: u32, rank: usize) -> Layout {
        match layouts >> (2 * rank % 32) & 3 {
            0 => Layout::Ints,
            1 => Layout::Pair,
            2 => Layout::Gapped,
            _ => Layout::Backward,
        }
    }

    /// Numbers from a unit to the next.
    pub fn stride(self) -> usize {
        if self == Layout::Gapped { 4 } else { 2 }
    }

    /// Elements of its datatype in a unit.
    pub fn elements(self) -> usize {
        if self == Layout::Ints { 2 } else { 1 }
    }

    fn place(self, number: usize) -> usize {
        let (unit, half) = (number / 2, number % 2);
        match self {
            Layout::Ints | Layout::Pair => number,
            Layout::Gapped => 4 * unit + 2 * half,
            Layout::Backward => 2 * unit + 1 - half,
        }
    }
}

/// Memory with units in it.
pub struct Strip {
    memory: Vec<i32>,
    pub layout: Layout,
    numbers: usize,
}

impl Strip {
    pub fn new(layout: Layout, numbers: &[i32]) -> Strip {
        // At least one, so that there is an address.
        let mut memory = vec![GAP; (numbers.len() / 2 * layout.stride()).max(1)];
        for (index, &number) in numbers.iter().enumerate() {
            memory[layout.place(index)] = number;
        }
        Strip { memory, layout, numbers: numbers.len() }
    }

    /// Replaces the numbers by as many others.
    pub fn refill(&mut self, numbers: &[i32]) {
        for (index, &number) in numbers.iter().enumerate().take(self.numbers) {
            self.memory[self.layout.place(index)] = number;
        }
    }

    pub fn address(&mut self) -> *mut i32 {
        self.memory.as_mut_ptr()
    }

    /// The numbers; an error says which gap was written.
    pub fn numbers(&self) -> Result<Vec<i32>, String> {
        let mut rest = self.memory.clone();
        let mut numbers = Vec::with_capacity(self.numbers);
        for index in 0..self.numbers {
            numbers.push(std::mem::replace(&mut rest[self.layout.place(index)], GAP));
        }
        match rest.iter().position(|&number| number != GAP) {
            Some(place) => Err(format!("a gap was written at number {place} of {:?}", self.layout)),
            None => Ok(numbers),
        }
    }
}

/// The numbers that one rank sends to another in a step.
pub fn block(step: usize, from: usize, to: usize, units: usize) -> Vec<i32> {
    let seed = mix(step as u32, from, to);
    (0..2 * units).map(|index| (mix(seed, index, 3) % 1000) as i32).collect()
}
