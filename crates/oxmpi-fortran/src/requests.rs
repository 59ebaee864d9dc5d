//! Completing and starting requests: indices count from one, and operations with buffers in scratch memory
//! ([`crate::pending`]) are looked after.

use crate::entry::*;

entry! {
    [mpi_wait_ pmpi_wait_ mpi_wait_f08_ pmpi_wait_f08_] MPI_Wait PMPI_Wait
    (request: *mut Fint, status: *mut Status, ierror: *mut Fint) |call| {
        let before: Request = get(request);
        let mut after = before;
        let code = call(&mut after, unless_ignored(status));
        put(request, after);
        if pending::any() {
            pending::finished(before, after);
        }
        set(ierror, code);
    }
}

entry! {
    [mpi_test_ pmpi_test_ mpi_test_f08_ pmpi_test_f08_] MPI_Test PMPI_Test
    (request: *mut Fint, flag: *mut Fint, status: *mut Status, ierror: *mut Fint) |call| {
        let before: Request = get(request);
        let (mut after, mut done) = (before, 0);
        let code = call(&mut after, &mut done, unless_ignored(status));
        put(request, after);
        put_truth(flag, done);
        if done != 0 && pending::any() {
            pending::finished(before, after);
        }
        set(ierror, code);
    }
}

entry! {
    [mpi_waitall_ pmpi_waitall_ mpi_waitall_f08_ pmpi_waitall_f08_] MPI_Waitall PMPI_Waitall
    (count: *mut Fint, requests: *mut Fint, statuses: *mut Status, ierror: *mut Fint) |call| {
        let mut list = Few::<Request>::get(requests, positive(*count));
        let before = Before::of(&mut list);
        let code = call(*count, list.as_mut_ptr(), unless_ignored(statuses));
        settle(requests, &mut list, &before);
        set(ierror, code);
    }
}

entry! {
    [mpi_testall_ pmpi_testall_ mpi_testall_f08_ pmpi_testall_f08_] MPI_Testall PMPI_Testall
    (count: *mut Fint, requests: *mut Fint, flag: *mut Fint, statuses: *mut Status, ierror: *mut Fint) |call| {
        let mut list = Few::<Request>::get(requests, positive(*count));
        let before = Before::of(&mut list);
        let mut done = 0;
        let code = call(*count, list.as_mut_ptr(), &mut done, unless_ignored(statuses));
        put_truth(flag, done);
        if done != 0 {
            settle(requests, &mut list, &before);
        }
        set(ierror, code);
    }
}

entry! {
    [mpi_waitany_ pmpi_waitany_ mpi_waitany_f08_ pmpi_waitany_f08_] MPI_Waitany PMPI_Waitany
    (count: *mut Fint, requests: *mut Fint, index: *mut Fint, status: *mut Status, ierror: *mut Fint) |call| {
        let mut list = Few::<Request>::get(requests, positive(*count));
        let before = Before::of(&mut list);
        let mut which = MPI_UNDEFINED;
        let code = call(*count, list.as_mut_ptr(), &mut which, unless_ignored(status));
        put_index(index, which);
        settle_one(requests, &mut list, &before, which);
        set(ierror, code);
    }
}

entry! {
    [mpi_testany_ pmpi_testany_ mpi_testany_f08_ pmpi_testany_f08_] MPI_Testany PMPI_Testany
    (
        count: *mut Fint,
        requests: *mut Fint,
        index: *mut Fint,
        flag: *mut Fint,
        status: *mut Status,
        ierror: *mut Fint
    ) |call| {
        let mut list = Few::<Request>::get(requests, positive(*count));
        let before = Before::of(&mut list);
        let (mut which, mut done) = (MPI_UNDEFINED, 0);
        let code = call(*count, list.as_mut_ptr(), &mut which, &mut done, unless_ignored(status));
        put_index(index, which);
        put_truth(flag, done);
        settle_one(requests, &mut list, &before, if done != 0 { which } else { MPI_UNDEFINED });
        set(ierror, code);
    }
}

