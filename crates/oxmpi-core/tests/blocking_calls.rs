//! Calls that wait, without C: ranks are threads of this process, each with a library of its own.

use oxmpi_abi::constants::*;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle;
use oxmpi_base::address::JobId;
use oxmpi_base::ids::Slot;
use oxmpi_base::segment::Segment;
use oxmpi_coll::{allreduce, barrier};
use oxmpi_core::call::{Call, On};
use oxmpi_core::collective::{BoundPlan, Place, Stage, Units};
use oxmpi_core::engine::Mode;
use oxmpi_core::library::{Joined, Library};
use oxmpi_core::operation::{Reduce, UserFunction};
use oxmpi_core::process::Process;
use oxmpi_core::wait::mismatch::MismatchCheck;
use oxmpi_core::wait::waiting::Unending;
use oxmpi_datatype::{Datatype, Source, Target};
use oxmpi_ops::Operands;
use oxmpi_transport::Links;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// Runs `body` once for every rank, each on a thread with a library of its own, in which the world is active.
fn with_ranks(ranks: usize, body: impl Fn(usize, &Library, Joined) + Sync) {
    let (fd, _keep) = Segment::create(ranks, 2).unwrap();
    let (fd, body, barrier) = (&fd, &body, &Barrier::new(ranks));
    std::thread::scope(|scope| {
        for rank in 0..ranks {
            scope.spawn(move || {
                let library = Library::new();
                let job = JobId { inode: 1, holder: 1, fd: 1, host: 0 };
                let slot = Slot::new(rank).unwrap();
                let attach = || Links::attach(Segment::attach(fd.as_fd()).unwrap(), job, slot).unwrap();
                let joined = library.join(|| Ok(Process::of(attach(), true))).unwrap();
                library.enter().unwrap().comms.has_world = true;
                library.begin_world(MPI_THREAD_MULTIPLE);
                barrier.wait();
                body(rank, &library, joined);
                let call = Call::new(&library, Fun::Finalize, On::World);
                let mut guard = call.enter().unwrap();
                guard.engine.node().prepare_to_leave();
                call.wait(&mut guard, &Unending, |process| process.engine.is_flushed().then_some(())).unwrap();
                drop(guard);
                assert!(library.retire());
                library.leave();
                // No rank unmaps what a peer may still read.
                barrier.wait();
            });
        }
    });
}

fn call(library: &Library, fun: Fun) -> Call<'_> {
    Call::new(library, fun, On::Comm(MPI_COMM_WORLD))
}

fn send(library: &Library, dest: usize, tag: i32, bytes: &[u8]) {
    let call = call(library, Fun::Send);
    let mut guard = call.enter().unwrap();
    let route = guard.route(guard.comm(MPI_COMM_WORLD).unwrap(), dest as i32, tag).unwrap().unwrap();
    // SAFETY: the bytes are borrowed until this function returns, when the send has ended.
    let buf = unsafe { Source::dense(bytes.as_ptr(), bytes.len()) };
    if let Some(op) = guard.engine.send(Mode::Standard, &route, buf) {
        assert!(call.wait_op(&mut guard, op).error.is_none());
    }
}

fn recv(library: &Library, source: usize, tag: i32, bytes: &mut [u8]) -> usize {
    let call = call(library, Fun::Recv);
    let mut guard = call.enter().unwrap();
    let pattern = guard.pattern(guard.comm(MPI_COMM_WORLD).unwrap(), source as i32, tag).unwrap().unwrap();
    // SAFETY: the bytes are borrowed until this function returns, when the receive has ended.
    let buf = unsafe { Target::dense(bytes.as_mut_ptr(), bytes.len()) };
    let op = guard.engine.recv(pattern, buf);
    let outcome = call.wait_op(&mut guard, op);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    outcome.status.bytes() as usize
}

/// Performs a plan over the world, as a blocking collective call does.
fn perform(library: &Library, fun: Fun, bound_plan: impl FnOnce(&mut Process) -> BoundPlan) -> oxmpi_abi::Result<()> {
    let call = call(library, fun);
    let mut guard = call.enter()?;
    let mut bound_plan = bound_plan(&mut guard);
    let check = MismatchCheck::new(fun, MPI_COMM_WORLD, None);
    let calls = &mut guard.comm_mut(MPI_COMM_WORLD)?.calls;
    calls.count(check.call());
    bound_plan.stage().calls = *calls;
    call.perform(&mut guard, Arc::new(bound_plan), &check.counted())
}

