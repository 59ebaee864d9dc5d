//! Functions with shorter strings than the standard's, with arrays whose length other calls tell, and
//! with handles of any kind.

use crate::abi::codes::code_of_text;
use crate::entry::*;
use crate::generated::tables::theirs;
use std::ptr::null_mut;

// ---- strings ----

/// Copies a text into the room that programs of this ABI have for it; returns the length.
///
/// # Safety
/// The text ends, and `to` has that room.
unsafe fn put_text(text: &[c_char], to: *mut c_char, room: i64) -> usize {
    let count = text.iter().take(room as usize - 1).take_while(|c| **c != 0).count();
    // SAFETY: `to` has room for the text, of which there are fewer characters than `room`, and its end.
    unsafe {
        to.copy_from_nonoverlapping(text.as_ptr(), count);
        *to.add(count) = 0;
    }
    count
}

/// Functions that store a text and its length.
macro_rules! texts {
    ($($name:ident $profiling:ident $private:ident($($object:ident: $type:ty => $value:expr)?) $longest:ident)*) => {$(
        entry! {
            $name $profiling($($object: $type,)? text: *mut c_char, resultlen: *mut c_int) -> c_int {
                let mut ours = [0; $longest as usize];
                let ours_c = if text.is_null() { text } else { ours.as_mut_ptr() };
                let code = c::$private($($value,)? ours_c, resultlen);
                if code == MPI_SUCCESS {
                    *resultlen = put_text(&ours, text, theirs::$longest) as c_int;
                }
                answer(code)
            }
        }
    )*};
}

texts! {
    MPI_Comm_get_name PMPI_Comm_get_name oxmpi_Comm_get_name(comm: TheirHandle => Comm::ours(comm)) MPI_MAX_OBJECT_NAME
    MPI_Get_library_version PMPI_Get_library_version oxmpi_Get_library_version() MPI_MAX_LIBRARY_VERSION_STRING
    MPI_Get_processor_name PMPI_Get_processor_name oxmpi_Get_processor_name() MPI_MAX_PROCESSOR_NAME
    MPI_Type_get_name PMPI_Type_get_name oxmpi_Type_get_name(datatype: TheirHandle => Datatype::ours(datatype)) MPI_MAX_OBJECT_NAME
    MPI_Win_get_name PMPI_Win_get_name oxmpi_Win_get_name(win: TheirHandle => Win::ours(win)) MPI_MAX_OBJECT_NAME
}

entry! {
    MPI_Error_string PMPI_Error_string(errorcode: c_int, text: *mut c_char, resultlen: *mut c_int) -> c_int {
        let mut ours = [0; MPI_MAX_ERROR_STRING as usize];
        let ours_c = if text.is_null() { text } else { ours.as_mut_ptr() };
        let code = c::oxmpi_Error_string(code_of_text(errorcode), ours_c, resultlen);
        if code == MPI_SUCCESS {
            *resultlen = put_text(&ours, text, theirs::MPI_MAX_ERROR_STRING) as c_int;
        }
        answer(code)
    }
}

entry! {
    MPI_Error_class PMPI_Error_class(errorcode: c_int, errorclass: *mut c_int) -> c_int {
        let mut class = Place::<Code>::out(errorclass);
        let code = c::oxmpi_Error_class(Code::ours(errorcode), class.ptr());
        class.put();
        answer(code)
    }
}

entry! {
    MPI_Info_get_nthkey PMPI_Info_get_nthkey(info: TheirHandle, n: c_int, key: *mut c_char) -> c_int {
        let mut text = [0; MPI_MAX_INFO_KEY as usize];
        let text_c = if key.is_null() { key } else { text.as_mut_ptr() };
        let code = c::oxmpi_Info_get_nthkey(Info::ours(info), n, text_c);
        if code == MPI_SUCCESS {
            put_text(&text, key, theirs::MPI_MAX_INFO_KEY);
        }
        answer(code)
    }
}

