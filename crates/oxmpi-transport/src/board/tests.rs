//! Ranks as threads, each with its own mapping of the board: random sequences of operations with checked results.

use super::*;
use oxmpi_abi::constants::{MPI_ERR_COUNT, MPI_ERR_OTHER, MPI_ERR_ROOT, MPI_SUM};
use oxmpi_base::arena::Arena;
use oxmpi_base::segment::Segment;
use std::sync::Arc;

mod exchange;

struct Yield;

impl Wait for Yield {
    fn shortly(&mut self, mut ready: impl FnMut() -> bool) -> bool {
        ready()
    }

    fn until(&mut self, mut ready: impl FnMut() -> bool) -> bool {
        while !ready() {
            std::thread::yield_now();
        }
        true
    }

    fn give_way(&mut self) {
        std::thread::yield_now();
    }

    fn wake(&mut self, _process: Peer) {}

    unsafe fn read(&mut self, _process: Peer, to: *mut u8, from: usize, bytes: usize) -> Result<()> {
        // SAFETY: threads of one process.
        unsafe { to.copy_from_nonoverlapping(std::ptr::with_exposed_provenance(from), bytes) };
        Ok(())
    }

    unsafe fn write(&mut self, _process: Peer, from: *const u8, to: usize, bytes: usize) -> Result<()> {
        // SAFETY: threads of one process.
        unsafe { from.copy_to_nonoverlapping(std::ptr::with_exposed_provenance_mut(to), bytes) };
        Ok(())
    }

    fn has_ended(&self, _process: Peer) -> bool {
        false
    }
}

/// Never waits: what an operation in the background has.
struct Never;

impl Wait for Never {
    fn shortly(&mut self, mut ready: impl FnMut() -> bool) -> bool {
        ready()
    }

    fn until(&mut self, mut ready: impl FnMut() -> bool) -> bool {
        ready()
    }

    fn give_way(&mut self) {}

    fn wake(&mut self, _process: Peer) {}

    unsafe fn read(&mut self, _process: Peer, _to: *mut u8, _from: usize, _bytes: usize) -> Result<()> {
        unreachable!("nothing is copied directly in the background")
    }

    unsafe fn write(&mut self, _process: Peer, _from: *const u8, _to: usize, _bytes: usize) -> Result<()> {
        unreachable!("nothing is copied directly in the background")
    }

    fn has_ended(&self, _process: Peer) -> bool {
        false
    }
}

/// Runs an operation to its end without ever waiting in it.
fn drive(board: &mut SharedBoard, work: Work, way: BoardWay) -> Result<()> {
    let mut run = board.run(work, way, 0);
    loop {
        match board.advance(&mut run, &mut Never) {
            Ok(Advance::Ended) => return Ok(()),
            Ok(Advance::Waiting | Advance::Moved) => std::thread::yield_now(),
            Err(error) => {
                board.abandon(&mut run, &mut Never);
                return Err(error);
            }
        }
    }
}

/// Memory of a test, which outlives the operation.
fn lasting(words: &mut [u64]) -> Target<'static> {
    // SAFETY: the test drives every operation to its end before it gives its memory up.
    unsafe { Target::dense(words.as_mut_ptr().cast(), size_of_val(words)) }
}

/// Runs the same function on so many ranks, with two CPUs.
fn everybody(ranks: usize, staging: usize, body: impl Fn(SharedBoard) + Send + Sync + 'static) {
    on_cpus(ranks > 2, ranks, staging, body);
}