fn meet(library: &Library, rank: usize, ranks: usize) -> oxmpi_abi::Result<()> {
    perform(library, Fun::Barrier, |process| {
        let plan = Arc::new(barrier::dissemination(rank as u32, ranks as u32));
        BoundPlan::new(plan, Stage::new(&mut process.comms.world), Place::Nowhere, Place::Nowhere, None)
    })
}

#[test]
fn a_blocking_pair_passes_messages_of_all_lengths() {
    with_ranks(2, |me, library, _| {
        for (n, length) in [0, 8, 5_000, 100_000, 3_000_000].into_iter().enumerate() {
            let mut bytes = vec![0u8; length];
            if me == 0 {
                // The receiver is asleep by then.
                std::thread::sleep(Duration::from_millis(20));
                send(library, 1, n as i32, &vec![n as u8 + 1; length]);
                assert_eq!(recv(library, 1, n as i32, &mut bytes), length);
            } else {
                assert_eq!(recv(library, 0, n as i32, &mut bytes), length);
                send(library, 0, n as i32, &bytes);
            }
            assert!(bytes.iter().all(|&byte| byte == n as u8 + 1));
        }
    });
}

#[test]
fn no_rank_leaves_a_barrier_before_all_are_there() {
    let arrived = AtomicUsize::new(0);
    with_ranks(3, |me, library, _| {
        for round in 1..=50 {
            if round % 10 == 0 && me == round / 10 % 3 {
                std::thread::sleep(Duration::from_millis(5));
            }
            arrived.fetch_add(1, Ordering::SeqCst);
            meet(library, me, 3).unwrap();
            assert!(arrived.load(Ordering::SeqCst) >= 3 * round);
        }
    });
}

#[test]
fn ranks_in_different_calls_get_an_error() {
    with_ranks(2, |me, library, _| {
        let met = if me == 0 {
            meet(library, me, 2)
        } else {
            perform(library, Fun::Bcast, |process| {
                let plan = Arc::new(barrier::dissemination(1, 2));
                BoundPlan::new(
                    plan,
                    Stage { tag: 77, ..Stage::new(&mut process.comms.world) },
                    Place::Nowhere,
                    Place::Nowhere,
                    None,
                )
            })
        };
        let error = met.expect_err("the other rank is elsewhere");
        assert!(error.text().contains("MPI_Barrier") && error.text().contains("MPI_Bcast"), "{}", error.text());
    });
}

/// Adds numbers and calls the library, as a user function may.
struct Add<'l>(&'l Library);

impl Reduce for Add<'_> {
    unsafe fn reduce(&self, operands: &Operands, datatype: &Datatype, handle: handle::Datatype) {
        let guard = self.0.enter().expect("the world is active");
        assert!(std::ptr::eq(&raw const **guard.datatype(handle).unwrap(), datatype), "the handle is the type's");
        for n in 0..operands.count as usize {
            let (left, inout) = (operands.left.cast::<i32>(), operands.inout.cast::<i32>());
            // SAFETY: the operands are so many integers.
            unsafe { *inout.add(n) += *left.add(n) };
        }
    }
}

