//! Collective operations without C, in their three forms, against results that are computed in the test.

use oxmpi::args::Ints;
use oxmpi::coll::{self, Block, Blocking, Blocks, Nonblocking, Operands, Persistent};
use oxmpi_abi::Result;
use oxmpi_abi::constants::*;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{Comm, Request};
use oxmpi_core::request::Body;
use oxmpi_core::wait::waiting::Unending;
use oxmpi_testkit::world::{Rank, run_on_one_node};

/// Lengths that go over a board in one round, over its staging buffers, and by other algorithms.
const LENGTHS: [usize; 4] = [1, 100, 5_000, 200_000];

fn block(numbers: &[i32]) -> Block {
    Block::new(numbers.as_ptr().cast(), numbers.len() as i64, MPI_INT)
}

fn block_mut(numbers: &mut [i32]) -> Block {
    Block::new(numbers.as_mut_ptr().cast(), numbers.len() as i64, MPI_INT)
}

/// The data of a rank.
fn own(rank: usize, length: usize) -> Vec<i32> {
    (0..length).map(|i| (rank * 1000 + i % 997) as i32).collect()
}

/// Waits for a request as `MPI_Wait` does, and frees one that is not persistent.
fn complete(rank: &Rank, request: Request) -> Result<()> {
    let call = rank.call(Fun::Wait);
    let mut guard = call.enter()?;
    call.wait(&mut guard, &Unending, |process| process.is_request_done(request).unwrap().then_some(()))?;
    let ended = guard.requests.get_mut(request.0).map(|request| match &mut request.body {
        Body::Persistent(_, active) => active.take(),
        _ => None,
    });
    if ended.flatten().is_none() {
        guard.requests.remove(request.0);
    }
    Ok(())
}

/// Starts a persistent request as `MPI_Start` does.
fn start(rank: &Rank, request: Request) {
    let call = rank.call(Fun::Start);
    let mut guard = call.enter().unwrap();
    let Body::Persistent(start, None) = &guard.request(request).unwrap().body else { panic!("it cannot be started") };
    let start = (**start).clone();
    let active = guard.begin(&start).unwrap();
    if let Some(Body::Persistent(_, place)) = guard.requests.get_mut(request.0).map(|request| &mut request.body) {
        *place = Some(active);
    }
}

#[test]
fn every_rank_gets_the_sum_in_every_form() {
    for size in [1, 2, 3, 5] {
        run_on_one_node(size, |me| {
            for length in LENGTHS {
                let given = own(me.me, length);
                let everybodys: Vec<Vec<i32>> = (0..size).map(|rank| own(rank, length)).collect();
                let expected: Vec<i32> = (0..length).map(|i| everybodys.iter().map(|given| given[i]).sum()).collect();
                let mut got = vec![0; length];
                let sum =
                    |got: &mut [i32]| Operands::new(given.as_ptr().cast(), got.as_mut_ptr().cast(), MPI_INT, MPI_SUM);
                let (count, world) = (length as i64, MPI_COMM_WORLD);
                // SAFETY: both vectors live to the end of the turn, by when every operation is complete.
                unsafe {
                    coll::allreduce(&me.call(Fun::Allreduce), Blocking, sum(&mut got), count, world).unwrap();
                    assert_eq!(got, expected, "blocking, {size} ranks, {length} numbers");
                    got.fill(0);
                    let call = me.call(Fun::Iallreduce);
                    let request = coll::allreduce(&call, Nonblocking, sum(&mut got), count, world).unwrap();
                    complete(me, request).unwrap();
                    assert_eq!(got, expected, "nonblocking");
                    let call = me.call(Fun::AllreduceInit);
                    let form = Persistent(MPI_INFO_NULL);
                    let request = coll::allreduce(&call, form, sum(&mut got), count, world).unwrap();
                    for _ in 0..3 {
                        got.fill(0);
                        start(me, request);
                        complete(me, request).unwrap();
                        assert_eq!(got, expected, "persistent");
                    }
                    complete(me, request).unwrap();
                }
            }
        });
    }
}

