//! Files: opening, closing, deleting, queries, resizing; hints, views and file pointers.

use crate::args::{Out, OutInt, OutText};
use crate::call::Call;
use crate::library::LIBRARY;
use oxmpi::datatype as types;
use oxmpi::file::agree::{Among, agree};
use oxmpi::file::open::{self, OpenArgs};
use oxmpi::file::view::ViewArgs;
use oxmpi::file::{hints, view};
use oxmpi::group;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Datatype, File, Group as GroupHandle, Info as InfoHandle};
use oxmpi_abi::types::Offset;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_core::group::Group;
use oxmpi_io::{Mode, View};
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;

pub fn file_open(cx: &Call, comm: Comm, filename: &[u8], amode: c_int, info: InfoHandle) -> Result<File> {
    cx.note(comm);
    let mut guard = cx.enter()?;
    open::check_comm(&guard, comm)?;
    let args = || {
        let (hints, permissions) = hints::opening(&LIBRARY.info(info)?)?;
        let name = filename;
        Ok(OpenArgs { name, mode: Mode::new(amode)?, hints, permissions })
    };
    open::open(cx, &mut guard, comm, args())
}

pub fn file_close(cx: &Call, fh: &Cell<File>) -> Result<()> {
    let handle = fh.get();
    cx.enter()?.file(handle)?;
    let closed = open::close(cx, handle);
    if cx.enter()?.file(handle).is_err() {
        fh.set(MPI_FILE_NULL);
    }
    closed
}

pub fn file_delete(cx: &Call, filename: &[u8], info: InfoHandle) -> Result<()> {
    cx.enter()?;
    LIBRARY.info(info)?;
    oxmpi_io::delete(filename)
}

// ---- size ----

pub fn file_set_size(cx: &Call, fh: File, size: Offset) -> Result<()> {
    resize(cx, fh, size, oxmpi_io::File::set_size)
}

pub fn file_preallocate(cx: &Call, fh: File, size: Offset) -> Result<()> {
    resize(cx, fh, size, oxmpi_io::File::preallocate)
}

/// The first process resizes the file, once all have arrived.
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

pub fn file_get_size(cx: &Call, fh: File) -> Result<Offset> {
    let found = cx.enter()?.file(fh)?.io.size()?;
    Ok(found as Offset)
}

// ---- arguments of the open call ----

pub fn file_get_group(cx: &Call, fh: File) -> Result<GroupHandle> {
    let mut guard = cx.enter()?;
    let of = &guard.file(fh)?.group;
    let copy = Group::new(of.ranks().clone(), of.session);
    group::add(&mut guard, copy)
}

pub fn file_get_amode(cx: &Call, fh: File) -> Result<c_int> {
    let bits = cx.enter()?.file(fh)?.io.mode.bits();
    Ok(bits)
}

pub fn file_set_info(cx: &Call, fh: File, info: InfoHandle) -> Result<()> {
    hints::set(cx, fh, LIBRARY.info(info))
}

pub fn file_get_info(cx: &Call, fh: File) -> Result<InfoHandle> {
    let guard = cx.enter()?;
    let used = hints::in_force(guard.file(fh)?)?;
    LIBRARY.add_info(used)
}

// ---- views ----

pub fn file_set_view(
    cx: &Call,
    fh: File,
    disp: Offset,
    etype: Datatype,
    filetype: Datatype,
    datarep: &[u8],
    info: InfoHandle,
) -> Result<()> {
    let args = ViewArgs { disp, etype, filetype, datarep, hints: LIBRARY.info(info) };
    view::set(cx, fh, args)
}

pub fn file_get_view(
    cx: &Call,
    fh: File,
    etype: Out<Datatype>,
    filetype: Out<Datatype>,
    datarep: OutText,
) -> Result<Offset> {
    let mut guard = cx.enter()?;
    let view = Arc::clone(&guard.file(fh)?.view);
    etype.check("etype")?;
    filetype.check("filetype")?;
    datarep.check("datarep")?;
    etype.set(types::handle_of(&mut guard, &view.etype)?);
    filetype.set(types::handle_of(&mut guard, &view.filetype)?);
    datarep.set(view.representation.name().as_ref());
    Ok(view.disp)
}

pub fn file_get_type_extent(cx: &Call, fh: File, datatype: Datatype, extent: OutInt) -> Result<()> {
    let mut guard = cx.enter()?;
    let view = Arc::clone(&guard.file(fh)?.view);
    let datatype = Arc::clone(guard.datatype(datatype)?);
    let found = view::in_file(&mut guard, &view, &datatype)?.extent();
    let value = i64::try_from(found).unwrap_or(MPI_UNDEFINED.into());
    if !extent.set(value, "extent")? {
        bail!(MPI_ERR_VALUE_TOO_LARGE, "the extent {value} does not fit");
    }
    Ok(())
}

// ---- file pointers ----

pub fn file_seek(cx: &Call, fh: File, offset: Offset, whence: c_int) -> Result<()> {
    let mut guard = cx.enter()?;
    guard.file(fh)?.io.check_random()?;
    let from = Whence::new(whence)?;
    let view = view::view(&mut guard, fh)?;
    let file = guard.file_mut(fh)?;
    file.position = from.position(offset, file.position, &file.io, &view)?;
    Ok(())
}

pub fn file_get_position(cx: &Call, fh: File) -> Result<Offset> {
    let guard = cx.enter()?;
    let file = guard.file(fh)?;
    file.io.check_random()?;
    Ok(file.position)
}

pub fn file_get_byte_offset(cx: &Call, fh: File, offset: Offset) -> Result<Offset> {
    let place = view::view(&mut cx.enter()?, fh)?.byte_offset(offset)?;
    Ok(place)
}

pub fn file_seek_shared(cx: &Call, fh: File, offset: Offset, whence: c_int) -> Result<()> {
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

pub fn file_get_position_shared(cx: &Call, fh: File) -> Result<Offset> {
    let guard = cx.enter()?;
    let file = guard.file(fh)?;
    file.io.check_random()?;
    file.shared.get()
}

/// The origin of a seek.
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

pub fn file_set_atomicity(cx: &Call, fh: File, flag: c_int) -> Result<()> {
    let mut guard = cx.enter()?;
    let file = guard.file(fh)?;
    let (among, atomic) = (Among::File(fh), flag != 0);
    let idle = file.check_idle();
    agree(cx, &mut guard, among, idle, [("flag", u64::from(atomic))])?;
    guard.file_mut(fh)?.atomic = atomic;
    Ok(())
}

pub fn file_get_atomicity(cx: &Call, fh: File) -> Result<bool> {
    Ok(cx.enter()?.file(fh)?.atomic)
}

pub fn file_sync(cx: &Call, fh: File) -> Result<()> {
    open::sync(cx, fh)
}
