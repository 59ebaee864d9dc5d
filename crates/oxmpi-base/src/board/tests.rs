use super::*;

/// A board outside any segment.
struct Owned {
    header: Box<Header>,
    finished: Vec<Finished>,
    entries: Vec<Entry>,
    staging_buffers: Vec<u8>,
}

impl Owned {
    fn new(ranks: usize, slots: usize, staging: usize) -> (Owned, Memory) {
        let finished = || Finished {
            round: AtomicU64::new(0),
            awaited: AtomicU32::new(0),
            cpu: AtomicU32::new(0),
            copies: AtomicU32::new(0),
            waiting: SeqRecord::none(),
        };
        let entry = || Entry { round: AtomicU64::new(0), call: AtomicU64::new(0), body: [0; ENTRY_BYTES] };
        let mut owned = Owned {
            header: Box::new(Header {
                broken: AtomicU32::new(0),
                awaited: AtomicU32::new(0),
                moves: AtomicU32::new(0),
            }),
            finished: (0..ranks).map(|_| finished()).collect(),
            entries: (0..ranks * slots).map(|_| entry()).collect(),
            staging_buffers: vec![0; ranks * staging_stride(staging)],
        };
        let memory = Memory {
            header: NonNull::from(&mut *owned.header),
            finished: NonNull::new(owned.finished.as_mut_ptr()).unwrap(),
            entries: NonNull::new(owned.entries.as_mut_ptr()).unwrap(),
            staging_buffers: NonNull::new(owned.staging_buffers.as_mut_ptr()).unwrap(),
            ranks,
            slots,
            staging,
        };
        (owned, memory)
    }
}

#[cfg(not(loom))]
mod alone {
    use super::*;

    #[test]
    fn parts_of_a_room_do_not_meet() {
        let (_owned, memory) = Owned::new(2, 4, 1024);
        let (mut a, b) = (BoardMember::over(memory, 0), BoardMember::over(memory, 1));
        a.advance(7);
        assert_eq!(a.place(500), Some(0));
        a.finish();
        a.advance(7);
        assert_eq!(a.place(400), Some(512));
        a.finish();
        a.advance(7);
        assert_eq!(a.place(64), Some(960));
        a.finish();
        a.advance(7);
        assert_eq!(a.place(64), None, "the other rank has finished nothing");
        assert!(!a.is_settled(a.spare()));
        b.memory.finished(1).round.store(1, Ordering::Release);
        assert!(a.is_settled(1));
        assert_eq!(a.place(65), Some(0));
        a.finish();
        a.advance(7);
        assert!(a.is_settled(a.replaced()), "round 1 is settled");
        a.finish();
        a.advance(7);
        assert!(!a.is_settled(a.replaced()), "round 2 is not");
    }

    #[test]
    fn a_listener_waits_for_the_slot_it_takes() {
        let (_owned, memory) = Owned::new(2, 4, 64);
        let (mut a, mut b) = (BoardMember::over(memory, 0), BoardMember::over(memory, 1));
        for _ in 0..20 {
            b.advance(7);
            b.finish();
        }
        for _ in 0..40 {
            a.advance(7);
            a.finish();
        }
        assert!(!a.is_settled(a.replaced()));
        assert!(a.spare() >= a.replaced());
        assert!(a.spare() < a.round());
    }

    /// Two ranks write in turn: each learns only from the other's entries that its own were read.
    #[test]
    fn entries_show_what_is_settled() {
        let (_owned, memory) = Owned::new(2, 4, 128);
        let mut members = [BoardMember::over(memory, 0), BoardMember::over(memory, 1)];
        for turn in 0..12 {
            let (writer, reader) = (turn % 2, 1 - turn % 2);
            members.iter_mut().for_each(|member| _ = member.advance(7));
            assert!(members[writer].place(64).is_some());
            members[writer].publish();
            assert!(members[reader].has_arrived(writer));
            // No rank finishes a round here, so that the counters of finished rounds show nothing.
            members[reader].saw(writer);
        }
    }

    #[test]
    fn a_board_is_deserted_when_all_have_left() {
        let (_owned, memory) = Owned::new(3, 4, 64);
        let members: Vec<BoardMember> = (0..3).map(|rank| BoardMember::over(memory, rank)).collect();
        for member in &members {
            assert!(!members[0].is_deserted() && !members[0].has_left(member.rank()));
            member.leave();
            assert!(members[0].has_left(member.rank()));
        }
        assert!(members[0].is_deserted());
    }
}

#[cfg(loom)]
mod loom_tests {
    use super::*;

    /// Of a rank that begins a copy and one that takes its memory back, at least one sees the other.
    #[test]
    fn loom_whoever_bars_copies_sees_the_one_that_has_begun() {
        loom::model(|| {
            let (owned, memory) = Owned::new(2, 4, 64);
            let lent = Arc::new(AtomicU32::new(1));
            let copier = BoardMember::over(memory, 1);
            let seen = Arc::clone(&lent);
            let thread = loom::thread::spawn(move || {
                if copier.begin_copy() {
                    assert_eq!(seen.load(Ordering::Relaxed), 1, "the memory was given back");
                    copier.end_copy();
                }
            });
            let leaver = BoardMember::over(memory, 0);
            leaver.bar_copies();
            if !leaver.is_copying(1) {
                lent.store(0, Ordering::Relaxed);
            }
            thread.join().unwrap();
            assert!(!leaver.is_copying(1));
            drop(owned);
        });
    }

