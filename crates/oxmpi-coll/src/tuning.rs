//! Limits that depend on the machine: up to which length two copies through shared memory cost less than the kernel's one
//! copy, for messages and for collective operations. `oxmpi tune` measures them; without it the defaults hold, which were
//! measured on some machines (`bench/NOTES.md`).
//!
//! All ranks must have the same ones: `mpirun` gives them to all in one variable, and the ranks of a board take those of its
//! owner. No rank reads a file.

/// The environment variable with the limits of a job.
pub const VARIABLE: &str = "OXMPI_TUNING";

/// A length from which on something goes another way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Limit {
    /// The longest message that goes through the ring without asking the receiver.
    Eager,
    /// From so many bytes on operations of two ranks copy directly.
    Bcast2,
    Gather2,
    Scatter2,
    Allgather2,
    Alltoall2,
    Reduce2,
    Allreduce2,
    /// The same for three ranks or more.
    Gather,
    Scatter,
    Alltoall,
}

impl Limit {
    pub const ALL: [Limit; 11] = [
        Limit::Eager,
        Limit::Bcast2,
        Limit::Gather2,
        Limit::Scatter2,
        Limit::Allgather2,
        Limit::Alltoall2,
        Limit::Reduce2,
        Limit::Allreduce2,
        Limit::Gather,
        Limit::Scatter,
        Limit::Alltoall,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Limit::Eager => "eager",
            Limit::Bcast2 => "bcast2",
            Limit::Gather2 => "gather2",
            Limit::Scatter2 => "scatter2",
            Limit::Allgather2 => "allgather2",
            Limit::Alltoall2 => "alltoall2",
            Limit::Reduce2 => "reduce2",
            Limit::Allreduce2 => "allreduce2",
            Limit::Gather => "gather",
            Limit::Scatter => "scatter",
            Limit::Alltoall => "alltoall",
        }
    }

    /// The limit of a machine that was not measured.
    pub const fn default_bytes(self) -> u64 {
        match self {
            Limit::Eager | Limit::Gather2 | Limit::Scatter2 => 32 << 10,
            Limit::Bcast2 | Limit::Gather | Limit::Scatter => 64 << 10,
            Limit::Allgather2 | Limit::Alltoall2 | Limit::Reduce2 | Limit::Allreduce2 | Limit::Alltoall => 8 << 10,
        }
    }

    /// The greatest limit: what rings and staging buffers are made for.
    pub const fn most(self) -> u64 {
        match self {
            Limit::Eager => 32 << 10,
            Limit::Gather2 | Limit::Scatter2 | Limit::Gather | Limit::Scatter => 64 << 10,
            _ => 256 << 10,
        }
    }

    /// Whether the limit is one of operations of so many ranks.
    pub const fn ranks_fit(self, ranks: usize) -> bool {
        match self {
            Limit::Gather | Limit::Scatter | Limit::Alltoall => ranks > 2,
            _ => ranks == 2,
        }
    }

    /// The least limit.
    pub const LEAST: u64 = 1 << 10;
}

/// The limits of a machine, four bits each: 0 is the default, and n stands for 512 bytes times 2 to the power of n.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tuning(u64);

impl Tuning {
    /// All limits are the defaults.
    pub const NONE: Tuning = Tuning(0);

    pub const fn bytes(self, limit: Limit) -> u64 {
        match self.0 >> (4 * limit as u8) & 0xf {
            0 => limit.default_bytes(),
            power => 512 << power,
        }
    }

    /// The same limits with this one changed; `None` if it cannot be.
    pub fn with(self, limit: Limit, bytes: u64) -> Option<Tuning> {
        if !bytes.is_power_of_two() || !(Limit::LEAST..=limit.most()).contains(&bytes) {
            return None;
        }
        let shift = 4 * limit as u8;
        let power = u64::from(bytes.trailing_zeros() - 9);
        Some(Tuning(self.0 & !(0xf << shift) | power << shift))
    }

