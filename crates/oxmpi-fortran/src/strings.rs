//! Procedures with texts whose lengths cannot be generated, and those with arrays of texts.

use crate::entry::*;
use crate::places::is_null_argv;
use crate::text::texts;

entry! {
    [mpi_info_get_ pmpi_info_get_ mpi_info_get_f08_ pmpi_info_get_f08_] MPI_Info_get PMPI_Info_get
    (
        info: *mut Fint,
        key: *mut c_char,
        valuelen: *mut Fint,
        value: *mut c_char,
        flag: *mut Fint,
        ierror: *mut Fint,
        key_len: usize,
        value_len: usize
    ) |call| {
        let mut key = trimmed((key, key_len));
        let valuelen = narrow!(valuelen, MPI_ERR_ARG, "MPI_Info_get", MPI_COMM_SELF, ierror);
        let (mut written, mut found) = (room(valuelen), 0);
        let code = call(get(info), key.as_mut_ptr().cast(), valuelen, written.as_mut_ptr().cast(), &mut found);
        put_truth(flag, found);
        if found != 0 {
            put_text((value, value_len), &written, code);
        }
        set(ierror, code);
    }
}

// In C a length includes the NUL; Fortran has none.
entry! {
    [mpi_info_get_string_ pmpi_info_get_string_ mpi_info_get_string_f08_ pmpi_info_get_string_f08_]
    MPI_Info_get_string PMPI_Info_get_string
    (
        info: *mut Fint,
        key: *mut c_char,
        buflen: *mut Fint,
        value: *mut c_char,
        flag: *mut Fint,
        ierror: *mut Fint,
        key_len: usize,
        value_len: usize
    ) |call| {
        let mut key = trimmed((key, key_len));
        let asked = narrow!(buflen, MPI_ERR_ARG, "MPI_Info_get_string", MPI_COMM_SELF, ierror);
        let (mut length, mut found) = (with_nul(asked), 0);
        let mut written = room(length);
        let code = call(get(info), key.as_mut_ptr().cast(), &mut length, written.as_mut_ptr().cast(), &mut found);
        put_truth(flag, found);
        if found != 0 {
            *buflen = wide((length - 1).max(0));
            if asked > 0 {
                put_text((value, value_len), &written, code);
            }
        }
        set(ierror, code);
    }
}

entry! {
    [
        mpi_session_get_nth_pset_ pmpi_session_get_nth_pset_
        mpi_session_get_nth_pset_f08_ pmpi_session_get_nth_pset_f08_
    ]
    MPI_Session_get_nth_pset PMPI_Session_get_nth_pset
    (
        session: *mut Fint,
        info: *mut Fint,
        n: *mut Fint,
        pset_len: *mut Fint,
        pset_name: *mut c_char,
        ierror: *mut Fint,
        name_len: usize
    ) |call| {
        let asked = narrow!(pset_len, MPI_ERR_ARG, "MPI_Session_get_nth_pset", MPI_COMM_SELF, ierror);
        let mut length = with_nul(asked);
        let mut written = room(length);
        let number = narrow!(n, MPI_ERR_ARG, "MPI_Session_get_nth_pset", MPI_COMM_SELF, ierror);
        let code = call(get(session), get(info), number, &mut length, written.as_mut_ptr().cast());
        if code == MPI_SUCCESS {
            *pset_len = wide((length - 1).max(0));
            if asked > 0 {
                put_text((pset_name, name_len), &written, code);
            }
        }
        set(ierror, code);
    }
}

/// Zero asks only for the length, as in C.
fn with_nul(length: c_int) -> c_int {
    if length > 0 { length.saturating_add(1) } else { length }
}

/// More arguments than any command has; an array of them ends with an empty one.
const MOST: usize = 1 << 20;

/// Whether the arguments before `root` are significant in this process; elsewhere they are not
/// read.
///
/// # Safety
/// `root` may be read.
unsafe fn is_root(root: *mut Fint, comm: Comm) -> bool {
    let mut rank = 0;
    // SAFETY: the caller promises that `root` may be read; the result is a variable of this
    // function.
    unsafe { c::PMPI_Comm_rank(comm, &mut rank) == MPI_SUCCESS && wide(rank) == *root }
}

/// The number of processes that a call has spawned.
fn spawned(intercomm: Comm) -> usize {
    let mut size = 0;
    if intercomm.0 != 0 && intercomm != MPI_COMM_NULL {
        // SAFETY: the pointer leads to a variable of this function.
        unsafe { c::PMPI_Comm_remote_size(intercomm, &mut size) };
    }
    positive(size)
}

