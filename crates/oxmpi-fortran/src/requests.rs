//! Completes, tests and starts requests: indices count from one, and copies of buffers
//! ([`crate::pending`]) are handled.

use crate::entry::*;

entry! {
    [mpi_wait_ pmpi_wait_ mpi_wait_f08_ pmpi_wait_f08_] MPI_Wait PMPI_Wait
    (request: *mut Fint, status: *mut FortranStatus, ierror: *mut Fint) |call| {
        let before: Request = get(request);
        let mut after = before;
        let held = pending::hold(&[before]);
        let mut one = Statuses::new(unless_ignored(status), 1);
        let code = call(&mut after, one.as_mut_ptr());
        one.put();
        put(request, after);
        held.settle(&[after], |_| true);
        set(ierror, code);
    }
}

entry! {
    [mpi_test_ pmpi_test_ mpi_test_f08_ pmpi_test_f08_] MPI_Test PMPI_Test
    (request: *mut Fint, flag: *mut Fint, status: *mut FortranStatus, ierror: *mut Fint) |call| {
        let before: Request = get(request);
        let (mut after, mut done) = (before, 0);
        let held = pending::hold(&[before]);
        let mut one = Statuses::new(unless_ignored(status), 1);
        let code = call(&mut after, &mut done, one.as_mut_ptr());
        one.put();
        put(request, after);
        put_truth(flag, done);
        held.settle(&[after], |_| done != 0);
        set(ierror, code);
    }
}

entry! {
    [mpi_waitall_ pmpi_waitall_ mpi_waitall_f08_ pmpi_waitall_f08_] MPI_Waitall PMPI_Waitall
    (count: *mut Fint, requests: *mut Fint, statuses: *mut FortranStatus, ierror: *mut Fint) |call| {
        let number = narrow!(count, MPI_ERR_COUNT, "MPI_Waitall", MPI_COMM_SELF, ierror);
        let mut list = Few::<Request>::get(requests, positive(*count));
        let held = pending::hold(list.as_mut_slice());
        let mut all = Statuses::new(unless_ignored(statuses), positive(*count));
        let code = call(number, list.as_mut_ptr(), all.as_mut_ptr());
        all.put();
        list.put(requests);
        held.settle(list.as_mut_slice(), |_| true);
        set(ierror, code);
    }
}

entry! {
    [mpi_testall_ pmpi_testall_ mpi_testall_f08_ pmpi_testall_f08_] MPI_Testall PMPI_Testall
    (count: *mut Fint, requests: *mut Fint, flag: *mut Fint, statuses: *mut FortranStatus, ierror: *mut Fint) |call| {
        let number = narrow!(count, MPI_ERR_COUNT, "MPI_Testall", MPI_COMM_SELF, ierror);
        let mut list = Few::<Request>::get(requests, positive(*count));
        let held = pending::hold(list.as_mut_slice());
        let mut done = 0;
        let mut all = Statuses::new(unless_ignored(statuses), positive(*count));
        let code = call(number, list.as_mut_ptr(), &mut done, all.as_mut_ptr());
        all.put();
        put_truth(flag, done);
        if done != 0 {
            list.put(requests);
        }
        held.settle(list.as_mut_slice(), |_| done != 0);
        set(ierror, code);
    }
}

