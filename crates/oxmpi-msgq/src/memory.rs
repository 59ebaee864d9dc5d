//! The memory of a rank, as the debugger lets us read it. The rank may have been stopped anywhere, and its memory may be
//! damaged, so nothing that is read is believed: every place is checked, and nothing is read in the hope that it ends.

use oxmpi_base::message_queues::VecPlace;

/// Why something cannot be told. The texts are in `lib.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// The debugger cannot read an address.
    Unreadable,
    /// What was read cannot be.
    Damaged,
}

pub type Result<T> = std::result::Result<T, Trouble>;

/// Reads the memory of a rank: fills all bytes from the address on, or says no.
pub trait Memory {
    fn fetch(&self, address: u64, bytes: &mut [u8]) -> bool;
}

/// As many objects as a table of OxMPI can have.
const MOST: u64 = 1 << 26;
/// No element of a table is longer.
const LONGEST: u32 = 1 << 16;
/// Bytes that are read at once.
const PIECE: usize = 1 << 16;

pub fn read<const N: usize>(memory: &dyn Memory, address: u64) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    fill(memory, address, &mut bytes)?;
    Ok(bytes)
}

pub fn fill(memory: &dyn Memory, address: u64, bytes: &mut [u8]) -> Result<()> {
    let fits = address != 0 && address.checked_add(bytes.len() as u64).is_some();
    if fits && memory.fetch(address, bytes) { Ok(()) } else { Err(Trouble::Unreadable) }
}

pub fn word(memory: &dyn Memory, address: u64) -> Result<u64> {
    Ok(u64::from_ne_bytes(read(memory, address)?))
}

pub fn half(memory: &dyn Memory, address: u64) -> Result<u32> {
    Ok(u32::from_ne_bytes(read(memory, address)?))
}

pub fn byte(memory: &dyn Memory, address: u64) -> Result<u8> {
    Ok(read::<1>(memory, address)?[0])
}

/// A place in something at an address.
pub fn at(address: u64, place: u32) -> Result<u64> {
    address.checked_add(u64::from(place)).ok_or(Trouble::Damaged)
}

/// The elements of a vector.
#[derive(Clone, Copy)]
pub struct Elements {
    address: u64,
    len: u64,
    stride: u32,
}

impl Elements {
    /// Those of the vector that something at `holder` has.
    pub fn of(memory: &dyn Memory, holder: u64, place: VecPlace) -> Result<Elements> {
        let (address, len) = (word(memory, at(holder, place.address)?)?, word(memory, at(holder, place.len)?)?);
        Elements::new(address, len, place.stride)
    }

    pub fn new(address: u64, len: u64, stride: u32) -> Result<Elements> {
        let is_possible = len <= MOST && (1..=LONGEST).contains(&stride);
        let end = address.checked_add(len.min(MOST) * u64::from(stride));
        if is_possible && end.is_some() { Ok(Elements { address, len, stride }) } else { Err(Trouble::Damaged) }
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// The address of an element.
    pub fn get(&self, index: u64) -> Result<u64> {
        if index >= self.len {
            return Err(Trouble::Damaged);
        }
        Ok(self.address + index * u64::from(self.stride))
    }

    /// Reads all elements and passes each with its address; ends at the first that `use_one` fails for.
    pub fn each(&self, memory: &dyn Memory, mut use_one: impl FnMut(u64, &Element<'_>) -> Result<()>) -> Result<()> {
        let stride = self.stride as usize;
        let at_once = (PIECE / stride).max(1) as u64;
        let mut bytes = Vec::new();
        let mut first = 0;
        while first < self.len {
            let count = at_once.min(self.len - first);
            bytes.resize(count as usize * stride, 0);
            fill(memory, self.get(first)?, &mut bytes)?;
            for (index, element) in (first..).zip(bytes.chunks_exact(stride)) {
                use_one(index, &Element(element))?;
            }
            first += count;
        }
        Ok(())
    }
}

/// The bytes of an element that was read.
pub struct Element<'a>(&'a [u8]);

impl Element<'_> {
    fn bytes<const N: usize>(&self, place: u32) -> Result<[u8; N]> {
        let rest = self.0.get(place as usize..).and_then(<[u8]>::first_chunk);
        rest.copied().ok_or(Trouble::Damaged)
    }

    pub fn word(&self, place: u32) -> Result<u64> {
        self.bytes(place).map(u64::from_ne_bytes)
    }

    pub fn half(&self, place: u32) -> Result<u32> {
        self.bytes(place).map(u32::from_ne_bytes)
    }

    pub fn byte(&self, place: u32) -> Result<u8> {
        self.bytes::<1>(place).map(|[byte]| byte)
    }
}
