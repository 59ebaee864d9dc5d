//! Random numbers from a seed that a failure can print.

/// SplitMix64.
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

    /// Lengths around every limit of the protocol.
    pub fn length(&mut self) -> usize {
        match self.below(8) {
            0 => 0,
            1 | 2 => self.below(64),
            3 => self.below(5000),
            4 => 4000 + self.below(3000),
            5 => 16_000 + self.below(800),
            6 => self.below(100_000),
            _ => self.below(600_000),
        }
    }
}