    /// A rank writes for another in more rounds than there are slots: nothing is overwritten before
    /// it is read.
    #[test]
    fn loom_a_fast_writer_does_not_overrun_a_reader() {
        loom::model(|| {
            let (_owned, memory) = Owned::new(2, 2, 64);
            let (mut tx, mut rx) = (BoardMember::over(memory, 0), BoardMember::over(memory, 1));
            let writer = loom::thread::spawn(move || {
                for _ in 0..3 {
                    tx.advance(10);
                    while !tx.is_settled(tx.replaced()) {
                        loom::thread::yield_now();
                    }
                    tx.publish();
                    tx.finish();
                }
            });
            for _ in 0..3 {
                rx.advance(10);
                while !rx.has_arrived(0) {
                    loom::thread::yield_now();
                }
                assert!(rx.agrees(0));
                rx.finish();
            }
            writer.join().unwrap();
        });
    }

    /// The area of a chain is written again when its only reader has finished the round before.
    #[test]
    fn loom_an_area_of_a_chain_is_not_written_while_it_is_read() {
        loom::model(|| {
            let (_owned, memory) = Owned::new(2, 4, 64);
            let (mut tx, mut rx) = (BoardMember::over(memory, 0), BoardMember::over(memory, 1));
            let area = loom::sync::Arc::new(loom::cell::UnsafeCell::new(0));
            let written = area.clone();
            let writer = loom::thread::spawn(move || {
                for _ in 0..3 {
                    let round = tx.advance(10);
                    while !tx.has_finished(1, round - 1) {
                        loom::thread::yield_now();
                    }
                    // SAFETY: loom checks that no thread reads it.
                    written.with_mut(|area| unsafe { *area = round });
                    tx.publish();
                    tx.finish();
                }
            });
            for _ in 0..3 {
                let round = rx.advance(10);
                while !rx.has_arrived(0) {
                    loom::thread::yield_now();
                }
                // SAFETY: loom checks that no thread writes it.
                assert_eq!(area.with(|area| unsafe { *area }), round);
                rx.finish();
            }
            writer.join().unwrap();
        });
    }

    /// Ranks in the same calls never appear to wait in different ones, whatever is written
    /// meanwhile.
    #[test]
    fn loom_waiting_words_are_of_their_round() {
        loom::model(|| {
            let (_owned, memory) = Owned::new(2, 4, 64);
            let (mut tx, mut rx) = (BoardMember::over(memory, 0), BoardMember::over(memory, 1));
            let writer = loom::thread::spawn(move || {
                for call in [5, 6] {
                    tx.advance(call);
                    tx.say_waiting();
                }
            });
            rx.advance(5);
            assert!(!rx.waits_elsewhere(0));
            writer.join().unwrap();
            rx.advance(8);
            assert!(rx.waits_elsewhere(0));
            assert_eq!(rx.first_difference(0), Some((6, 8)));
        });
    }

    /// Two ranks write in turn, with room for one: an entry shows that the other's was read.
    #[test]
    fn loom_turns_settle_themselves() {
        fn take_turns(member: &mut BoardMember) {
            for turn in 0..4 {
                let round = member.advance(10);
                if turn % 2 == member.rank {
                    // The counters of finished rounds would show it too, but are not read so soon.
                    assert!(
                        member.place(64).is_some() && member.settled + 2 >= round,
                        "the entry of the other rank shows it"
                    );
                    member.publish();
                } else {
                    let other = 1 - member.rank;
                    while !member.has_arrived(other) {
                        loom::thread::yield_now();
                    }
                    member.saw(other);
                }
                member.finish();
            }
        }
        loom::model(|| {
            let (_owned, memory) = Owned::new(2, 4, 64);
            let (mut a, mut b) = (BoardMember::over(memory, 0), BoardMember::over(memory, 1));
            let peer = loom::thread::spawn(move || take_turns(&mut a));
            take_turns(&mut b);
            peer.join().unwrap();
        });
    }

    /// Both ranks write and read: two slots are enough, and the counters of finished rounds are not
    /// needed.
    #[test]
    fn loom_exchanges_settle_themselves() {
        fn take_part(member: &mut BoardMember) {
            for _ in 0..3 {
                let round = member.advance(10);
                assert!(member.settled + 2 >= round);
                member.publish();
                let other = 1 - member.rank;
                while !member.has_arrived(other) {
                    loom::thread::yield_now();
                }
                assert!(member.agrees(other));
                member.exchanged();
                member.finish();
            }
        }
        loom::model(|| {
            let (_owned, memory) = Owned::new(2, 2, 64);
            let (mut a, mut b) = (BoardMember::over(memory, 0), BoardMember::over(memory, 1));
            let peer = loom::thread::spawn(move || take_part(&mut a));
            take_part(&mut b);
            peer.join().unwrap();
        });
    }
}