/// A name of a port is useless if it is cut.
///
/// # Safety
/// As for [`put_text`].
unsafe fn put_port(code: c_int, text: &[c_char], to: *mut c_char) -> c_int {
    if code != MPI_SUCCESS {
        return answer(code);
    }
    // SAFETY: after success `to` is not null, and has the room of their constant.
    let count = unsafe { put_text(text, to, theirs::MPI_MAX_PORT_NAME) };
    match text.get(count) {
        None | Some(0) => MPI_SUCCESS,
        // SAFETY: the function takes any code.
        Some(_) => Code::theirs(unsafe {
            c::oxmpi_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_VALUE_TOO_LARGE);
            MPI_ERR_VALUE_TOO_LARGE
        }),
    }
}

entry! {
    MPI_Open_port PMPI_Open_port(info: TheirHandle, port_name: *mut c_char) -> c_int {
        let mut text = [0; MPI_MAX_PORT_NAME as usize];
        let text_c = if port_name.is_null() { port_name } else { text.as_mut_ptr() };
        let code = c::oxmpi_Open_port(Info::ours(info), text_c);
        put_port(code, &text, port_name)
    }
}

entry! {
    MPI_Lookup_name PMPI_Lookup_name(service_name: *mut c_char, info: TheirHandle, port_name: *mut c_char) -> c_int {
        let mut text = [0; MPI_MAX_PORT_NAME as usize];
        let text_c = if port_name.is_null() { port_name } else { text.as_mut_ptr() };
        let code = c::oxmpi_Lookup_name(service_name, Info::ours(info), text_c);
        put_port(code, &text, port_name)
    }
}

// ---- the ABI ----

entry! {
    // The program's ABI is not the standard's: programs that ask decide by this what they have before them.
    MPI_Abi_get_version PMPI_Abi_get_version(major: *mut c_int, minor: *mut c_int) -> c_int {
        if major.is_null() || minor.is_null() {
            return theirs::MPI_ERR_ARG as c_int;
        }
        (*major, *minor) = (-1, -1);
        MPI_SUCCESS
    }
}

// ---- new processes ----

/// Converts the codes of the processes that were to be started.
///
/// # Safety
/// `codes` is null or has an element for each of them.
unsafe fn put_codes(codes: *mut c_int, asked: usize) {
    for i in (0..asked).filter(|_| !codes.is_null()) {
        // SAFETY: there is an element for each process, by this function's condition.
        unsafe { *codes.add(i) = Code::theirs(*codes.add(i)) };
    }
}

/// The number of processes that the root asks for, at each process of the communicator: other
/// processes are not told by their arguments. Zero if the call is wrong, which it reports itself.
fn asked_by_root(comm: Comm, root: c_int, asked: impl FnOnce() -> usize) -> usize {
    let (mut is_inter, mut rank, mut size) = (0, 0, 0);
    // SAFETY: the functions take any handle, and the places are those of variables. The communicator is
    // one of a collective call, and the root one of its ranks.
    unsafe {
        if c::oxmpi_Comm_test_inter(comm, &mut is_inter) != MPI_SUCCESS || is_inter != 0 {
            return 0;
        }
        c::oxmpi_Comm_rank(comm, &mut rank);
        c::oxmpi_Comm_size(comm, &mut size);
        if !(0..size).contains(&root) {
            return 0;
        }
        let mut count = if rank == root { c_int::try_from(asked()).unwrap_or(0) } else { 0 };
        match c::oxmpi_Bcast((&raw mut count).cast(), 1, MPI_INT, root, comm) {
            MPI_SUCCESS => length(count),
            _ => 0,
        }
    }
}

/// Whether this process is the one whose arguments count.
fn is_root(comm: Comm, root: c_int) -> bool {
    let mut rank = 0;
    // SAFETY: the function takes any handle, and the place is that of a variable.
    let code = unsafe { c::oxmpi_Comm_rank(comm, &mut rank) };
    code == MPI_SUCCESS && rank == root
}

