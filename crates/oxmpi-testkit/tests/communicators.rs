//! Communicators without C: split, made from groups, used, and freed with their attributes.

use oxmpi::coll::{self, Blocking, Operands};
use oxmpi::comm;
use oxmpi_abi::constants::*;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::Comm;
use oxmpi_base::ids;
use oxmpi_core::attributes::{Callbacks, DeleteFn, Object, OnCopy, Owner, Value};
use oxmpi_core::contexts::SplitArgs;
use oxmpi_core::ranks::Ranks;
use oxmpi_testkit::world::{Rank, run_on_one_node};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn sum(me: &Rank, on: Comm, given: i64) -> i64 {
    let mut got = 0i64;
    let operands = Operands::new((&raw const given).cast(), (&raw mut got).cast(), MPI_INT64_T, MPI_SUM);
    // SAFETY: both numbers live until the operation is complete, which is when it returns.
    unsafe { coll::allreduce(&me.call_on(Fun::Allreduce, on), Blocking, operands, 1, on).unwrap() };
    got
}

fn remove(me: &Rank, comm: Comm) {
    let mismatch = comm::remove(&me.call_on(Fun::CommFree, comm), comm, |error| error).unwrap();
    assert_eq!(mismatch, None);
}

#[test]
fn the_parts_of_a_split_work_side_by_side() {
    run_on_one_node(5, |me| {
        let call = me.call(Fun::CommSplit);
        // In reverse order; the last rank has no color.
        let color = (me.me < 4).then_some(me.me as u32 % 2);
        let args = SplitArgs { color, key: -(me.me as i32) };
        let made = comm::split(&call, &mut call.enter().unwrap(), MPI_COMM_WORLD, args).unwrap();
        assert_eq!(made == MPI_COMM_NULL, me.me == 4);
        if made == MPI_COMM_NULL {
            return;
        }
        let (rank, size) = {
            let guard = call.enter().unwrap();
            let found = guard.comm(made).unwrap();
            (found.rank, found.size())
        };
        assert_eq!((rank as usize, size), (1 - me.me / 2, 2));
        for round in 0..20 {
            assert_eq!(sum(me, made, me.me as i64 + round), (me.me as i64 % 2) * 2 + 2 + 2 * round);
        }
        remove(me, made);
        assert!(call.enter().unwrap().comm(made).is_err());
    });
}

#[test]
fn a_communicator_of_some_ranks_leaves_the_others_alone() {
    run_on_one_node(4, |me| {
        let call = me.call(Fun::CommCreate);
        let mut guard = call.enter().unwrap();
        let world = guard.comm(MPI_COMM_WORLD).unwrap().group.clone();
        let group = Ranks::from_list([3, 1].map(|rank| world.peer(ids::Rank::new(rank))).to_vec());
        let group = (me.me % 2 == 1).then_some(group);
        let made = comm::create(&call, &mut guard, MPI_COMM_WORLD, group).unwrap();
        drop(guard);
        if me.me % 2 == 0 {
            assert_eq!(made, MPI_COMM_NULL);
        } else {
            assert_eq!(call.enter().unwrap().comm(made).unwrap().rank, if me.me == 3 { 0 } else { 1 });
            assert_eq!(sum(me, made, me.me as i64), 4);
            remove(me, made);
        }
        assert_eq!(sum(me, MPI_COMM_WORLD, 1), 4);
    });
}

#[test]
fn attributes_end_with_their_communicator_and_belong_to_one_rank() {
    run_on_one_node(2, |me| {
        let call = me.call(Fun::CommSplit);
        let args = SplitArgs { color: Some(0), key: 0 };
        let made = comm::split(&call, &mut call.enter().unwrap(), MPI_COMM_WORLD, args).unwrap();
        let deleted = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&deleted);
        let delete: DeleteFn = Box::new(move |call| {
            seen.fetch_add(call.value, Ordering::Relaxed);
            Ok(())
        });
        let callbacks = Callbacks { copy: OnCopy::Same, delete: Some(delete) };
        let key = me.library.create_key(Owner::Comm, callbacks).unwrap();
        // Both ranks have the same handle and the same key, and different values.
        me.library.set_attribute(Object::Comm(made), key, Value::Pointer(me.me + 7)).unwrap();
        sum(me, made, 0);
        assert_eq!(me.library.attribute(Object::Comm(made), key), Ok(Some(me.me + 7)));
        remove(me, made);
        assert_eq!(deleted.load(Ordering::Relaxed), me.me + 7);
        assert_eq!(me.library.attribute(Object::Comm(made), key), Ok(None));
    });
}
