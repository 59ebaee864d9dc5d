//! A receive that ends early: when its end is known, nobody writes to its memory any more, though its sender lives and
//! was copying there.

use oxmpi_abi::Error;
use oxmpi_abi::constants::MPI_ERR_OTHER;
use oxmpi_core::engine::Mode;
use oxmpi_testkit::{Link, run};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const BYTES: usize = 64 << 20;
const FILL: u8 = 0xee;

/// Ends a receive of 64 MiB so many turns after its first byte has come; whether some of it had come and not all.
fn abandon(turns: usize) -> bool {
    let (is_over, is_partial) = (&AtomicBool::new(false), &AtomicBool::new(false));
    let reused = &AtomicUsize::new(0);
    run(Link::Shm, 2, |rank| {
        let error = Error::new(MPI_ERR_OTHER, "the other one is not spoken with any more");
        let other = rank.peer(1 - rank.me);
        if rank.me == 0 {
            // So long that the allocator gets pages of its own, and gives them back when it is freed.
            let mut to = vec![0u8; BYTES];
            let place = to.as_ptr().addr();
            let op = rank.recv(1, 1, &mut to);
            // SAFETY: the byte is in `to`; another thread may write it, so it is read as it is at the moment.
            while unsafe { to.as_ptr().read_volatile() } != 7 && !rank.engine.is_done(op) {
                rank.progress_for(1);
            }
            rank.progress_for(turns);
            let is_done = rank.engine.is_done(op);
            rank.engine.end_with_dead(other, &error);
            rank.engine.end_posted(|_| true, &error);
            assert!(is_done || rank.wait(op).error.is_some());
            is_partial.store(!is_done && to.contains(&7), Ordering::Relaxed);
            drop(to);
            // Whoever still writes there writes into this.
            let again = vec![FILL; BYTES];
            reused.store(usize::from(again.as_ptr().addr() == place), Ordering::Relaxed);
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(20) {
                assert!(again.iter().all(|&byte| byte == FILL), "somebody wrote to memory that was given back");
            }
            is_over.store(true, Ordering::Relaxed);
        } else {
            let from = vec![7u8; BYTES];
            let op = rank.send(Mode::Standard, 0, 1, &from);
            while !is_over.load(Ordering::Relaxed) {
                rank.engine.progress();
            }
            rank.engine.end_with_dead(other, &error);
            if let Some(op) = op {
                rank.wait(op);
            }
        }
    });
    is_partial.load(Ordering::Relaxed) && reused.load(Ordering::Relaxed) == 1
}

#[test]
fn nobody_writes_to_memory_that_was_given_back() {
    let partial = (0..12).filter(|&round| abandon(round)).count();
    assert!(partial > 1, "the copy was under way in {partial} rounds only");
}
