//! An origin and an agent in one process: requests over a socket, executed in the memory of a rank, which is this process too.
//! What is wrong is an error of the request, never of the agent.

use oxmpi_abi::constants::*;
use oxmpi_base::arena::{Area, Arena, Mapping};
use oxmpi_base::death_log::{Death, End, Who};
use oxmpi_base::segment::Segment;
use oxmpi_datatype::{Datatype, Region, Source, Target, predefined};
use oxmpi_rma::far::connection::Connection;
use oxmpi_rma::far::link::Link;
use oxmpi_rma::far::origin::{AgentId, FarRank, ServedBy};
use oxmpi_rma::far::served::ServedNode;
use oxmpi_rma::far::wire::*;
use oxmpi_rma::{Combine, Control, predefined_combine};
use proptest::prelude::*;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const WINDOW: u64 = 7;
const BYTES: usize = 1 << 20;
const SHIFT: u8 = 12;

/// A node with one rank, whose window is an area of the segment, and an agent's thread.
struct World {
    segment: Segment,
    area: Area,
    node: Arc<ServedNode>,
    ends: Arc<AtomicBool>,
}

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (near, listener.accept().unwrap().0)
}

impl World {
    fn new() -> World {
        let (fd, segment) = Segment::create(2, 2).unwrap();
        segment.rank(0).pid.store(std::process::id(), Ordering::Relaxed);
        let area = Arena::new(&segment, 0).take(Control::bytes(2, false) + BYTES).unwrap();
        let node = Arc::new(ServedNode::new(Arc::new(Segment::attach(fd.as_fd()).unwrap())));
        World { segment, area, node, ends: Arc::default() }
    }