    /// As a word in which the owner of a board tells its limits.
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The limits of such a word; what cannot be is the default.
    pub fn from_bits(bits: u64) -> Tuning {
        let given = |limit: &Limit| bits >> (4 * *limit as u8) & 0xf != 0;
        let kept = |tuning: Tuning, &limit: &Limit| tuning.with(limit, Tuning(bits).bytes(limit)).unwrap_or(tuning);
        Limit::ALL.iter().filter(|limit| given(limit)).fold(Tuning::NONE, kept)
    }

    /// Reads `NAME=BYTES`, several of them apart by commas, blanks or lines. The text between `#` and the end of a line is
    /// a comment. The error says what is wrong, and in which line.
    pub fn from_text(text: &str) -> Result<Tuning, String> {
        let mut tuning = Tuning::NONE;
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            for word in line.split([',', ' ', '\t']).filter(|word| !word.is_empty()) {
                tuning = tuning.read(word).map_err(|error| format!("line {}: {error}", number + 1))?;
            }
        }
        Ok(tuning)
    }

    fn read(self, word: &str) -> Result<Tuning, String> {
        let names = || Limit::ALL.map(Limit::name).join(", ");
        let (name, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is not NAME=BYTES"))?;
        let limit = Limit::ALL.into_iter().find(|limit| limit.name() == name);
        let limit = limit.ok_or_else(|| format!("there is no limit `{name}`; the limits are {}", names()))?;
        value.parse().ok().and_then(|bytes| self.with(limit, bytes)).ok_or_else(|| {
            format!("`{word}`: the bytes must be a power of two from {} to {}", Limit::LEAST, limit.most())
        })
    }

    /// What [`from_text`](Tuning::from_text) reads, in one line: all limits that are not left to the default.
    pub fn to_text(self) -> String {
        let given = |limit: &Limit| self.0 >> (4 * *limit as u8) & 0xf != 0;
        let words = Limit::ALL.iter().filter(|limit| given(limit));
        words.map(|limit| format!("{}={}", limit.name(), self.bytes(*limit))).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bits_keep_every_limit() {
        for limit in Limit::ALL {
            let mut bytes = Limit::LEAST;
            while bytes <= limit.most() {
                let tuning = Tuning::NONE.with(limit, bytes).unwrap();
                assert_eq!(tuning.bytes(limit), bytes);
                assert_eq!(Tuning::from_text(&tuning.to_text()), Ok(tuning), "{}", tuning.to_text());
                assert_eq!(Tuning::from_bits(tuning.to_bits()), tuning);
                for other in Limit::ALL.into_iter().filter(|other| *other != limit) {
                    assert_eq!(tuning.bytes(other), other.default_bytes());
                }
                bytes *= 2;
            }
            assert_eq!(Tuning::NONE.bytes(limit), limit.default_bytes());
            assert!(limit.default_bytes() <= limit.most());
        }
        assert_eq!(Tuning::from_bits(u64::MAX).bytes(Limit::Eager), Limit::Eager.default_bytes(), "none of ours");
    }

    #[test]
    fn a_limit_that_cannot_be_is_named_with_its_line() {
        let error = |text: &str| Tuning::from_text(text).unwrap_err();
        assert!(
            error("eager=16384\nfast=1").starts_with("line 2: there is no limit `fast`; the limits are eager, bcast2")
        );
        assert_eq!(error("eager"), "line 1: `eager` is not NAME=BYTES");
        for value in ["0", "16385", "512", "65536", "-1", "x", "18446744073709551616"] {
            let text = format!("eager={value}");
            assert_eq!(error(&text), format!("line 1: `{text}`: the bytes must be a power of two from 1024 to 32768"));
        }
        assert_eq!(Tuning::from_text("# nothing\n\n"), Ok(Tuning::NONE));
        let two = Tuning::from_text("bcast2=4096 # measured\ngather=8192,\teager=8192").unwrap();
        assert_eq!([Limit::Bcast2, Limit::Gather, Limit::Eager].map(|limit| two.bytes(limit)), [4096, 8192, 8192]);
    }
}
