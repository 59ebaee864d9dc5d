//! Files: opened, closed, deleted, asked about, resized; their hints, views and file pointers.

use super::groups;
use super::{check_place, store, text};
use crate::args::OutInt;
use crate::call::Call;
use crate::infos;
use oxmpi::datatype as types;
use oxmpi::file::agree::{Among, agree, tell_pointer};
use oxmpi::file::open::{self, OpenArgs};
use oxmpi::file::{datarep as datareps, hints, view};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Datatype, File, Group as GroupHandle, Info as InfoHandle};
use oxmpi_abi::types::Offset;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_core::group::Group;
use oxmpi_io::{Mode, Representation, View};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

pub unsafe fn file_open(
    cx: &Call,
    comm: Comm,
    filename: *const c_char,
    amode: c_int,
    info: InfoHandle,
    fh: *mut File,
) -> Result<()> {
    let mut guard = cx.enter()?;
    open::check_comm(&guard, comm)?;
    check_place(fh, "fh")?;
    let args = || {
        let (hints, permissions) = hints::opening(&infos::get(info)?)?;
        // SAFETY: null or a string.
        let name = unsafe { text(filename, "filename")? };
        Ok(OpenArgs { name, mode: Mode::new(amode)?, hints, permissions })
    };
    let opened = open::open(cx, &mut guard, comm, args())?;
    // SAFETY: checked.
    unsafe { store(fh, opened, "fh") }
}

pub unsafe fn file_close(cx: &Call, fh: *mut File) -> Result<()> {
    check_place(fh, "fh")?;
    // SAFETY: checked.
    let handle = unsafe { fh.read() };
    cx.enter()?.file(handle)?;
    let closed = open::close(cx, handle);
    if cx.enter()?.file(handle).is_err() {
        // SAFETY: checked.
        unsafe { store(fh, MPI_FILE_NULL, "fh")? };
    }
    closed
}

pub unsafe fn file_delete(cx: &Call, filename: *const c_char, info: InfoHandle) -> Result<()> {
    cx.enter()?;
    infos::get(info)?;
    // SAFETY: null or a string.
    oxmpi_io::delete(unsafe { text(filename, "filename")? })
}

// ---- size ----

pub unsafe fn file_set_size(cx: &Call, fh: File, size: Offset) -> Result<()> {
    resize(cx, fh, size, oxmpi_io::File::set_size)
}

pub unsafe fn file_preallocate(cx: &Call, fh: File, size: Offset) -> Result<()> {
    resize(cx, fh, size, oxmpi_io::File::preallocate)
}

/// The first process does it, once all have come.
fn resize(cx: &Call, fh: File, size: Offset, how: impl FnOnce(&oxmpi_io::File, u64) -> Result<()>) -> Result<()> {
    let mut guard = cx.enter()?;
    let file = guard.file(fh)?;
    let (among, io) = (Among::File(fh), Arc::clone(&file.io));
    let good = io.check_random().and_then(|()| io.check_access(true)).and_then(|()| file.check_idle()).and_then(|()| {
        if size < 0 {
            bail!(MPI_ERR_ARG, "the size is {size}, which is negative");
        }
        Ok(())
    });
    agree(cx, &mut guard, among, good, [("size", size as u64)])?;
    let first = guard.file(fh)?.comm.rank == 0;
    let done = if first { guard.unlocked(|_| how(&io, size as u64)) } else { Ok(()) };
    agree(cx, &mut guard, among, done, [])
}

pub unsafe fn file_get_size(cx: &Call, fh: File, size: *mut Offset) -> Result<()> {
    let found = cx.enter()?.file(fh)?.io.size()?;
    // SAFETY: null or may be written.
    unsafe { store(size, found as Offset, "size") }
}

// ---- what it was opened with ----

pub unsafe fn file_get_group(cx: &Call, fh: File, group: *mut GroupHandle) -> Result<()> {
    let mut guard = cx.enter()?;
    let of = &guard.file(fh)?.group;
    let copy = Group::new(of.ranks().clone(), of.session);
    // SAFETY: null or may be written.
    unsafe { groups::give(&mut guard, copy, group, "group") }
}

pub unsafe fn file_get_amode(cx: &Call, fh: File, amode: *mut c_int) -> Result<()> {
    let bits = cx.enter()?.file(fh)?.io.mode.bits();
    // SAFETY: null or may be written.
    unsafe { store(amode, bits, "amode") }
}

pub unsafe fn file_set_info(cx: &Call, fh: File, info: InfoHandle) -> Result<()> {
    let mut guard = cx.enter()?;
    let file = guard.file_mut(fh)?;
    hints::update(&mut file.hints, &infos::get(info)?)
}