entry! {
    [mpi_waitsome_ pmpi_waitsome_ mpi_waitsome_f08_ pmpi_waitsome_f08_] MPI_Waitsome PMPI_Waitsome
    (
        incount: *mut Fint,
        requests: *mut Fint,
        outcount: *mut Fint,
        indices: *mut Fint,
        statuses: *mut Status,
        ierror: *mut Fint
    ) |call| {
        let mut list = Few::<Request>::get(requests, positive(*incount));
        let before = Before::of(&mut list);
        let mut done = MPI_UNDEFINED;
        let code = call(*incount, list.as_mut_ptr(), &mut done, indices, unless_ignored(statuses));
        settle_some(requests, &mut list, &before, indices, done);
        put_count(outcount, done);
        set(ierror, code);
    }
}

entry! {
    [mpi_testsome_ pmpi_testsome_ mpi_testsome_f08_ pmpi_testsome_f08_] MPI_Testsome PMPI_Testsome
    (
        incount: *mut Fint,
        requests: *mut Fint,
        outcount: *mut Fint,
        indices: *mut Fint,
        statuses: *mut Status,
        ierror: *mut Fint
    ) |call| {
        let mut list = Few::<Request>::get(requests, positive(*incount));
        let before = Before::of(&mut list);
        let mut done = MPI_UNDEFINED;
        let code = call(*incount, list.as_mut_ptr(), &mut done, indices, unless_ignored(statuses));
        settle_some(requests, &mut list, &before, indices, done);
        put_count(outcount, done);
        set(ierror, code);
    }
}

entry! {
    [mpi_start_ pmpi_start_ mpi_start_f08_ pmpi_start_f08_] MPI_Start PMPI_Start
    (request: *mut Fint, ierror: *mut Fint) |call| {
        let mut handle: Request = get(request);
        if pending::any() {
            pending::starting(handle);
        }
        let code = call(&mut handle);
        put(request, handle);
        set(ierror, code);
    }
}

entry! {
    [mpi_startall_ pmpi_startall_ mpi_startall_f08_ pmpi_startall_f08_] MPI_Startall PMPI_Startall
    (count: *mut Fint, requests: *mut Fint, ierror: *mut Fint) |call| {
        let mut list = Few::<Request>::get(requests, positive(*count));
        if pending::any() {
            for request in list.as_mut_slice() {
                pending::starting(*request);
            }
        }
        let code = call(*count, list.as_mut_ptr());
        list.put(requests);
        set(ierror, code);
    }
}

entry! {
    [mpi_request_free_ pmpi_request_free_ mpi_request_free_f08_ pmpi_request_free_f08_]
    MPI_Request_free PMPI_Request_free
    (request: *mut Fint, ierror: *mut Fint) |call| {
        let mut handle: Request = get(request);
        if pending::any() {
            pending::freed(handle);
        }
        let code = call(&mut handle);
        put(request, handle);
        set(ierror, code);
    }
}

/// The requests before a call that completes some of them, where somebody will ask: afterwards their integers stand for
/// nothing.
struct Before(Vec<Request>);

impl Before {
    fn of(list: &mut Few<Request>) -> Before {
        Before(if pending::any() { list.as_mut_slice().to_vec() } else { Vec::new() })
    }
}

/// All requests of a list are complete.
unsafe fn settle(requests: *mut Fint, list: &mut Few<Request>, before: &Before) {
    for i in 0..list.as_mut_slice().len() {
        // SAFETY: the array has as many elements as the list.
        unsafe { settle_at(requests, list, before, i) };
    }
}

unsafe fn settle_one(requests: *mut Fint, list: &mut Few<Request>, before: &Before, which: c_int) {
    if let Some(i) = usize::try_from(which).ok().filter(|i| *i < list.as_mut_slice().len()) {
        // SAFETY: as above.
        unsafe { settle_at(requests, list, before, i) };
    }
}

/// The indices are C's when this begins and Fortran's when it ends.
unsafe fn settle_some(requests: *mut Fint, list: &mut Few<Request>, before: &Before, indices: *mut Fint, done: c_int) {
    for i in 0..usize::try_from(done).unwrap_or(0) {
        // SAFETY: C has written so many indices.
        unsafe { settle_one(requests, list, before, *indices.add(i)) };
    }
    // SAFETY: as above.
    unsafe { from_one(indices, done) };
}

unsafe fn settle_at(requests: *mut Fint, list: &mut Few<Request>, before: &Before, i: usize) {
    let after = list.as_mut_slice()[i];
    if let Some(before) = before.0.get(i) {
        pending::finished(*before, after);
    }
    // SAFETY: the array has as many elements as the list.
    unsafe { put(requests.add(i), after) };
}