    /// A connection that a thread serves until the world ends.
    fn serve(&self, far: TcpStream, local_slot: Option<u32>) -> std::thread::JoinHandle<()> {
        let (node, ends) = (Arc::clone(&self.node), Arc::clone(&self.ends));
        let mut connection = Connection::new(far, local_slot).unwrap();
        std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) && connection.work(&node).is_ok() {
                std::thread::sleep(Duration::from_micros(50));
            }
            connection.end(&node);
        })
    }

    fn link(&self, local_slot: Option<u32>) -> Link {
        let (near, far) = pair();
        self.serve(far, local_slot);
        Link::new(near.into(), "an agent".into()).unwrap()
    }

    fn registration(&self, memory: Place) -> Registration {
        let area = (self.area.offset as u64, self.area.bytes as u64);
        Registration { ranks: 2, dynamic: false, block_shift: SHIFT, area, memory, size: BYTES as u64 }
    }

    fn register(&self, link: &mut Link, told: &Registration) -> oxmpi_abi::Result<()> {
        let tag = link.ask(Request::new(Kind::Register, WINDOW, 0), &told.to_bytes())?;
        link.await_success(tag)
    }

    /// The registered memory of rank 0, as that rank sees it.
    fn memory(&self) -> (Mapping, *mut u8) {
        let mapping = Mapping::new(&self.segment, self.area).unwrap();
        let at = mapping.base().as_ptr().wrapping_add(Control::bytes(2, false));
        (mapping, at)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

const THERE: FarRank = FarRank { by: ServedBy { agent: AgentId(1), window: WINDOW }, origin: 1, target: 0 };

fn flush(link: &mut Link) -> oxmpi_abi::Result<()> {
    let tag = link.ask(Request::new(Kind::Flush, 0, 0), &[])?;
    let done = link.await_success(tag);
    link.set_clean();
    done
}

fn at(offset: usize, bytes: usize) -> Region {
    Region::dense(std::ptr::without_provenance_mut(offset), bytes)
}

fn sum_of_longs() -> (Combine, &'static oxmpi_datatype::Named) {
    let with = predefined_combine(MPI_SUM.0, MPI_INT64_T.0).unwrap();
    (with, oxmpi_datatype::named(MPI_INT64_T.0).unwrap())
}

fn get(link: &mut Link, offset: usize, bytes: usize) -> Vec<u8> {
    let mut memory = vec![0u8; bytes];
    // SAFETY: the vector lives until the data have come, which is awaited here.
    let to: Target<'static> = unsafe { Target::dense(memory.as_mut_ptr(), bytes) };
    THERE.get(link, &to, &at(offset, bytes)).unwrap();
    link.await_data().unwrap();
    memory
}

/// In mapped memory, and in memory of the process.
fn both_kinds(test: impl Fn(&mut Link)) {
    let control = Control::bytes(2, false) as u64;
    let own = vec![0u64; BYTES / 8];
    for memory in [Place::InArea(control), Place::InProcess(own.as_ptr().expose_provenance() as u64)] {
        let world = World::new();
        let mut local = world.link(Some(0));
        world.register(&mut local, &world.registration(memory)).unwrap();
        test(&mut world.link(None));
    }
}

#[test]
fn long_puts_and_gets_arrive() {
    both_kinds(|link| {
        let bytes: Vec<u8> = (0..BYTES - 100).map(|i| (i * 7 + i / 251) as u8).collect();
        THERE.put(link, &Source::of(&bytes), &at(50, bytes.len())).unwrap();
        flush(link).unwrap();
        assert_eq!(get(link, 50, bytes.len()), bytes);
        assert_eq!(get(link, 0, 50), [0; 50]);
    });
}

#[test]
fn types_with_gaps_go_as_programs() {
    both_kinds(|link| {
        let int = predefined(MPI_INT32_T.0).unwrap();
        let ty = Datatype::vector(10_000, 1, 3, int).unwrap();
        ty.commit().unwrap();
        let numbers: Vec<u8> = (0..10_000i32).flat_map(i32::to_le_bytes).collect();
        let region = Region::typed(std::ptr::without_provenance_mut(8), 1, &ty);
        THERE.put(link, &Source::of(&numbers), &region).unwrap();
        flush(link).unwrap();
        let all = get(link, 8, 120_000 - 8);
        for (index, word) in all.chunks_exact(4).enumerate() {
            let expected = if index % 3 == 0 { index as i32 / 3 } else { 0 };
            assert_eq!(i32::from_le_bytes(word.try_into().unwrap()), expected, "word {index}");
        }
    });
}

#[test]
fn sums_of_two_origins_are_exact() {
    let world = World::new();
    let told = world.registration(Place::InArea(Control::bytes(2, false) as u64));
    let mut local = world.link(Some(0));
    world.register(&mut local, &told).unwrap();
    let ones: Vec<u8> = std::iter::repeat_n(1i64.to_le_bytes(), 2000).flatten().collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (with, element) = sum_of_longs();
                let mut link = world.link(None);
                for _ in 0..50 {
                    let (from, to) = (Source::of(&ones), at(0, ones.len()));
                    THERE.accumulate(&mut link, (&with, element), Some(&from), None, &to).unwrap();
                }
                flush(&mut link).unwrap();
            });
        }
    });
    let (_mapping, memory) = world.memory();
    for index in 0..2000 {
        // SAFETY: the first words of the window, which nobody writes any more.
        assert_eq!(unsafe { memory.cast::<i64>().add(index).read() }, 100);
    }
}

#[test]
fn what_is_wrong_is_an_error_of_the_request() {
    both_kinds(|link| {
        let bytes = [1u8; 64];
        // Behind the end, in an unknown window, for an unknown rank: the next flush tells, and the one after is well.
        let wrong = [
            (THERE, BYTES - 10, MPI_ERR_RMA_RANGE),
            (THERE, usize::MAX - 3, MPI_ERR_RMA_RANGE),
            (FarRank { by: ServedBy { window: 99, ..THERE.by }, ..THERE }, 0, MPI_ERR_WIN),
            (FarRank { target: 1, ..THERE }, 0, MPI_ERR_RANK),
        ];
        for (there, offset, class) in wrong {
            there.put(link, &Source::of(&bytes), &at(offset, 64)).unwrap();
            assert_eq!(flush(link).unwrap_err().class(), class, "{there:?} {offset}");
            flush(link).unwrap();
        }
        // An operation that the type does not have, and half an element.
        let request = Request {
            op: MPI_BAND.0 as u32,
            datatype: MPI_DOUBLE.0 as u32,
            length: 64,
            ..Request::new(Kind::Accumulate, WINDOW, 1)
        };
        link.tell(&request, &bytes).unwrap();
        assert_eq!(flush(link).unwrap_err().class(), MPI_ERR_OP);
        let half = Request { op: MPI_SUM.0 as u32, length: 12, ..request };
        link.tell(&half, &bytes[..12]).unwrap();
        assert_eq!(flush(link).unwrap_err().class(), MPI_ERR_TYPE);
        let no_type = Request { program: 5, count: 1, length: 8, ..Request::new(Kind::Put, WINDOW, 1) };
        link.tell(&no_type, &bytes[..8]).unwrap();
        assert_eq!(flush(link).unwrap_err().class(), MPI_ERR_TYPE);
        assert_eq!(get(link, 0, 64), [0; 64]);
    });
}