pub unsafe fn file_get_info(cx: &Call, fh: File, info_used: *mut InfoHandle) -> Result<()> {
    let guard = cx.enter()?;
    let used = hints::in_force(guard.file(fh)?)?;
    check_place(info_used, "info_used")?;
    // SAFETY: checked.
    unsafe { store(info_used, infos::add(used)?, "info_used") }
}

// ---- views ----

pub unsafe fn file_set_view(
    cx: &Call,
    fh: File,
    disp: Offset,
    etype: Datatype,
    filetype: Datatype,
    datarep: *const c_char,
    info: InfoHandle,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let file = guard.file(fh)?;
    let (among, io, shared, before) =
        (Among::File(fh), Arc::clone(&file.io), Arc::clone(&file.shared), Arc::clone(&file.view));
    let sequential = io.mode.is_sequential();
    // Of a file that is accessed sequentially, the displacement is known when all have come.
    let make = || {
        file.check_idle()?;
        match (disp, sequential) {
            (MPI_DISPLACEMENT_CURRENT, false) => {
                bail!(MPI_ERR_ARG, "MPI_DISPLACEMENT_CURRENT is for files that are opened with MPI_MODE_SEQUENTIAL");
            }
            (MPI_DISPLACEMENT_CURRENT, true) | (_, false) => {}
            (_, true) => bail!(
                MPI_ERR_UNSUPPORTED_OPERATION,
                "\"{}\" was opened with MPI_MODE_SEQUENTIAL; the displacement must be MPI_DISPLACEMENT_CURRENT",
                io.show()
            ),
        }
        let (etype, filetype) = (guard.datatype(etype)?, guard.datatype(filetype)?);
        // SAFETY: null or a string.
        let representation = datareps::find(cx.library(), unsafe { text(datarep, "datarep")? })?;
        let hints = infos::get(info)?;
        let view = View::new(if sequential { 0 } else { disp }, etype, filetype, representation, io.mode.writes())?;
        if sequential && !view.is_dense() {
            bail!(MPI_ERR_TYPE, "a file that is opened with MPI_MODE_SEQUENTIAL cannot have a filetype with gaps");
        }
        // The program's own functions are not asked before there is something to convert.
        let extent = match &view.representation {
            Representation::Users(_) => view.etype.extent(),
            other => other.lay_out(&view.etype)?.extent(),
        } as u64;
        Ok((view, hints, extent))
    };
    let made = make();
    let extent = made.as_ref().map_or(0, |(.., extent)| *extent);
    let name = made.as_ref().map_or(0, |(view, ..)| view.representation.key());
    let same = [("data representation", name), ("extent of the etype", extent)];
    let (mut view, hints, _) = agree(cx, &mut guard, among, made, same)?;

    // The first process sets the shared pointer back, and nobody goes on before.
    let first = guard.file(fh)?.comm.rank == 0;
    let at = if first { shared.get().and_then(|at| shared.set(0).map(|()| at)) } else { Ok(0) };
    let at = tell_pointer(cx, &mut guard, among, at)?;
    if sequential {
        view::lay_out(&mut guard, &before)?;
        view = view.moved(before.byte_offset(at)?)?;
    }
    let file = guard.file_mut(fh)?;
    file.view = Arc::new(view);
    file.position = 0;
    hints::update(&mut file.hints, &hints)
}

pub unsafe fn file_get_view(
    cx: &Call,
    fh: File,
    disp: *mut Offset,
    etype: *mut Datatype,
    filetype: *mut Datatype,
    datarep: *mut c_char,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let view = Arc::clone(&guard.file(fh)?.view);
    check_place(disp, "disp")?;
    check_place(etype, "etype")?;
    check_place(filetype, "filetype")?;
    check_place(datarep, "datarep")?;
    let name = view.representation.name();
    // SAFETY: checked; the string has room for MPI_MAX_DATAREP_STRING, and no name is longer.
    unsafe {
        store(disp, view.disp, "disp")?;
        store(etype, types::handle_of(&mut guard, &view.etype)?, "etype")?;
        store(filetype, types::handle_of(&mut guard, &view.filetype)?, "filetype")?;
        datarep.cast::<u8>().copy_from_nonoverlapping(name.as_ptr(), name.len());
        datarep.add(name.len()).write(0);
    }
    Ok(())
}

pub unsafe fn file_get_type_extent(cx: &Call, fh: File, datatype: Datatype, extent: OutInt) -> Result<()> {
    let mut guard = cx.enter()?;
    let view = Arc::clone(&guard.file(fh)?.view);
    let datatype = Arc::clone(guard.datatype(datatype)?);
    let found = view::in_file(&mut guard, &view, &datatype)?.extent();
    if extent.is_null() {
        return Err(super::null_pointer("extent"));
    }
    let value = i64::try_from(found).unwrap_or(MPI_UNDEFINED.into());
    // SAFETY: not null.
    if !unsafe { extent.set(value) } {
        bail!(MPI_ERR_VALUE_TOO_LARGE, "the extent {value} does not fit");
    }
    Ok(())
}

