//! Binomial trees over ranks counted from the root, and fair shares of a vector.
//!
//! The subtree of a rank is the range of ranks that starts with it. So these trees can gather
//! contiguous blocks and reduce with operations that do not commute.

/// The parent of `rank`: the number without its lowest bit. The root has none.
pub(crate) fn parent(rank: u32) -> u32 {
    rank & rank.wrapping_sub(1)
}

/// The children of `rank`, nearest (and smallest subtree) first.
pub(crate) fn children(rank: u32, size: u32) -> impl DoubleEndedIterator<Item = u32> {
    let below = if rank == 0 { 32 } else { rank.trailing_zeros() };
    (0..below.min(log2_ceil(size - rank))).map(move |bit| rank + (1 << bit))
}

/// How many ranks the subtree of `rank` has.
pub(crate) fn subtree(rank: u32, size: u32) -> u32 {
    match rank {
        0 => size,
        _ => (1 << rank.trailing_zeros()).min(size - rank),
    }
}

/// The smallest number of doublings that reaches `size`.
pub(crate) fn log2_ceil(size: u32) -> u32 {
    size.next_power_of_two().trailing_zeros()
}

/// Where part `i` of `parts` nearly equal ones begins; part `parts` begins at the end.
pub(crate) fn share(units: u64, parts: u32, i: u32) -> u64 {
    let (each, more) = (units / u64::from(parts), units % u64::from(parts));
    each * u64::from(i) + more.min(u64::from(i))
}

/// `(rank + by) mod size`.
pub(crate) fn after(rank: u32, by: u32, size: u32) -> u32 {
    ((u64::from(rank) + u64::from(by)) % u64::from(size)) as u32
}

/// `(rank - by) mod size`.
pub(crate) fn before(rank: u32, by: u32, size: u32) -> u32 {
    after(rank, size - by % size, size)
}

/// The segments of a vector: where each begins and how long it is.
pub(crate) fn segments(units: u64, segment: u64) -> impl Iterator<Item = (u64, u64)> {
    let segment = segment.clamp(1, units.max(1));
    (0..units.div_ceil(segment)).map(move |i| (i * segment, segment.min(units - i * segment)))
}