#[test]
fn wrong_registrations_are_refused() {
    let world = World::new();
    let mut local = world.link(Some(0));
    let control = Control::bytes(2, false) as u64;
    let good = world.registration(Place::InArea(control));
    let wrong = [
        Registration { area: (good.area.0 + 1, good.area.1), ..good },
        Registration { area: (0, good.area.1), ..good },
        Registration { area: (good.area.0, u64::MAX - 4095), ..good },
        Registration { area: (good.area.0, 4096), ..good },
        Registration { size: u64::MAX, ..good },
        Registration { memory: Place::InArea(u64::MAX), ..good },
        Registration { memory: Place::InOther { area: (4096, 4096), inside: 0 }, ..good },
        Registration { ranks: u32::MAX, ..good },
        Registration { ranks: 0, ..good },
        Registration { block_shift: 200, ..good },
    ];
    for told in wrong {
        let error = world.register(&mut local, &told).unwrap_err();
        assert_eq!(error.class(), MPI_ERR_WIN, "{told:?}");
    }
    // Another node's process may register nothing.
    assert!(world.register(&mut world.link(None), &good).is_err());
    world.register(&mut local, &good).unwrap();
    // With its last rank the window is gone.
    let tag = local.ask(Request::new(Kind::Unregister, WINDOW, 0), &[]).unwrap();
    local.await_success(tag).unwrap();
    let mut link = world.link(None);
    THERE.put(&mut link, &Source::of(&[1; 8]), &at(0, 8)).unwrap();
    assert_eq!(flush(&mut link).unwrap_err().class(), MPI_ERR_WIN);
}