#[test]
fn a_user_function_may_enter_and_is_counted() {
    with_ranks(3, |me, library, _| {
        // SAFETY: only lengthens the lifetime: the library outlives the operation, which `body` ends.
        let add: Box<dyn Reduce> =
            unsafe { std::mem::transmute::<Box<dyn Reduce + '_>, Box<dyn Reduce + 'static>>(Box::new(Add(library))) };
        let function = Arc::new(UserFunction { function: add, commutes: true });
        let op = handle::Op(library.enter().unwrap().operations.insert(function));
        let (mine, mut sum) = ([me as i32 + 1, 10], [0i32; 2]);
        let target = sum.as_mut_ptr().cast();
        perform(library, Fun::Allreduce, |process| {
            let int = Arc::clone(process.datatype(MPI_INT).unwrap());
            // SAFETY: both arrays have the plan's two integers and outlive `perform`, which ends the plan; the
            // plan only reads `mine`.
            let units = |address| unsafe { Units::new(address, 1, &int) };
            let plan = Arc::new(allreduce::doubling(me as u32, 3, 2, false));
            let (from, to) = (units(mine.as_ptr().cast_mut().cast()), units(target));
            let reducer = process.reducer(op, MPI_INT).unwrap();
            let stage = Stage::new(&mut process.comms.world);
            BoundPlan::new(plan, stage, Place::Units(from), Place::Units(to), Some(&units(target)))
                .with_reducer(reducer)
        })
        .unwrap();
        assert_eq!(sum, [6, 30]);
        library.enter().unwrap().operations.remove(op.0);
        let total = [library.user_calls() as u8];
        if me > 0 {
            send(library, 0, 1, &total);
        } else {
            let mut theirs = [0u8; 2];
            recv(library, 1, 1, &mut theirs[..1]);
            recv(library, 2, 1, &mut theirs[1..]);
            assert!(total[0] + theirs[0] + theirs[1] >= 3, "{total:?} {theirs:?}");
        }
    });
}

#[test]
fn threads_of_a_rank_wait_at_the_same_time() {
    const THREADS: usize = 3;
    with_ranks(2, |me, library, _| {
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                scope.spawn(move || {
                    for round in 0..500u32 {
                        let mut word = [0u8; 4];
                        if me == 0 {
                            send(library, 1, thread as i32, &round.to_ne_bytes());
                            recv(library, 1, thread as i32, &mut word);
                        } else {
                            recv(library, 0, thread as i32, &mut word);
                            send(library, 0, thread as i32, &word);
                        }
                        assert_eq!(u32::from_ne_bytes(word), round);
                    }
                });
            }
        });
    });
}

/// A thread that was promised to be alone waits, asleep or not, when another one joins: from then
/// on both take the lock.
#[test]
fn a_waiting_call_notices_that_it_is_no_longer_alone() {
    for delay in [0, 1, 30] {
        with_ranks(2, |me, library, joined| {
            // SAFETY: the thread that joins below is the next one in the library.
            unsafe { library.assume_serialized(joined) };
            assert!(!library.is_threaded());
            let is_over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(delay));
                    let second = library.join(|| unreachable!("there is a state")).unwrap();
                    assert!(library.is_threaded() && !second.is_first && !second.was_locked);
                    // SAFETY: the promise is broken on purpose; it has no effect, since another
                    // user has joined.
                    unsafe { library.assume_serialized(joined) };
                    assert!(library.is_threaded());
                    for round in 0..2_000u32 {
                        let mut word = [0u8; 4];
                        send(library, 1 - me, 2, &round.to_ne_bytes());
                        recv(library, 1 - me, 2, &mut word);
                        assert_eq!(u32::from_ne_bytes(word), round);
                    }
                    is_over.store(true, Ordering::SeqCst);
                    send(library, me, 1, &[1]);
                    assert!(!library.retire());
                });
                let mut byte = [0];
                recv(library, me, 1, &mut byte);
                assert!(is_over.load(Ordering::SeqCst));
            });
        });
    }
}

#[test]
fn info_env_can_be_read_while_a_guard_is_held() {
    with_ranks(1, |_, library, _| {
        let guard = library.enter().unwrap();
        assert!(library.info(MPI_INFO_ENV).unwrap().text("wdir").is_some());
        drop(guard);
    });
}

#[cfg(debug_assertions)]
#[test]
fn debug_builds_find_a_guard_inside_a_guard() {
    with_ranks(1, |_, library, joined| {
        for serialized in [false, true] {
            if serialized {
                // SAFETY: this thread is the only one.
                unsafe { library.assume_serialized(joined) };
            }
            let nested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _outer = library.enter();
                let _inner = library.enter();
            }));
            let text = *nested.expect_err("guards nest").downcast::<String>().unwrap();
            assert!(text.contains("a guard inside a guard"), "{text}");
            // User functions may enter.
            library.enter().unwrap().call_user(|| drop(library.enter()));
        }
    });
}