entry! {
    [mpi_waitany_ pmpi_waitany_ mpi_waitany_f08_ pmpi_waitany_f08_] MPI_Waitany PMPI_Waitany
    (count: *mut Fint, requests: *mut Fint, index: *mut Fint, status: *mut FortranStatus, ierror: *mut Fint) |call| {
        let number = narrow!(count, MPI_ERR_COUNT, "MPI_Waitany", MPI_COMM_SELF, ierror);
        let mut list = Few::<Request>::get(requests, positive(*count));
        let held = pending::hold(list.as_mut_slice());
        let mut which = MPI_UNDEFINED;
        let mut one = Statuses::new(unless_ignored(status), 1);
        let code = call(number, list.as_mut_ptr(), &mut which, one.as_mut_ptr());
        one.put();
        put_index(index, which);
        put_at(requests, &mut list, which);
        held.settle(list.as_mut_slice(), |i| c_int::try_from(i) == Ok(which));
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
        status: *mut FortranStatus,
        ierror: *mut Fint
    ) |call| {
        let number = narrow!(count, MPI_ERR_COUNT, "MPI_Testany", MPI_COMM_SELF, ierror);
        let mut list = Few::<Request>::get(requests, positive(*count));
        let held = pending::hold(list.as_mut_slice());
        let (mut which, mut done) = (MPI_UNDEFINED, 0);
        let mut one = Statuses::new(unless_ignored(status), 1);
        let code = call(number, list.as_mut_ptr(), &mut which, &mut done, one.as_mut_ptr());
        one.put();
        put_index(index, which);
        put_truth(flag, done);
        put_at(requests, &mut list, which);
        held.settle(list.as_mut_slice(), |i| done != 0 && c_int::try_from(i) == Ok(which));
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
        statuses: *mut FortranStatus,
        ierror: *mut Fint
    ) |call| {
        let number = narrow!(incount, MPI_ERR_COUNT, "MPI_Waitsome", MPI_COMM_SELF, ierror);
        let mut list = Few::<Request>::get(requests, positive(*incount));
        let held = pending::hold(list.as_mut_slice());
        let mut done = MPI_UNDEFINED;
        let mut places = Ints::room(indices, positive(*incount));
        let mut all = Statuses::room(unless_ignored(statuses), positive(*incount));
        let code = call(number, list.as_mut_ptr(), &mut done, places.as_mut_ptr(), all.as_mut_ptr());
        all.put_first(positive(done));
        let finished = (0..positive(done)).map(|i| places.at(i)).collect::<Vec<c_int>>();
        for which in &finished {
            put_at(requests, &mut list, *which);
        }
        held.settle(list.as_mut_slice(), |i| c_int::try_from(i).is_ok_and(|i| finished.contains(&i)));
        places.put_first(positive(done));
        from_one(indices, done);
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
        statuses: *mut FortranStatus,
        ierror: *mut Fint
    ) |call| {
        let number = narrow!(incount, MPI_ERR_COUNT, "MPI_Testsome", MPI_COMM_SELF, ierror);
        let mut list = Few::<Request>::get(requests, positive(*incount));
        let held = pending::hold(list.as_mut_slice());
        let mut done = MPI_UNDEFINED;
        let mut places = Ints::room(indices, positive(*incount));
        let mut all = Statuses::room(unless_ignored(statuses), positive(*incount));
        let code = call(number, list.as_mut_ptr(), &mut done, places.as_mut_ptr(), all.as_mut_ptr());
        all.put_first(positive(done));
        let finished = (0..positive(done)).map(|i| places.at(i)).collect::<Vec<c_int>>();
        for which in &finished {
            put_at(requests, &mut list, *which);
        }
        held.settle(list.as_mut_slice(), |i| c_int::try_from(i).is_ok_and(|i| finished.contains(&i)));
        places.put_first(positive(done));
        from_one(indices, done);
        put_count(outcount, done);
        set(ierror, code);
    }
}

entry! {
    [mpi_start_ pmpi_start_ mpi_start_f08_ pmpi_start_f08_] MPI_Start PMPI_Start
    (request: *mut Fint, ierror: *mut Fint) |call| {
        let mut handle: Request = get(request);
        pending::starting(&[handle]);
        let code = call(&mut handle);
        put(request, handle);
        set(ierror, code);
    }
}

entry! {
    [mpi_startall_ pmpi_startall_ mpi_startall_f08_ pmpi_startall_f08_] MPI_Startall PMPI_Startall
    (count: *mut Fint, requests: *mut Fint, ierror: *mut Fint) |call| {
        let number = narrow!(count, MPI_ERR_COUNT, "MPI_Startall", MPI_COMM_SELF, ierror);
        let mut list = Few::<Request>::get(requests, positive(*count));
        pending::starting(list.as_mut_slice());
        let code = call(number, list.as_mut_ptr());
        list.put(requests);
        set(ierror, code);
    }
}

entry! {
    [mpi_request_free_ pmpi_request_free_ mpi_request_free_f08_ pmpi_request_free_f08_]
    MPI_Request_free PMPI_Request_free
    (request: *mut Fint, ierror: *mut Fint) |call| {
        let mut handle: Request = get(request);
        let held = pending::hold(&[handle]);
        let code = call(&mut handle);
        put(request, handle);
        if code == MPI_SUCCESS {
            pending::freed(held);
        } else {
            held.settle(&[get(request)], |_| false);
        }
        set(ierror, code);
    }
}