entry! {
    MPI_Comm_spawn PMPI_Comm_spawn(
        command: *mut c_char,
        argv: *mut *mut c_char,
        maxprocs: c_int,
        info: TheirHandle,
        root: c_int,
        comm: TheirHandle,
        intercomm: *mut TheirHandle,
        codes: *mut c_int,
    ) -> c_int {
        let comm = Comm::ours(comm);
        let mut intercomm_c = Place::<Comm>::out(intercomm);
        let info = Info::ours(info);
        let asked = asked_by_root(comm, root, || length(maxprocs));
        let code = c::oxmpi_Comm_spawn(command, argv, maxprocs, info, root, comm, intercomm_c.ptr(), codes);
        put_codes(codes, asked);
        intercomm_c.put();
        answer(code)
    }
}

entry! {
    MPI_Comm_spawn_multiple PMPI_Comm_spawn_multiple(
        count: c_int,
        commands: *mut *mut c_char,
        argvs: *mut *mut *mut c_char,
        maxprocs: *mut c_int,
        infos: *mut TheirHandle,
        root: c_int,
        comm: TheirHandle,
        intercomm: *mut TheirHandle,
        codes: *mut c_int,
    ) -> c_int {
        let comm = Comm::ours(comm);
        // These arguments count at the root only, and may be anything elsewhere.
        let is_root = is_root(comm, root);
        let mut infos_c = List::<Info>::new(if is_root { infos } else { null_mut() }, || length(count));
        let mut intercomm_c = Place::<Comm>::out(intercomm);
        let (infos, made) = (infos_c.ptr(), intercomm_c.ptr());
        // SAFETY: the root has as many numbers as it says.
        let asked = asked_by_root(comm, root, || unsafe { sum(maxprocs, length(count)) });
        let code = c::oxmpi_Comm_spawn_multiple(count, commands, argvs, maxprocs, infos, root, comm, made, codes);
        put_codes(codes, asked);
        intercomm_c.put();
        answer(code)
    }
}

// ---- tools ----

/// The handle that a variable of the tools' interface is bound to: OxMPI's, in a variable.
struct Bound(usize);

impl Bound {
    /// # Safety
    /// `theirs` is null or the place of a handle of the kind that `bind` says.
    unsafe fn new(bind: c_int, theirs: *mut c_void) -> Bound {
        if theirs.is_null() {
            return Bound(0);
        }
        // SAFETY: it is the place of such a handle, by this function's condition.
        unsafe {
            let handle = || *theirs.cast::<TheirHandle>();
            Bound(match bind {
                MPI_T_BIND_MPI_COMM => Comm::ours(handle()).0,
                MPI_T_BIND_MPI_DATATYPE => Datatype::ours(handle()).0,
                MPI_T_BIND_MPI_ERRHANDLER => Errhandler::ours(handle()).0,
                MPI_T_BIND_MPI_FILE => File::ours(*theirs.cast()).0,
                MPI_T_BIND_MPI_GROUP => Group::ours(handle()).0,
                MPI_T_BIND_MPI_OP => Op::ours(handle()).0,
                MPI_T_BIND_MPI_REQUEST => Request::ours(handle()).0,
                MPI_T_BIND_MPI_WIN => Win::ours(handle()).0,
                MPI_T_BIND_MPI_MESSAGE => Message::ours(handle()).0,
                MPI_T_BIND_MPI_INFO => Info::ours(handle()).0,
                MPI_T_BIND_MPI_SESSION => Session::ours(handle()).0,
                // A variable without an object, or one that does not exist: the handle is not looked at.
                _ => 0,
            })
        }
    }

    fn ptr(&mut self, theirs: *mut c_void) -> *mut c_void {
        if theirs.is_null() { theirs } else { (&raw mut self.0).cast() }
    }
}

