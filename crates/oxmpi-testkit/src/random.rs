//! Random lengths from a seed that a failure can print.

pub use oxmpi_transport::sim::Random;

/// Lengths around every limit of the protocol, up to `most`.
pub fn length(random: &mut Random, most: usize) -> usize {
    let length = match random.below(8) {
        0 => 0,
        1 | 2 => random.below(64),
        3 => random.below(5000),
        4 => 4000 + random.below(3000),
        5 => 16_000 + random.below(800),
        6 => random.below(100_000),
        _ => random.below(600_000),
    };
    length.min(most)
}
