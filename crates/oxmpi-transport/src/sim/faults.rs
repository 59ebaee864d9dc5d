//! What a simulated network does to packets, and the random numbers that decide it.

/// SplitMix64: small, and the same on all machines.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.word() % end.max(1) as u64) as usize
    }

    /// True with a probability of `of_thousand`/1000.
    pub fn happens(&mut self, of_thousand: u32) -> bool {
        self.below(1000) < of_thousand as usize
    }
}

/// What a network does to packets.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The most turns that a packet usually takes.
    pub delay: u32,
    /// The most turns that one packet in fifty takes.
    pub long_delay: u32,
    /// Of 1000 packets for which there is room, this many are refused.
    pub refusals: u32,
    /// Cells that may be in flight between two ranks.
    pub capacity: usize,
    /// The most bytes of a message in one packet.
    pub part: usize,
    /// Of 1000 packets that may be split, this many are.
    pub splits: u32,
    /// Of 1000 turns, this many are followed by a turn of the same rank.
    pub keep: u32,
    /// A rank and the turn at which it dies.
    pub death: Option<(usize, u64)>,
}

impl Faults {
    /// A network without faults.
    pub fn none() -> Faults {
        Faults {
            delay: 0,
            long_delay: 0,
            refusals: 0,
            capacity: 1024,
            part: 16 << 10,
            splits: 0,
            keep: 500,
            death: None,
        }
    }

    /// Random faults of all kinds, but no death.
    pub fn from_seed(seed: u64) -> Faults {
        let mut random = Random(seed);
        let mut one_of = |list: &[u32]| list[random.below(list.len())];
        Faults {
            delay: one_of(&[0, 3, 20]),
            long_delay: one_of(&[0, 50, 1000]),
            refusals: one_of(&[0, 50, 400]),
            capacity: one_of(&[10, 60, 300, 2000]) as usize,
            part: one_of(&[64, 320, 1024, 4096, 16 << 10]) as usize,
            splits: one_of(&[0, 100, 700]),
            keep: one_of(&[100, 500, 900]),
            death: None,
        }
    }
}