// ---- file pointers ----

pub unsafe fn file_seek(cx: &Call, fh: File, offset: Offset, whence: c_int) -> Result<()> {
    let mut guard = cx.enter()?;
    guard.file(fh)?.io.check_random()?;
    let from = Whence::new(whence)?;
    let view = view::view(&mut guard, fh)?;
    let file = guard.file_mut(fh)?;
    file.position = from.position(offset, file.position, &file.io, &view)?;
    Ok(())
}

pub unsafe fn file_get_position(cx: &Call, fh: File, offset: *mut Offset) -> Result<()> {
    let guard = cx.enter()?;
    let file = guard.file(fh)?;
    file.io.check_random()?;
    // SAFETY: null or may be written.
    unsafe { store(offset, file.position, "offset") }
}

pub unsafe fn file_get_byte_offset(cx: &Call, fh: File, offset: Offset, disp: *mut Offset) -> Result<()> {
    let place = view::view(&mut cx.enter()?, fh)?.byte_offset(offset)?;
    // SAFETY: null or may be written.
    unsafe { store(disp, place, "disp") }
}

pub unsafe fn file_seek_shared(cx: &Call, fh: File, offset: Offset, whence: c_int) -> Result<()> {
    let mut guard = cx.enter()?;
    let file = guard.file(fh)?;
    let (among, io) = (Among::File(fh), Arc::clone(&file.io));
    let shared = Arc::clone(&file.shared);
    let good = io.check_random().and_then(|()| file.check_idle()).and_then(|()| Whence::new(whence));
    let good = good.and_then(|from| Ok((from, view::view(&mut guard, fh)?)));
    let same = [("offset", offset as u64), ("whence", whence as u32 as u64)];
    let (from, view) = agree(cx, &mut guard, among, good, same)?;
    let moved = match guard.file(fh)?.comm.rank {
        0 => from.position(offset, shared.get()?, &io, &view).and_then(|position| shared.set(position)),
        _ => Ok(()),
    };
    agree(cx, &mut guard, among, moved, [])
}

pub unsafe fn file_get_position_shared(cx: &Call, fh: File, offset: *mut Offset) -> Result<()> {
    let guard = cx.enter()?;
    let file = guard.file(fh)?;
    file.io.check_random()?;
    // SAFETY: null or may be written.
    unsafe { store(offset, file.shared.get()?, "offset") }
}

/// From where a file pointer is moved.
#[derive(Clone, Copy)]
enum Whence {
    Start,
    Current,
    End,
}

impl Whence {
    fn new(whence: c_int) -> Result<Whence> {
        match whence {
            MPI_SEEK_SET => Ok(Whence::Start),
            MPI_SEEK_CUR => Ok(Whence::Current),
            MPI_SEEK_END => Ok(Whence::End),
            _ => bail!(MPI_ERR_ARG, "whence is {whence}; it must be MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END"),
        }
    }

    fn position(self, offset: i64, current: i64, io: &oxmpi_io::File, view: &View) -> Result<i64> {
        let from = match self {
            Whence::Start => 0,
            Whence::Current => current,
            Whence::End => view.end(io.size()?),
        };
        match from.checked_add(offset) {
            Some(position) if position >= 0 => Ok(position),
            Some(position) => Err(Error::new(MPI_ERR_ARG, format!("the file pointer would move to {position}"))),
            None => Err(Error::new(MPI_ERR_ARG, format!("the file pointer cannot move by {offset} from {from}"))),
        }
    }
}

// ---- consistency ----

pub unsafe fn file_set_atomicity(cx: &Call, fh: File, flag: c_int) -> Result<()> {
    let mut guard = cx.enter()?;
    let file = guard.file(fh)?;
    let (among, atomic) = (Among::File(fh), flag != 0);
    let idle = file.check_idle();
    agree(cx, &mut guard, among, idle, [("flag", u64::from(atomic))])?;
    guard.file_mut(fh)?.atomic = atomic;
    Ok(())
}

pub unsafe fn file_get_atomicity(cx: &Call, fh: File, flag: *mut c_int) -> Result<()> {
    let atomic = cx.enter()?.file(fh)?.atomic;
    // SAFETY: null or may be written.
    unsafe { store(flag, c_int::from(atomic), "flag") }
}

pub unsafe fn file_sync(cx: &Call, fh: File) -> Result<()> {
    let mut guard = cx.enter()?;
    let file = guard.file(fh)?;
    let (among, io) = (Among::File(fh), Arc::clone(&file.io));
    let idle = file.check_idle();
    let synced = idle.and_then(|()| guard.unlocked(|_| io.sync()));
    agree(cx, &mut guard, among, synced, [])
}