/// Pointers to texts, ended by a null pointer.
fn pointers(texts: &mut [Vec<u8>]) -> Vec<*mut c_char> {
    texts.iter_mut().map(|text| text.as_mut_ptr().cast()).chain([null_mut()]).collect()
}

entry! {
    [mpi_comm_spawn_ pmpi_comm_spawn_ mpi_comm_spawn_f08_ pmpi_comm_spawn_f08_] MPI_Comm_spawn PMPI_Comm_spawn
    (
        command: *mut c_char,
        argv: *mut c_char,
        maxprocs: *mut Fint,
        info: *mut Fint,
        root: *mut Fint,
        comm: *mut Fint,
        intercomm: *mut Fint,
        errcodes: *mut Fint,
        ierror: *mut Fint,
        command_len: usize,
        argv_len: usize
    ) |call| {
        let counts = is_root(root, get(comm));
        let mut command = if counts { trimmed((command, command_len)) } else { vec![0] };
        let mut words =
            if counts && !is_null_argv(argv) { texts(argv, argv_len, argv_len, MOST) } else { Vec::new() };
        let mut words = pointers(&mut words);
        let mut made = Comm(0);
        let mut codes = Codes::new(unless_ignored(errcodes));
        let code = call(
            command.as_mut_ptr().cast(),
            words.as_mut_ptr(),
            if counts { narrow!(maxprocs, MPI_ERR_ARG, "MPI_Comm_spawn", get::<Comm>(comm), ierror) } else { 0 },
            get(info),
            narrow!(root, MPI_ERR_ROOT, "MPI_Comm_spawn", get::<Comm>(comm), ierror),
            get(comm),
            &mut made,
            codes.as_mut_ptr(),
        );
        codes.put(|| spawned(made));
        put(intercomm, made);
        set(ierror, code);
    }
}

entry! {
    [
        mpi_comm_spawn_multiple_ pmpi_comm_spawn_multiple_
        mpi_comm_spawn_multiple_f08_ pmpi_comm_spawn_multiple_f08_
    ]
    MPI_Comm_spawn_multiple PMPI_Comm_spawn_multiple
    (
        count: *mut Fint,
        commands: *mut c_char,
        argvs: *mut c_char,
        maxprocs: *mut Fint,
        infos: *mut Fint,
        root: *mut Fint,
        comm: *mut Fint,
        intercomm: *mut Fint,
        errcodes: *mut Fint,
        ierror: *mut Fint,
        commands_len: usize,
        argvs_len: usize
    ) |call| {
        let number = if is_root(root, get(comm)) { positive(*count) } else { 0 };
        let mut commands: Vec<Vec<u8>> =
            (0..number).map(|i| trimmed((commands.add(i * commands_len), commands_len))).collect();
        let mut commands = pointers(&mut commands);
        // The arguments of command i are in row i.
        let mut rows: Vec<Vec<Vec<u8>>> = match is_null_argv(argvs) {
            true => Vec::new(),
            false => (0..number).map(|i| texts(argvs.add(i * argvs_len), argvs_len, number * argvs_len, MOST)).collect(),
        };
        let mut rows: Vec<Vec<*mut c_char>> = rows.iter_mut().map(|row| pointers(row)).collect();
        let mut rows: Vec<*mut *mut c_char> = rows.iter_mut().map(|row| row.as_mut_ptr()).collect();
        let argvs = if rows.is_empty() { null_mut() } else { rows.as_mut_ptr() };
        let mut infos = Few::<Info>::get(infos, number);
        let (mut made, object) = (Comm(0), get::<Comm>(comm));
        let mut codes = Codes::new(unless_ignored(errcodes));
        let mut maxprocs = narrowed!(maxprocs, number, MPI_ERR_ARG, "MPI_Comm_spawn_multiple", object, ierror);
        let code = call(
            if number == 0 { 0 } else { narrow!(count, MPI_ERR_COUNT, "MPI_Comm_spawn_multiple", object, ierror) },
            commands.as_mut_ptr(),
            argvs,
            maxprocs.as_mut_ptr(),
            infos.as_mut_ptr(),
            narrow!(root, MPI_ERR_ROOT, "MPI_Comm_spawn_multiple", object, ierror),
            object,
            &mut made,
            codes.as_mut_ptr(),
        );
        codes.put(|| spawned(made));
        put(intercomm, made);
        set(ierror, code);
    }
}