#[test]
fn data_goes_from_and_to_every_root() {
    let size = 4;
    run_on_one_node(size, |me| {
        for (root, length) in (0..size).flat_map(|root| LENGTHS.map(|length| (root, length))) {
            let world = MPI_COMM_WORLD;
            let mut buffer = if me.me == root { own(root, length) } else { vec![0; length] };
            let mut all = vec![0; size * length];
            let given = own(me.me, length);
            let everybodys: Vec<i32> = (0..size).flat_map(|rank| own(rank, length)).collect();
            // SAFETY: the vectors live to the end of the turn, and the operations are complete when they return.
            unsafe {
                let whole = block_mut(&mut buffer);
                coll::bcast(&me.call(Fun::Bcast), Blocking, whole, root as i32, world).unwrap();
                assert_eq!(buffer, own(root, length));
                let one = Block::new(all.as_mut_ptr().cast(), length as i64, MPI_INT);
                coll::gather(&me.call(Fun::Gather), Blocking, block(&given), one, root as i32, world).unwrap();
                assert_eq!(all, if me.me == root { everybodys.clone() } else { vec![0; size * length] });
                buffer.fill(0);
                let each = Block::new(everybodys.as_ptr().cast(), length as i64, MPI_INT);
                let call = me.call(Fun::Scatter);
                coll::scatter(&call, Blocking, each, block_mut(&mut buffer), root as i32, world).unwrap();
                assert_eq!(buffer, given);
                coll::allgather(&me.call(Fun::Allgather), Blocking, block(&given), one, world).unwrap();
                assert_eq!(all, everybodys);
                // Each rank sends to each other rank a block that only that rank gets.
                coll::alltoall(&me.call(Fun::Alltoall), Blocking, each, one, world).unwrap();
                let expected: Vec<i32> = (0..size).flat_map(|_| own(me.me, length)).collect();
                assert_eq!(all, expected);
            }
        }
    });
}

#[test]
fn blocks_of_different_lengths_lie_where_their_displacements_say() {
    let size = 3;
    run_on_one_node(size, |me| {
        // Rank n sends n + 1 numbers; they are received in reverse order with gaps.
        let counts: Vec<i32> = (0..size as i32).map(|rank| rank + 1).collect();
        let displs: Vec<i64> = (0..size as i64).rev().map(|place| place * 4).collect();
        let given = own(me.me, me.me + 1);
        let mut all = vec![-1; 4 * size];
        let many =
            Blocks::new(all.as_mut_ptr().cast(), Ints::narrow(counts.as_ptr()), Ints::wide(displs.as_ptr()), MPI_INT);
        // SAFETY: the vectors live longer than the call, which returns when the operation is complete.
        unsafe { coll::allgatherv(&me.call(Fun::Allgatherv), Blocking, block(&given), many, MPI_COMM_WORLD).unwrap() };
        let mut expected = vec![-1; 4 * size];
        for rank in 0..size {
            let at = displs[rank] as usize;
            expected[at..at + rank + 1].copy_from_slice(&own(rank, rank + 1));
        }
        assert_eq!(all, expected);
    });
}

#[test]
fn a_wrong_argument_is_an_error_before_anything_is_sent() {
    run_on_one_node(2, |me| {
        let mut buffer = [1];
        let class = |result: Result<()>| result.unwrap_err().class();
        // SAFETY: the buffer lives to the end of this function; what fails does not touch it.
        unsafe {
            let bcast = |block: Block, root: i32, comm: Comm| {
                class(coll::bcast(&me.call_on(Fun::Bcast, comm), Blocking, block, root, comm))
            };
            let good = block_mut(&mut buffer);
            assert_eq!(bcast(good, 2, MPI_COMM_WORLD), MPI_ERR_ROOT);
            assert_eq!(bcast(good, 0, MPI_COMM_NULL), MPI_ERR_COMM);
            assert_eq!(bcast(Block { count: -1, ..good }, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
            assert_eq!(bcast(Block { datatype: MPI_DATATYPE_NULL, ..good }, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
            // The next call of all ranks works as if nothing had happened.
            coll::barrier(&me.call(Fun::Barrier), Blocking, MPI_COMM_WORLD).unwrap();
        }
    });
}
