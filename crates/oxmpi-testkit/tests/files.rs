//! Files without C: opened together, written in turns, read back; a user-defined data
//! representation.

use oxmpi::file::access::{Access, At, perform};
use oxmpi::file::open::{OpenArgs, close, open};
use oxmpi::file::{datarep, view};
use oxmpi_abi::constants::*;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{Datatype, File};
use oxmpi_core::call::{Call, On};
use oxmpi_core::info::Info;
use oxmpi_io::{Conversion, Functions, Mode, View};
use oxmpi_testkit::world::{Rank, run_on_one_node};
use std::sync::Arc;

/// A file of the test, deleted at the end.
struct Path(String);

impl Path {
    fn new(name: &str) -> Path {
        let dir = std::env::temp_dir();
        Path(format!("{}/oxmpi-test-{name}-{}", dir.display(), std::process::id()))
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn open_file(me: &Rank, path: &Path) -> oxmpi_abi::Result<File> {
    let call = me.call(Fun::FileOpen);
    let mode = Mode::new(MPI_MODE_RDWR | MPI_MODE_CREATE)?;
    let args = OpenArgs { name: path.0.as_bytes(), mode, hints: Info::new(), permissions: 0o600 };
    open(&call, &mut call.enter()?, MPI_COMM_WORLD, Ok(args))
}

fn access(me: &Rank, fh: File, at: At, writes: bool, together: bool, numbers: &mut [i32]) -> usize {
    let call = Call::new(me.library, Fun::FileWrite, On::File(fh));
    let (buf, count) = (numbers.as_mut_ptr().cast(), numbers.len() as i64);
    let access = Access { fh, at, writes, together, buf, count, datatype: MPI_INT };
    // SAFETY: the numbers live longer than the access, which is complete when it returns.
    unsafe { perform(&call, access) }.unwrap().bytes() as usize
}

#[test]
fn ranks_read_back_what_they_wrote() {
    let path = Path::new("rw");
    run_on_one_node(3, |me| {
        let fh = open_file(me, &path).unwrap();
        // Each rank at its own offset, collectively.
        let mut own = [me.me as i32; 100];
        assert_eq!(access(me, fh, At::Offset(me.me as i64 * 400), true, true, &mut own), 400);
        // In rank order, with different lengths, at the shared file pointer.
        let mut turn = vec![10 + me.me as i32; me.me + 1];
        let shared = Arc::clone(&me.call(Fun::FileSeekShared).enter().unwrap().file(fh).unwrap().shared);
        if me.me == 0 {
            shared.set(1200).unwrap();
        }
        let call = me.call(Fun::Barrier);
        // SAFETY: no memory is involved.
        unsafe { oxmpi::coll::barrier(&call, oxmpi::coll::Blocking, MPI_COMM_WORLD).unwrap() };
        access(me, fh, At::Ordered, true, true, &mut turn);
        // SAFETY: no memory is involved.
        unsafe { oxmpi::coll::barrier(&call, oxmpi::coll::Blocking, MPI_COMM_WORLD).unwrap() };
        let mut all = vec![-1; 310];
        // Nothing is read beyond the end.
        assert_eq!(access(me, fh, At::Offset(0), false, false, &mut all), 306 * 4);
        let expected: Vec<i32> = (0..300).map(|i| i / 100).chain([10, 11, 11, 12, 12, 12]).chain([-1; 4]).collect();
        assert_eq!(all, expected);
        close(&Call::new(me.library, Fun::FileClose, On::File(fh)), fh).unwrap();
    });
}

#[test]
fn a_file_that_cannot_be_opened_is_an_error_everywhere() {
    let path = Path("/nonexistent/oxmpi".into());
    run_on_one_node(3, |me| {
        let error = open_file(me, &path).unwrap_err();
        assert_eq!(error.class(), MPI_ERR_NO_SUCH_FILE, "{error}");
    });
}

/// Stores numbers in reverse byte order, and twice as long.
struct Reversed;

impl Functions for Reversed {
    fn length(&self, datatype: Datatype) -> Result<i64, i32> {
        if datatype == MPI_INT { Ok(8) } else { Err(1) }
    }

    fn converts(&self, _writes: bool) -> bool {
        true
    }

    fn most_entries(&self) -> u64 {
        // Few, so that a conversion takes several calls.
        7
    }

    unsafe fn convert(&self, writes: bool, data: &Conversion) -> Result<(), i32> {
        for entry in 0..data.entries as usize {
            // SAFETY: memory and file hold these entries: this function's own condition.
            unsafe {
                let memory = data.memory.cast::<i32>().add(data.position as usize + entry);
                let file = data.file.cast::<i64>().add(entry);
                if writes {
                    file.write_unaligned(i64::from(memory.read()).swap_bytes());
                } else {
                    memory.write(file.read_unaligned().swap_bytes() as i32);
                }
            }
        }
        Ok(())
    }
}

#[test]
fn a_representation_of_the_program_converts() {
    let path = Path::new("datarep");
    run_on_one_node(2, |me| {
        datarep::register(me.library, b"reversed".to_vec(), Box::new(Reversed)).unwrap();
        let again = datarep::register(me.library, b"reversed".to_vec(), Box::new(Reversed));
        assert_eq!(again.unwrap_err().class(), MPI_ERR_DUP_DATAREP);
        let fh = open_file(me, &path).unwrap();
        let call = Call::new(me.library, Fun::FileSetView, On::File(fh));
        {
            let mut guard = call.enter().unwrap();
            let representation = datarep::find(me.library, b"reversed").unwrap();
            let int = Arc::clone(guard.datatype(MPI_INT).unwrap());
            guard.file_mut(fh).unwrap().view = Arc::new(View::new(0, &int, &int, representation, true).unwrap());
            assert_eq!(view::view(&mut guard, fh).unwrap().byte_offset(3).unwrap(), 24);
        }
        let calls = me.library.user_calls();
        let mut numbers: Vec<i32> = (0..20).map(|i| i * 3 + me.me as i32).collect();
        access(me, fh, At::Offset(me.me as i64 * 20), true, true, &mut numbers);
        assert_eq!(me.library.user_calls() - calls, 1 + 3, "the length once, then seven entries at a time");
        let mut back = vec![0; 20];
        access(me, fh, At::Offset(me.me as i64 * 20), false, true, &mut back);
        assert_eq!(back, numbers);
        close(&Call::new(me.library, Fun::FileClose, On::File(fh)), fh).unwrap();
    });
    let bytes = std::fs::read(&path.0).unwrap();
    assert_eq!(bytes.len(), 2 * 20 * 8);
    assert_eq!(bytes[8..16], 3i64.to_be_bytes());
}