entry! {
    MPI_T_cvar_handle_alloc PMPI_T_cvar_handle_alloc(
        index: c_int,
        object: *mut c_void,
        handle: *mut TCvarHandle,
        count: *mut c_int,
    ) -> c_int {
        let (none, mut bind) = (null_mut::<c_int>(), MPI_T_BIND_NO_OBJECT);
        let (text, datatype, enumtype) = (null_mut(), null_mut(), null_mut());
        let code = c::oxmpi_T_cvar_get_info(index, text, none, none, datatype, enumtype, text, none, &mut bind, none);
        if code != MPI_SUCCESS {
            return answer(code);
        }
        let mut bound = Bound::new(bind, object);
        answer(c::oxmpi_T_cvar_handle_alloc(index, bound.ptr(object), handle, count))
    }
}

entry! {
    MPI_T_pvar_handle_alloc PMPI_T_pvar_handle_alloc(
        session: TPvarSession,
        index: c_int,
        object: *mut c_void,
        handle: *mut TPvarHandle,
        count: *mut c_int,
    ) -> c_int {
        let (none, mut bind) = (null_mut::<c_int>(), MPI_T_BIND_NO_OBJECT);
        let (text, datatype, enumtype) = (null_mut(), null_mut(), null_mut());
        let code = c::oxmpi_T_pvar_get_info(
            index, text, none, none, none, datatype, enumtype, text, none, &mut bind, none, none, none,
        );
        if code != MPI_SUCCESS {
            return answer(code);
        }
        let mut bound = Bound::new(bind, object);
        answer(c::oxmpi_T_pvar_handle_alloc(session, index, bound.ptr(object), handle, count))
    }
}

entry! {
    MPI_T_event_handle_alloc PMPI_T_event_handle_alloc(
        index: c_int,
        object: *mut c_void,
        info: TheirHandle,
        registration: *mut TEventRegistration,
    ) -> c_int {
        let (none, mut bind) = (null_mut::<c_int>(), MPI_T_BIND_NO_OBJECT);
        let (text, types, displacements) = (null_mut(), null_mut(), null_mut());
        let code = c::oxmpi_T_event_get_info(
            index, text, none, none, types, displacements, none, null_mut(), null_mut(), text, none, &mut bind,
        );
        if code != MPI_SUCCESS {
            return answer(code);
        }
        let mut bound = Bound::new(bind, object);
        answer(c::oxmpi_T_event_handle_alloc(index, bound.ptr(object), Info::ours(info), registration))
    }
}

entry! {
    MPI_T_event_get_info PMPI_T_event_get_info(
        index: c_int,
        name: *mut c_char,
        name_len: *mut c_int,
        verbosity: *mut c_int,
        datatypes: *mut TheirHandle,
        displacements: *mut i64,
        elements: *mut c_int,
        enumtype: *mut TEnum,
        info: *mut TheirHandle,
        desc: *mut c_char,
        desc_len: *mut c_int,
        bind: *mut c_int,
    ) -> c_int {
        let mut verbosity_c = Place::<Verbosity>::out(verbosity);
        let mut info_c = Place::<Info>::out(info);
        let mut bind_c = Place::<Binding>::out(bind);
        let room = if elements.is_null() { 0 } else { length(*elements) };
        let mut types = vec![MPI_DATATYPE_NULL; room];
        let code = c::oxmpi_T_event_get_info(
            index,
            name,
            name_len,
            verbosity_c.ptr(),
            if datatypes.is_null() { null_mut() } else { types.as_mut_ptr() },
            displacements,
            elements,
            enumtype,
            info_c.ptr(),
            desc,
            desc_len,
            bind_c.ptr(),
        );
        verbosity_c.put();
        info_c.put();
        bind_c.put();
        if code == MPI_SUCCESS && !datatypes.is_null() {
            for (i, ours) in types.iter().enumerate().filter(|(_, ours)| **ours != MPI_DATATYPE_NULL) {
                *datatypes.add(i) = Datatype::theirs(*ours);
            }
        }
        answer(code)
    }
}
