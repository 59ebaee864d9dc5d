//! The files of a program.

use super::file::{FileKind, FileUse, LENGTH};
use super::perform::{Runner, Seen};
use super::resolve::View as CommView;
use oxmpi::file::access::{Access, At, perform, start};
use oxmpi::file::open::{OpenArgs, close, open};
use oxmpi::file::view::{self, ViewArgs};
use oxmpi_abi::constants::*;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{Comm, Datatype as Handle, File};
use oxmpi_abi::{Error, Result};
use oxmpi_core::call::{Call, On};
use oxmpi_core::info::Info;
use oxmpi_datatype::Datatype;
use oxmpi_io::Mode;
use std::mem::ManuallyDrop;
use std::sync::Arc;

impl Runner<'_> {
    pub(super) fn file(&mut self, step: usize, comm: Comm, what: &FileUse, view: &CommView) -> Result<()> {
        let name = format!("{}/{step}", self.dir);
        let (me, ranks) = (view.me, view.near.len());
        let call = self.rank.call_on(Fun::FileOpen, comm);
        let mode = Mode::new(MPI_MODE_RDWR | MPI_MODE_CREATE)?;
        let mut hints = Info::new();
        if what.buffered {
            hints.set(b"collective_buffering", b"true")?;
            hints.set(b"cb_buffer_size", b"4096")?;
        }
        let args = OpenArgs { name: name.as_bytes(), mode, hints, permissions: 0o600 };
        let fh = open(&call, &mut call.enter()?, comm, Ok(args))?;
        let mut seen = match what.shared {
            true => self.write_shared(step, comm, fh, what, view)?,
            false => self.use_own_view(step, fh, what, view)?,
        };
        close(&Call::new(self.rank.library, Fun::FileClose, On::File(fh)), fh)?;
        if me == 0 {
            let unreadable = |error| Error::new(MPI_ERR_IO, format!("{name} cannot be read: {error}"));
            let bytes = std::fs::read(&name).map_err(unreadable)?;
            let words = bytes.chunks_exact(4).map(|word| i32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
            let mut numbers: Vec<i32> = words.collect();
            if what.shared {
                what.sort_records(step, ranks, &mut numbers);
            }
            seen.extend(numbers);
        }
        self.note(step, Seen::Numbers(seen));
        Ok(())
    }

    /// Every rank has its own blocks in the file.
    fn use_own_view(&self, step: usize, fh: File, what: &FileUse, view: &CommView) -> Result<Vec<i32>> {
        let (block, stride) = (what.block.max(1) as i64, what.stride(view.near.len()) as i64);
        self.set_view(fh, view.me as i64 * block * 4, |int| {
            Datatype::resized(&Datatype::contiguous(block, int)?, 0, stride * 4)
        })?;
        // So that no rank reads beyond the end.
        self.access(fh, At::Offset(0), true, true, &mut [0; LENGTH])?;
        let mut seen = Vec::new();
        for action in what.own_actions(step, view.me) {
            // A rank that dies leaves its helper thread behind, which may still use the memory of an access. (A real
            // process takes the thread with it.) So the memory is freed only after the access.
            let mut numbers = ManuallyDrop::new(action.numbers);
            let at = match action.kind {
                FileKind::Write => At::Own,
                _ => At::Offset(action.offset as i64),
            };
            let writes = action.kind != FileKind::ReadAt;
            if action.request {
                self.access_with_request(fh, at, writes, action.together, &mut numbers)?;
            } else {
                self.access(fh, at, writes, action.together, &mut numbers)?;
            }
            let numbers = ManuallyDrop::into_inner(numbers);
            if !writes {
                seen.extend(numbers);
            }
        }
        Ok(seen)
    }

    fn write_shared(&self, step: usize, comm: Comm, fh: File, what: &FileUse, view: &CommView) -> Result<Vec<i32>> {
        self.set_view(fh, 0, |int| Ok(Arc::clone(int)))?;
        for index in 0..what.actions.len() {
            let (ordered, mut numbers) = what.shared_action(step, index, view.me);
            let at = if ordered { At::Ordered } else { At::Shared };
            self.access(fh, at, true, ordered, &mut numbers)?;
            self.barrier(comm)?;
        }
        Ok(Vec::new())
    }

    fn set_view(&self, fh: File, disp: i64, filetype: impl Fn(&Arc<Datatype>) -> Result<Arc<Datatype>>) -> Result<()> {
        let call = Call::new(self.rank.library, Fun::FileSetView, On::File(fh));
        let filetype = {
            let mut guard = call.enter()?;
            let filetype = filetype(guard.datatype(MPI_INT)?)?;
            filetype.commit()?;
            Handle(guard.types.insert(filetype))
        };
        let hints = Ok(Info::new());
        let set = view::set(&call, fh, ViewArgs { disp, etype: MPI_INT, filetype, datarep: b"native", hints });
        call.enter()?.types.remove(filetype.0);
        set
    }

    /// The same with a request. Of its numbers, those that it moved are checked later.
    fn access_with_request(&self, fh: File, at: At, writes: bool, together: bool, numbers: &mut [i32]) -> Result<()> {
        let call = Call::new(self.rank.library, Fun::FileIwrite, On::File(fh));
        let (buf, count) = (numbers.as_mut_ptr().cast(), numbers.len() as i64);
        let access = Access { fh, at, writes, together, buf, count, datatype: MPI_INT };
        // SAFETY: the numbers live until the request is complete, or failed.
        let request = unsafe { start(&call, access) }?;
        self.wait(request)
    }

    /// An access that moves all its numbers.
    fn access(&self, fh: File, at: At, writes: bool, together: bool, numbers: &mut [i32]) -> Result<()> {
        let call = Call::new(self.rank.library, Fun::FileWrite, On::File(fh));
        let (buf, count) = (numbers.as_mut_ptr().cast(), numbers.len() as i64);
        let access = Access { fh, at, writes, together, buf, count, datatype: MPI_INT };
        // SAFETY: the numbers live longer than the access, which is complete when it returns.
        let moved = unsafe { perform(&call, access) }?.bytes();
        if moved != numbers.len() as u64 * 4 {
            let text = format!("{moved} bytes were moved instead of those of {} numbers", numbers.len());
            return Err(Error::new(MPI_ERR_IO, text));
        }
        Ok(())
    }
}