#[test]
fn locks_of_an_origin_that_ends_are_released() {
    let world = World::new();
    let mut local = world.link(Some(0));
    let told = world.registration(Place::InArea(Control::bytes(2, false) as u64));
    world.register(&mut local, &told).unwrap();
    let lock = Request { flags: EXCLUSIVE, ..Request::new(Kind::Lock, WINDOW, 1) };
    let mut first = world.link(None);
    let tag = first.ask(lock, &[]).unwrap();
    first.await_success(tag).unwrap();
    // The second waits, other requests on its connection do not.
    let mut second = world.link(None);
    let waiting = second.ask(lock, &[]).unwrap();
    THERE.put(&mut second, &Source::of(&[9; 8]), &at(0, 8)).unwrap();
    flush(&mut second).unwrap();
    assert_eq!(second.take_answer(waiting).unwrap(), None);
    let all = second.ask(Request::new(Kind::LockAll, WINDOW, 1), &[]).unwrap();
    assert_eq!(second.await_answer(all).unwrap().0, REFUSED);
    // After a while it learns whom it waits for.
    while second.held(waiting).is_none() {
        assert_eq!(second.take_answer(waiting).unwrap(), None);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(second.held(waiting), Some(Held { rank: 0, owner: Some(1) }));
    drop(first);
    second.await_success(waiting).unwrap();
    assert_eq!(second.held(waiting), None);
    // It is not locked by the third, which may not release it either.
    let mut third = world.link(None);
    let unlock = third.ask(Request::new(Kind::Unlock, WINDOW, 1), &[]).unwrap();
    assert_eq!(third.await_answer(unlock).unwrap().0, MPI_ERR_RMA_SYNC);
}

/// Registers the memory of both ranks, where processes go on when some die.
fn window_of_two_that_go_on(world: &World) -> [Link; 2] {
    world.segment.go_on_after_deaths();
    let told = world.registration(Place::InArea(Control::bytes(2, false) as u64));
    [0, 1].map(|rank| {
        let mut link = world.link(Some(rank));
        let tag = link.ask(Request::new(Kind::Register, WINDOW, rank), &told.to_bytes()).unwrap();
        link.await_success(tag).unwrap();
        link
    })
}

#[test]
fn a_window_whose_other_ranks_have_died_goes_with_its_last_living_rank() {
    let world = World::new();
    // The connection of the dead rank stays: the agent need not have heard of its end.
    let [mut living, _dead] = window_of_two_that_go_on(&world);
    world.segment.tell_of_deaths(&[Death { who: Who::Here(1), end: End::Failed, status: 9 }]);
    let to_the_dead = FarRank { target: 1, ..THERE };
    let mut link = world.link(None);
    to_the_dead.put(&mut link, &Source::of(&[1; 8]), &at(0, 8)).unwrap();
    flush(&mut link).unwrap();
    let tag = living.ask(Request::new(Kind::Unregister, WINDOW, 0), &[]).unwrap();
    living.await_success(tag).unwrap();
    to_the_dead.put(&mut link, &Source::of(&[1; 8]), &at(0, 8)).unwrap();
    assert_eq!(flush(&mut link).unwrap_err().class(), MPIX_ERR_PROC_FAILED);
}

#[test]
fn a_lock_of_a_window_that_all_have_left_after_a_death_raises_why() {
    let world = World::new();
    let [mut living, dead] = window_of_two_that_go_on(&world);
    let lock = Request { flags: EXCLUSIVE, ..Request::new(Kind::Lock, WINDOW, 1) };
    let mut holder = world.link(None);
    let tag = holder.ask(Request { origin: 0, ..lock }, &[]).unwrap();
    holder.await_success(tag).unwrap();
    let mut waiting = world.link(None);
    let tag = waiting.ask(lock, &[]).unwrap();
    while waiting.held(tag).is_none() {
        assert_eq!(waiting.take_answer(tag).unwrap(), None);
        std::thread::sleep(Duration::from_millis(1));
    }
    world.segment.tell_of_deaths(&[Death { who: Who::Here(1), end: End::Failed, status: 9 }]);
    drop(dead);
    let left = living.ask(Request::new(Kind::Unregister, WINDOW, 0), &[]).unwrap();
    living.await_success(left).unwrap();
    let (class, text) = waiting.await_answer(tag).unwrap();
    assert_eq!(class, MPIX_ERR_PROC_FAILED, "{text}");
    assert!(text.contains("all ranks of the window"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Requests with random fields, and random bytes, end the connection or are errors. The agent goes on.
    #[test]
    fn random_requests_do_no_harm(
        kinds in prop::collection::vec((1u8..17, any::<u8>(), prop::array::uniform8(prop_oneof![0u64..70, any::<u64>()])), 1..20),
        garbage in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let world = World::new();
        let mut local = world.link(Some(0));
        let told = world.registration(Place::InArea(Control::bytes(2, false) as u64));
        world.register(&mut local, &told).unwrap();
        let (mut near, far) = pair();
        let served = world.serve(far, Some(1));
        for (kind, flags, fields) in kinds {
            let [payload, window, target, offset, length, program, count, position] = fields;
            let request = Request {
                flags: flags & 7,
                payload: payload as u32 % 256,
                target: target as u32 % 3,
                offset,
                length: if length < 70 { payload % 256 } else { length },
                op: MPI_SUM.0 as u32,
                datatype: MPI_INT64_T.0 as u32,
                program: program as u32 % 3,
                count,
                position,
                ..Request::new(Kind::Put, if window < 60 { WINDOW } else { window }, 1)
            };
            let mut bytes = request.to_bytes().to_vec();
            bytes[0] = kind;
            bytes.resize(REQUEST + request.payload as usize, 0xa5);
            if near.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = near.write_all(&garbage);
        drop(near);
        // The thread ends with its connection, and not by a panic.
        prop_assert!(served.join().is_ok());
        let mut link = world.link(None);
        flush(&mut link).unwrap();
    }
}