entry! {
    [
        mpi_request_get_status_ pmpi_request_get_status_
        mpi_request_get_status_f08_ pmpi_request_get_status_f08_
    ]
    MPI_Request_get_status PMPI_Request_get_status
    (request: *mut Fint, flag: *mut Fint, status: *mut FortranStatus, ierror: *mut Fint) |call| {
        let mut done = 0;
        let mut one = Statuses::new(unless_ignored(status), 1);
        let code = call(get(request), &mut done, one.as_mut_ptr());
        one.put();
        put_truth(flag, done);
        if done != 0 {
            pending::seen(get(request));
        }
        set(ierror, code);
    }
}

entry! {
    [
        mpi_request_get_status_all_ pmpi_request_get_status_all_
        mpi_request_get_status_all_f08_ pmpi_request_get_status_all_f08_
    ]
    MPI_Request_get_status_all PMPI_Request_get_status_all
    (count: *mut Fint, requests: *mut Fint, flag: *mut Fint, statuses: *mut FortranStatus, ierror: *mut Fint) |call| {
        let number = narrow!(count, MPI_ERR_COUNT, "MPI_Request_get_status_all", MPI_COMM_SELF, ierror);
        let mut list = Few::<Request>::get(requests, positive(*count));
        let mut done = 0;
        let mut all = Statuses::new(unless_ignored(statuses), positive(*count));
        let code = call(number, list.as_mut_ptr(), &mut done, all.as_mut_ptr());
        all.put();
        put_truth(flag, done);
        if done != 0 {
            list.as_mut_slice().iter().for_each(|request| pending::seen(*request));
        }
        set(ierror, code);
    }
}

entry! {
    [
        mpi_request_get_status_any_ pmpi_request_get_status_any_
        mpi_request_get_status_any_f08_ pmpi_request_get_status_any_f08_
    ]
    MPI_Request_get_status_any PMPI_Request_get_status_any
    (
        count: *mut Fint,
        requests: *mut Fint,
        index: *mut Fint,
        flag: *mut Fint,
        status: *mut FortranStatus,
        ierror: *mut Fint
    ) |call| {
        let number = narrow!(count, MPI_ERR_COUNT, "MPI_Request_get_status_any", MPI_COMM_SELF, ierror);
        let mut list = Few::<Request>::get(requests, positive(*count));
        let (mut which, mut done) = (MPI_UNDEFINED, 0);
        let mut one = Statuses::new(unless_ignored(status), 1);
        let code = call(number, list.as_mut_ptr(), &mut which, &mut done, one.as_mut_ptr());
        one.put();
        put_index(index, which);
        put_truth(flag, done);
        if done != 0 {
            list.at(which).into_iter().for_each(pending::seen);
        }
        set(ierror, code);
    }
}

entry! {
    [
        mpi_request_get_status_some_ pmpi_request_get_status_some_
        mpi_request_get_status_some_f08_ pmpi_request_get_status_some_f08_
    ]
    MPI_Request_get_status_some PMPI_Request_get_status_some
    (
        incount: *mut Fint,
        requests: *mut Fint,
        outcount: *mut Fint,
        indices: *mut Fint,
        statuses: *mut FortranStatus,
        ierror: *mut Fint
    ) |call| {
        let number = narrow!(incount, MPI_ERR_COUNT, "MPI_Request_get_status_some", MPI_COMM_SELF, ierror);
        let mut list = Few::<Request>::get(requests, positive(*incount));
        let mut done = MPI_UNDEFINED;
        let mut places = Ints::room(indices, positive(*incount));
        let mut all = Statuses::room(unless_ignored(statuses), positive(*incount));
        let code = call(number, list.as_mut_ptr(), &mut done, places.as_mut_ptr(), all.as_mut_ptr());
        all.put_first(positive(done));
        for i in 0..positive(done) {
            list.at(places.at(i)).into_iter().for_each(pending::seen);
        }
        places.put_first(positive(done));
        from_one(indices, done);
        put_count(outcount, done);
        set(ierror, code);
    }
}

/// Stores the new value of one request of a list; most have not changed.
unsafe fn put_at(requests: *mut Fint, list: &mut Few<Request>, which: c_int) {
    if let Some(request) = list.at(which) {
        // SAFETY: the array has as many elements as the list.
        unsafe { put(requests.add(positive(which)), request) };
    }
}