/// The same, with or without more ranks than CPUs.
fn on_cpus(oversubscribed: bool, ranks: usize, staging: usize, body: impl Fn(SharedBoard) + Send + Sync + 'static) {
    let (_fd, segment) = Segment::create(ranks, 2).unwrap();
    let area = Arena::new(&segment, 0).take(SharedBoard::memory_for(ranks, staging)).unwrap();
    let body = Arc::new(body);
    let threads: Vec<_> = (0..ranks)
        .map(|rank| {
            let members = (0..ranks).map(Peer::at_slot).collect();
            let mapping = Mapping::new(&segment, area).unwrap();
            let board =
                SharedBoard::new(mapping, members, rank, staging, WakeFence::Asymmetric, oversubscribed, Tuning::NONE)
                    .unwrap();
            let body = Arc::clone(&body);
            std::thread::spawn(move || body(board))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Not commutative, so that a wrong order is detected.
unsafe fn add(left: *const u8, right: *const u8, out: *mut u8, count: usize) {
    for index in 0..count {
        // SAFETY: as the caller says.
        unsafe {
            let left = left.cast::<u64>().add(index).read_unaligned();
            let right = right.cast::<u64>().add(index).read_unaligned();
            out.cast::<u64>().add(index).write_unaligned(left.wrapping_mul(31).wrapping_add(right));
        }
    }
}

fn reduced(ranks: impl Iterator<Item = usize>, value: impl Fn(usize) -> u64) -> u64 {
    ranks.map(value).reduce(|left, right| left.wrapping_mul(31).wrapping_add(right)).unwrap()
}

fn dense(words: &mut [u64]) -> Target<'_> {
    // SAFETY: the words are borrowed exclusively for as long as the target lives.
    unsafe { Target::dense(words.as_mut_ptr().cast(), size_of_val(words)) }
}

fn bytes(words: &[u64]) -> *const u8 {
    words.as_ptr().cast()
}

/// The value of rank `rank` in step `step` at index `index`.
fn value(step: u64, rank: usize, index: usize) -> u64 {
    (step << 32) + ((rank as u64) << 20) + index as u64
}

fn one_operation(board: &mut SharedBoard, step: u64, direct: bool) {
    let (me, ranks) = (board.rank(), board.ranks());
    let random = step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    // Lengths within an entry, within a piece, and of several pieces.
    let long = if direct && random >> 24 & 3 == 0 { 90_000 } else { 9000 };
    let count = [1, 6, 7, 40, 200, 700, 0, long][random as usize & 7];
    let root = (random >> 8) as usize % ranks;
    let in_place = random >> 16 & 1 == 1;
    let wait = &mut Yield;
    let mine: Vec<u64> = (0..count).map(|index| value(step, me, index)).collect();
    let reduction = Reduction { op: MPI_SUM, kernel: add, element: 8, count };
    let block = count * 8;
    let mut out = vec![0; count];
    let mut all = vec![0; count * ranks];
    let mut own = mine.clone();
    // Every other operation goes in the background, if its kind and size do.
    let later = |board: &SharedBoard, kind, bytes| board.background_way(kind, bytes).filter(|_| random >> 32 & 1 == 1);
    // SAFETY: all vectors live longer than the operation; `blocks` is how many blocks they have to give.
    let vectors = |own: *const u8, blocks, out: *mut u64| unsafe {
        Vectors::new(reduction, (own, count * blocks), (out.cast(), count))
    };
    match random >> 20 & 15 {
        0 => match later(board, Kind::Barrier, 0) {
            Some(way) => drive(board, Work::Barrier, way).unwrap(),
            None => board.barrier(wait).unwrap(),
        },
        1 | 2 => {
            let mut words = if me == root { mine } else { out };
            match later(board, Kind::Bcast, block) {
                Some(way) => drive(board, Work::Bcast { root, buf: lasting(&mut words) }, way).unwrap(),
                None => board.bcast(wait, root, &dense(&mut words)).unwrap(),
            }
            assert!(words.iter().enumerate().all(|(index, &word)| word == value(step, root, index)));
        }
        3 | 4 => {
            out = if in_place { own.clone() } else { out };
            let from = if in_place { out.as_ptr().cast() } else { bytes(&own) };
            match later(board, Kind::Allreduce, block) {
                Some(way) => drive(board, Work::Allreduce(vectors(from, 1, out.as_mut_ptr())), way).unwrap(),
                // SAFETY: both have `count` words.
                None => unsafe { board.allreduce(wait, &reduction, from, out.as_mut_ptr().cast()).unwrap() },
            }
            let expected = |index| reduced(0..ranks, |rank| value(step, rank, index));
            assert!(out.iter().enumerate().all(|(index, &word)| word == expected(index)));
        }
        5 | 6 => {
            out = if in_place { own.clone() } else { out };
            let from = if in_place { out.as_ptr().cast() } else { bytes(&own) };
            let to = (me == root).then_some(out.as_mut_ptr().cast());
            let later = later(board, Kind::Reduce, block);
            match later {
                Some(way) => {
                    drive(board, Work::Reduce { root, vectors: vectors(from, 1, out.as_mut_ptr()) }, way).unwrap()
                }
                // SAFETY: both have `count` words.
                None => unsafe { board.reduce(wait, &reduction, root, from, to).unwrap() },
            }
            // Along a chain the root is last.
            let way = later.unwrap_or_else(|| board.choices.reduce.of(block));
            let turn = if matches!(way, BoardWay::Chain | BoardWay::ChainOrder) { root + 1 } else { 0 };
            let order = (turn..ranks).chain(0..turn);
            let expected = |index| reduced(order.clone(), |rank| value(step, rank, index));
            assert!(me != root || out.iter().enumerate().all(|(index, &word)| word == expected(index)));
        }
        7 | 8 => {
            all[me * count..][..count].copy_from_slice(&own);
            match later(board, Kind::Allgather, block) {
                Some(way) => {
                    let send = (!in_place).then(|| Source::clone(&lasting(&mut own)));
                    drive(board, Work::Allgather { block, send, recv: lasting(&mut all) }, way).unwrap();
                }
                None => {
                    let send = dense(&mut own);
                    board.allgather(wait, block, (!in_place).then_some(&send), &dense(&mut all)).unwrap();
                }
            }
            for (rank, words) in all.chunks(count.max(1)).enumerate() {
                assert!(words.iter().enumerate().all(|(index, &word)| word == value(step, rank, index)));
            }
        }
        9 | 10 => {
            let mut send: Vec<u64> = (0..count * ranks).map(|index| value(step, me, index)).collect();
            all.copy_from_slice(&send);
            match later(board, Kind::Alltoall, block) {
                Some(way) => {
                    let send = (!in_place).then(|| Source::clone(&lasting(&mut send)));
                    drive(board, Work::Alltoall { block, send, recv: lasting(&mut all) }, way).unwrap();
                }
                None => {
                    let from = dense(&mut send);
                    board.alltoall(wait, block, (!in_place).then_some(&from), &dense(&mut all)).unwrap();
                }
            }
            for (rank, words) in all.chunks(count.max(1)).enumerate() {
                assert!(words.iter().enumerate().all(|(at, &word)| word == value(step, rank, me * count + at)));
            }
        }
        11 => {
            all[me * count..][..count].copy_from_slice(&own);
            match later(board, Kind::Gather, block) {
                Some(way) => {
                    let send = (me != root || !in_place).then(|| Source::clone(&lasting(&mut own)));
                    let recv = (me == root).then(|| lasting(&mut all));
                    drive(board, Work::Gather { root, block, send, recv }, way).unwrap();
                }
                None => {
                    let (send, recv) = (dense(&mut own), dense(&mut all));
                    let own = (me != root || !in_place).then_some(&*send);
                    board.gather(wait, root, block, own, (me == root).then_some(&recv)).unwrap();
                }
            }
            for (rank, words) in all.chunks(count.max(1)).enumerate().filter(|_| me == root) {
                assert!(words.iter().enumerate().all(|(index, &word)| word == value(step, rank, index)));
            }
        }
        12 => {
            let mut send: Vec<u64> = (0..count * ranks).map(|index| value(step, me, index)).collect();
            let keep = me == root && in_place;
            match later(board, Kind::Scatter, block) {
                Some(way) => {
                    let send = (me == root).then(|| Source::clone(&lasting(&mut send)));
                    let recv = (!keep).then(|| lasting(&mut out));
                    drive(board, Work::Scatter { root, block, send, recv }, way).unwrap();
                }
                None => {
                    let (send, recv) = (dense(&mut send), dense(&mut out));
                    board.scatter(wait, root, block, (me == root).then_some(&send), (!keep).then_some(&recv)).unwrap();
                }
            }
            assert!(keep || out.iter().enumerate().all(|(at, &word)| word == value(step, root, me * count + at)));
        }
        13 => {
            let mut send: Vec<u64> = (0..count * ranks).map(|index| value(step, me, index)).collect();
            let to = if in_place { send.as_mut_ptr() } else { out.as_mut_ptr() };
            match later(board, Kind::ReduceScatter, block * ranks) {
                Some(way) => {
                    drive(board, Work::ReduceScatter { counts: None, vectors: vectors(bytes(&send), ranks, to) }, way)
                        .unwrap();
                }
                // SAFETY: a block for every rank, and one.
                None => unsafe {
                    board.reduce_scatter(wait, &reduction, Shares::Equal(count), bytes(&send), to.cast()).unwrap()
                },
            }
            let result = if in_place { &send[..count] } else { &out[..] };
            let expected = |index| reduced(0..ranks, |rank| value(step, rank, me * count + index));
            assert!(result.iter().enumerate().all(|(index, &word)| word == expected(index)));
        }
        exclusive => {
            let exclusive = exclusive == 14;
            match later(board, Kind::Scan, block) {
                Some(way) => {
                    let vectors = vectors(bytes(&own), 1, out.as_mut_ptr());
                    drive(board, Work::Scan { exclusive, vectors }, way).unwrap();
                }
                // SAFETY: both have `count` words.
                None => unsafe {
                    board.scan(wait, &reduction, exclusive, bytes(&own), out.as_mut_ptr().cast()).unwrap();
                },
            }
            let last = me + usize::from(!exclusive);
            let expected = |index| if last == 0 { 0 } else { reduced(0..last, |rank| value(step, rank, index)) };
            assert!(out.iter().enumerate().all(|(index, &word)| word == expected(index)));
        }
    }
}

/// Blocks of different lengths, some empty, in several rounds, in place or not, in both forms.
#[test]
fn blocks_of_a_reduce_scatter_may_differ_in_length() {
    for (ranks, staging) in [(2, 2048), (3, 2048), (5, 4096), (4, 1 << 20)] {
        everybody(ranks, staging, move |mut board| {
            let me = board.rank();
            for step in 0..40u64 {
                let counts: Vec<usize> = (0..ranks)
                    .map(|rank| (rank * 37 + step as usize * 11) % 5 * [1, 9, 60, 200][step as usize % 4])
                    .collect();
                let (total, start): (usize, usize) = (counts.iter().sum(), counts[..me].iter().sum());
                let mut own: Vec<u64> = (0..total).map(|index| value(step, me, index)).collect();
                let mut out = vec![0; counts[me]];
                let to = if step & 4 == 0 { own.as_mut_ptr() } else { out.as_mut_ptr() };
                let reduction = Reduction { op: MPI_SUM, kernel: add, element: 8, count: total };
                if step & 8 == 0 {
                    let shares = Shares::Given(&counts);
                    // SAFETY: all blocks, and room for ours.
                    unsafe { board.reduce_scatter(&mut Yield, &reduction, shares, bytes(&own), to.cast()).unwrap() };
                } else {
                    // SAFETY: all blocks, and room for ours; both outlive the operation.
                    let vectors = unsafe { Vectors::new(reduction, (bytes(&own), total), (to.cast(), counts[me])) };
                    let work = Work::ReduceScatter { counts: Some(counts.clone().into()), vectors };
                    drive(&mut board, work, BoardWay::Pieces).unwrap();
                }
                let result = if step & 4 == 0 { &own[..counts[me]] } else { &out[..] };
                let expected = |index| reduced(0..ranks, |rank| value(step, rank, start + index));
                assert!(result.iter().enumerate().all(|(index, &word)| word == expected(index)), "step {step}");
            }
        });
    }
}

#[test]
fn operations_in_any_order() {
    const LARGE_STAGING: usize = 1 << 20;
    for (ranks, staging, direct, oversubscribed) in [
        (2, 4096, false, false),
        (3, 2048, false, true),
        (5, 4096, false, false),
        (8, 32768, false, true),
        (2, 4096, true, false),
        (5, 4096, true, false),
        (2, LARGE_STAGING, true, false),
        (3, LARGE_STAGING, true, true),
        (7, LARGE_STAGING, true, false),
    ] {
        on_cpus(oversubscribed, ranks, staging, move |mut board| {
            if direct {
                assert!(board.probe(&mut Yield).unwrap());
                board.add_facts(Facts::DIRECT);
            }
            (0..1500).for_each(|step| one_operation(&mut board, step, direct));
        });
    }
}

/// Waits like [`Yield`], but may wake others slowly, and counts the bytes that it reads from their
/// memory.
struct Slow {
    is_slow: bool,
    reads: usize,
}

impl Wait for Slow {
    fn shortly(&mut self, ready: impl FnMut() -> bool) -> bool {
        Yield.shortly(ready)
    }

    fn until(&mut self, ready: impl FnMut() -> bool) -> bool {
        Yield.until(ready)
    }

    fn give_way(&mut self) {
        Yield.give_way();
    }

    fn wake(&mut self, _process: Peer) {
        if self.is_slow {
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
    }

    unsafe fn read(&mut self, process: Peer, to: *mut u8, from: usize, bytes: usize) -> Result<()> {
        self.reads += 1;
        // SAFETY: the same memory of a thread of this process.
        unsafe { Yield.read(process, to, from, bytes) }
    }

    unsafe fn write(&mut self, process: Peer, from: *const u8, to: usize, bytes: usize) -> Result<()> {
        // SAFETY: the same memory of a thread of this process.
        unsafe { Yield.write(process, from, to, bytes) }
    }

    fn has_ended(&self, _process: Peer) -> bool {
        false
    }
}

/// Other ranks read the memory of a late rank instead of waiting for it: in place or not, from
/// pieces in the middle, and while it catches up.
#[test]
fn a_late_rank_is_read() {
    const RANKS: usize = 4;
    let reads = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let all_reads = Arc::clone(&reads);
    on_cpus(false, RANKS, 1 << 20, move |mut board| {
        board.add_facts(Facts::DIRECT);
        let me = board.rank();
        for step in 0..12 {
            let mut wait = Slow { is_slow: me == step as usize % RANKS, reads: 0 };
            let count = 150_001;
            let reduction = Reduction { op: MPI_SUM, kernel: add, element: 8, count };
            let own: Vec<u64> = (0..count).map(|index| value(step, me, index)).collect();
            let mut out = own.clone();
            let from = if step % 2 == 0 { out.as_ptr().cast() } else { bytes(&own) };
            // SAFETY: both have `count` words.
            unsafe { board.allreduce(&mut wait, &reduction, from, out.as_mut_ptr().cast()).unwrap() };
            let expected = |index| reduced(0..RANKS, |rank| value(step, rank, index));
            assert!(out.iter().enumerate().all(|(index, &word)| word == expected(index)));
            all_reads.fetch_add(wait.reads, std::sync::atomic::Ordering::Relaxed);
        }
    });
    assert!(reads.load(std::sync::atomic::Ordering::Relaxed) > 0);
}

/// Ranks that all start on one CPU move before a long operation: afterwards no CPU has two ranks
/// more than another, and the affinity of each rank is unchanged.
#[test]
fn oversubscribed_ranks_spread_over_the_cpus() {
    use oxmpi_base::cpus::CpuSet;
    let all = CpuSet::affinity().unwrap();
    let one: CpuSet = all.iter().take(1).collect();
    for ranks in [2, 4, 7] {
        let (all, one) = (all.clone(), one.clone());
        on_cpus(true, ranks, 4096, move |mut board| {
            one.confine().unwrap();
            all.confine().unwrap();
            for rank in 0..ranks {
                if rank == board.rank() {
                    board.balance_cpu(1 << 20);
                }
                board.barrier(&mut Yield).unwrap();
            }
            let said = |cpu| (0..ranks).filter(|&rank| board.member.cpu_of(rank) == Some(cpu)).count();
            let (least, most) = (all.iter().map(said).min().unwrap(), all.iter().map(said).max().unwrap());
            assert!(most - least <= 1, "{least} to {most} of {ranks} ranks on a CPU");
            assert_eq!(all.iter().map(said).sum::<usize>(), ranks);
            assert_eq!(CpuSet::affinity().unwrap(), all);
        });
    }
}

/// During the operation consecutive ranks share a CPU where possible, and each CPU has an equal
/// part of the ranks.
#[test]
fn oversubscribed_neighbours_stay_together() {
    use oxmpi_base::cpus::CpuSet;
    let all = CpuSet::affinity().unwrap();
    let ranks = 2 * all.len() + 1;
    if all.len() == 1 {
        return;
    }
    on_cpus(true, ranks, 4096, move |board| {
        assert!(board.pin_with_neighbours(1000).is_none());
        let pin = board.pin_with_neighbours(4 << 20);
        let (here, part) = (CpuSet::affinity().unwrap(), board.rank() * all.len() / ranks);
        assert!(pin.is_some() && here.iter().eq(all.iter().nth(part)), "rank {} on {here}", board.rank());
        drop(pin);
        assert_eq!(CpuSet::affinity().unwrap(), all);
    });
}

#[test]
fn different_calls_are_found() {
    everybody(2, 4096, |mut board| {
        board.barrier(&mut Yield).unwrap();
        let mut words = [0; 4];
        let error = match board.rank() {
            0 => board.barrier(&mut Yield),
            _ => board.allgather(&mut Yield, 8, None, &dense(&mut words)),
        };
        let error = error.unwrap_err();
        assert_eq!(error.class(), MPI_ERR_OTHER);
        let again = board.barrier(&mut Yield).unwrap_err();
        assert!(again.text().contains("different collective calls") || again.text().contains("MPI_WakeFence"));
    });
    everybody(3, 4096, |mut board| {
        let mut words = [0; 4];
        let words = &mut words[..2 + board.rank() / 2];
        match (board.rank(), board.bcast(&mut Yield, 0, &dense(words))) {
            (2, Err(error)) => {
                assert_eq!(error.class(), MPI_ERR_COUNT);
                assert!(error.text().contains("MPI_Bcast(16 bytes, root 0)"), "{}", error.text());
                assert!(error.text().contains("MPI_Bcast(24 bytes, root 0)"), "{}", error.text());
            }
            (2, Ok(())) => panic!("a wrong length is taken"),
            // The error may be noticed after the operation.
            (_, result) => assert!(result.is_ok() || board.barrier(&mut Yield).is_err()),
        }
    });
}

/// Both ranks wait for the other's data: at least one of them reports both calls.
fn both_wait(
    call: impl Fn(&mut SharedBoard, usize) -> Result<()> + Send + Sync + 'static,
    class: i32,
    words: [&'static str; 2],
) {
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let telling = Arc::clone(&told);
    everybody(2, 4096, move |mut board| {
        let other = 1 - board.rank();
        let error = call(&mut board, other).unwrap_err();
        telling.lock().unwrap().push(error);
    });
    let told = told.lock().unwrap();
    let named = |error: &&oxmpi_abi::Error| words.iter().all(|word| error.text().contains(word));
    let error = told.iter().find(named).unwrap_or_else(|| panic!("nobody names both calls: {told:?}"));
    assert_eq!(error.class(), class);
}

#[test]
fn ranks_that_wait_for_each_other_get_an_error() {
    let bcast = |board: &mut SharedBoard, root| board.bcast(&mut Yield, root, &dense(&mut [0; 2]));
    both_wait(bcast, MPI_ERR_ROOT, ["MPI_Bcast(16 bytes, root 0)", "MPI_Bcast(16 bytes, root 1)"]);
    let mixed = |board: &mut SharedBoard, _| match board.rank() {
        0 => board.gather(&mut Yield, 0, 8, Some(&dense(&mut [0])), Some(&dense(&mut [0; 2]))),
        _ => board.scatter(&mut Yield, 0, 8, None, Some(&dense(&mut [0]))),
    };
    both_wait(mixed, MPI_ERR_OTHER, ["MPI_Gather(8 bytes, root 0)", "MPI_Scatter(8 bytes, root 0)"]);
}

#[test]
fn an_unseen_mismatch_is_found_by_the_next_call() {
    // Each rank sends and none receives.
    let call = |board: &mut SharedBoard, other| {
        board.bcast(&mut Yield, 1 - other, &dense(&mut [0; 2]))?;
        board.barrier(&mut Yield)
    };
    both_wait(call, MPI_ERR_ROOT, ["MPI_Bcast(16 bytes, root 0)", "MPI_Bcast(16 bytes, root 1)"]);
    // The third rank writes no entry in the first call; its history shows the difference.
    everybody(3, 4096, |mut board| {
        let root = usize::from(board.rank() > 0);
        let result = board.bcast(&mut Yield, root, &dense(&mut [0; 2]));
        let result = result.and_then(|()| board.barrier(&mut Yield));
        assert!(result.is_err());
    });
}

#[test]
fn a_rank_that_has_left_is_not_waited_for() {
    everybody(3, 4096, |mut board| {
        let rank = board.rank();
        let reduced =
            board.gather(&mut Yield, 0, 8, Some(&dense(&mut [0])), (rank == 0).then_some(&dense(&mut [0; 3])));
        assert!(reduced.is_ok(), "what a rank gave before it left counts: {reduced:?}");
        if rank > 0 {
            return board.leave();
        }
        let error = board.barrier(&mut Yield).unwrap_err();
        assert_eq!(error.class(), MPI_ERR_OTHER);
        assert!(error.text().contains("rank 1 of the communicator has called MPI_Finalize"), "{}", error.text());
    });
}

/// Copies slowly, and says while it does.
struct Copying(Arc<std::sync::atomic::AtomicBool>);

impl Wait for Copying {
    fn shortly(&mut self, ready: impl FnMut() -> bool) -> bool {
        Yield.shortly(ready)
    }

    fn until(&mut self, ready: impl FnMut() -> bool) -> bool {
        Yield.until(ready)
    }

    fn give_way(&mut self) {
        Yield.give_way();
    }

    fn wake(&mut self, _process: Peer) {}

    unsafe fn read(&mut self, process: Peer, to: *mut u8, from: usize, bytes: usize) -> Result<()> {
        self.0.store(true, std::sync::atomic::Ordering::SeqCst);
        std::thread::sleep(std::time::Duration::from_millis(30));
        // SAFETY: the same memory of a thread of this process.
        let copied = unsafe { Yield.read(process, to, from, bytes) };
        self.0.store(false, std::sync::atomic::Ordering::SeqCst);
        copied
    }

    unsafe fn write(&mut self, _process: Peer, _from: *const u8, _to: usize, _bytes: usize) -> Result<()> {
        unreachable!("the other rank reads")
    }

    fn has_ended(&self, _process: Peer) -> bool {
        false
    }
}

/// A rank that leaves with an error waits for the copy of its memory that another one has begun; later ones do not begin.
#[test]
fn memory_that_was_shown_is_given_back_when_nobody_copies_it() {
    let copies = Arc::new(std::sync::atomic::AtomicBool::new(false));
    everybody(2, 4096, move |mut board| {
        board.fence_copies();
        let mut wait = Copying(Arc::clone(&copies));
        let mut word = 5u64;
        let from = std::ptr::from_mut(&mut word).expose_provenance();
        let mut found = 0u64;
        let failed = board.fenced(&mut wait, |board, wait| {
            let round = board.open(wait, CallSignature::BARRIER)?;
            board.say_both(round, [from as u64, 0]);
            board.member.publish();
            board.meet_all(wait)?;
            if board.rank() == 0 {
                while !copies.load(std::sync::atomic::Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                return Err::<(), _>(oxmpi_abi::Error::new(MPI_ERR_OTHER, "it goes away"));
            }
            let theirs = board.addresses(0).0;
            // SAFETY: the word of the other rank, which waits for the end of the copy; then it may not begin.
            unsafe { board.read(wait, 0, (&raw mut found).cast(), theirs, 8)? };
            // SAFETY: the word of the other rank, which lives until both threads have ended.
            unsafe { board.read(wait, 0, (&raw mut found).cast(), theirs, 8) }
        });
        assert!(failed.is_err());
        assert!(!copies.load(std::sync::atomic::Ordering::SeqCst), "rank {}", board.rank());
        word = 6;
        assert!(board.rank() == 0 || found == 5);
        assert_eq!(std::hint::black_box(word), 6);
    });
}
