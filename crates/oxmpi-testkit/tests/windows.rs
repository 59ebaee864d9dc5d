//! Windows and `MPI_Alloc_mem` without C.

use oxmpi::{memory, rma};
use oxmpi_abi::constants::*;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::Win;
use oxmpi_core::call::{Call, On};
use oxmpi_core::info::Info;
use oxmpi_datatype::Source;
use oxmpi_rma::Flavor;
use oxmpi_testkit::world::{Rank, run_on_one_node};

fn make(me: &Rank, flavor: Flavor, address: usize, size: usize) -> Win {
    let call = me.call(Fun::WinCreate);
    let args = rma::WindowArgs { flavor, address, size, unit: 8, hints: Info::new(), alignment: 64 };
    rma::make(&call, &mut call.enter().unwrap(), MPI_COMM_WORLD, args).unwrap()
}

fn fence(call: &Call, win: Win) {
    let mut guard = call.enter().unwrap();
    guard.win_mut(win).unwrap().window.check_fence(0).unwrap();
    rma::synchronize(call, &mut guard, win).unwrap();
    guard.win_mut(win).unwrap().window.end_fence(0);
}

/// Each rank puts its number into its element at every rank, between two fences.
fn put_to_all(me: &Rank, win: Win) {
    let call = Call::new(me.library, Fun::Put, On::Win(win));
    fence(&call, win);
    for target in 0..me.size {
        let value = [(me.me * 10 + target) as u64];
        let mut guard = call.enter().unwrap();
        let region = guard.target_region(win, target as i32, me.me as i64, 1, MPI_UINT64_T).unwrap().unwrap();
        // SAFETY: the value lives until the put is complete, which is when it returns.
        let from = unsafe { Source::dense(value.as_ptr().cast(), 8) };
        guard.win(win).unwrap().window.put(guard.engine.node(), &from, &region).unwrap();
    }
    fence(&call, win);
}

fn check(me: &Rank, win: Win) {
    let base = me.call(Fun::WinFence).enter().unwrap().win(win).unwrap().window.base;
    let base: *const u64 = std::ptr::with_exposed_provenance(base);
    // SAFETY: this rank's part of the window, of as many numbers as there are ranks; the epoch of the puts has ended.
    let got: Vec<u64> = (0..me.size).map(|origin| unsafe { base.add(origin).read() }).collect();
    let expected: Vec<u64> = (0..me.size).map(|origin| (origin * 10 + me.me) as u64).collect();
    assert_eq!(got, expected);
}

#[test]
fn puts_arrive_in_memory_of_every_kind() {
    run_on_one_node(3, |me| {
        for flavor in [Flavor::Allocate, Flavor::Shared] {
            let win = make(me, flavor, 0, me.size * 8);
            put_to_all(me, win);
            check(me, win);
            rma::remove(&Call::new(me.library, Fun::WinFree, On::Win(win)), win).unwrap();
            assert!(me.call(Fun::WinFree).enter().unwrap().win(win).is_err());
        }
        // The program's own memory: first any memory, then memory that the others can map.
        let mut own = vec![0u64; me.size];
        let call = me.call(Fun::AllocMem);
        let given = memory::allocate(&mut call.enter().unwrap(), me.size * 8, 64).unwrap();
        for address in [own.as_mut_ptr().expose_provenance(), given.expose_provenance()] {
            let win = make(me, Flavor::Create, address, me.size * 8);
            put_to_all(me, win);
            check(me, win);
            rma::remove(&Call::new(me.library, Fun::WinFree, On::Win(win)), win).unwrap();
        }
        // SAFETY: the window over it is gone.
        unsafe { memory::free(&mut call.enter().unwrap(), given.addr()).unwrap() };
        // SAFETY: the memory is not the program's any more, which is detected before anything is
        // freed.
        let again = unsafe { memory::free(&mut call.enter().unwrap(), given.addr()) };
        assert_eq!(again.unwrap_err().class(), MPI_ERR_BASE);
    });
}

#[test]
fn a_target_outside_the_window_is_an_error() {
    run_on_one_node(2, |me| {
        let win = make(me, Flavor::Allocate, 0, 16);
        let call = Call::new(me.library, Fun::Put, On::Win(win));
        fence(&call, win);
        let class =
            |rank, disp| call.enter().unwrap().target_region(win, rank, disp, 1, MPI_UINT64_T).err().map(|e| e.class());
        assert_eq!(class(1, 1), None);
        assert_eq!(class(1, 2), Some(MPI_ERR_RMA_RANGE));
        assert_eq!(class(2, 0), Some(MPI_ERR_RANK));
        fence(&call, win);
        rma::remove(&call, win).unwrap();
    });
}

#[test]
fn memory_is_reused_and_pieces_do_not_overlap() {
    run_on_one_node(1, |me| {
        let call = me.call(Fun::AllocMem);
        let mut guard = call.enter().unwrap();
        let first = memory::allocate(&mut guard, 10_000, 64).unwrap();
        let second = memory::allocate(&mut guard, 10_000, 64).unwrap();
        assert!(first.addr().abs_diff(second.addr()) >= 10_000);
        // Alignments beyond a page use the heap.
        let aligned = memory::allocate(&mut guard, 1, 1 << 16).unwrap();
        assert_eq!(aligned.addr() % (1 << 16), 0);
        for base in [first, second, aligned] {
            // SAFETY: nobody uses the memory any more.
            unsafe { memory::free(&mut guard, base.addr()).unwrap() };
        }
        let again = memory::allocate(&mut guard, 10_000, 64).unwrap();
        assert!([first, second].contains(&again));
        assert_eq!(memory::allocate(&mut guard, usize::MAX / 2, 64).unwrap_err().class(), MPI_ERR_NO_MEM);
    });
}
