//! The same as text, for the commands of gdb (`gdb/libmpi_abi.so.1-gdb.py`), which have no other use for the interface.

use crate::interface::{Address, FetchData};
use crate::memory::{Memory, Result};
use crate::objects::{Request, State};
use crate::queues::{Comm, Operation, Rank};
use crate::{Answer, Debugged, NOT_STARTED, OK, WRONG_CALL};
use std::ffi::{CStr, c_char, c_int};
use std::fmt::Write;

/// Writes what the rank has of a kind of objects: `comms`, `queues`, `requests`, `windows`, or `handles`: a line for each
/// handle, with what it stands for. Text that does not fit is cut off.
///
/// # Safety
/// `fetch` reads the memory of the process in which the description is at `symbol`; `what` is a text of C; `into` has `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxmpi_show(
    fetch: FetchData,
    symbol: Address,
    what: *const c_char,
    into: *mut c_char,
    room: usize,
) -> c_int {
    let memory = Debugged { process: std::ptr::null_mut(), fetch };
    // SAFETY: the caller's text.
    match show(&memory, symbol, unsafe { CStr::from_ptr(what) }.to_bytes()) {
        Err(result) => result,
        Ok(_) if room == 0 => WRONG_CALL,
        Ok(text) => {
            let count = text.len().min(room - 1);
            // SAFETY: the caller has so much room; the text and the byte that ends it fit.
            unsafe {
                text.as_ptr().copy_to_nonoverlapping(into.cast(), count);
                into.add(count).write(0);
            }
            OK
        }
    }
}

fn show(memory: &dyn Memory, symbol: u64, what: &[u8]) -> Answer<String> {
    let rank = Rank::read(memory, symbol)?.ok_or(NOT_STARTED)?;
    let comms = rank.comms(memory)?;
    let mut text = String::new();
    // Writing to a text cannot fail.
    let _ = match what {
        b"comms" => comms.iter().try_for_each(|comm| writeln!(text, "{}", describe(comm, &rank))),
        b"queues" => {
            for comm in &comms {
                text.push_str(&queues(memory, &rank, comm)?);
            }
            Ok(())
        }
        b"requests" => rank
            .requests(memory, &comms)?
            .iter()
            .try_for_each(|found| writeln!(text, "{:#x}: {}", found.handle, request(found, &comms))),
        b"windows" => rank.windows(memory)?.iter().try_for_each(|window| {
            let name = String::from_utf8_lossy(&window.name).into_owned();
            let name = if name.is_empty() { format!("{:#x}", window.handle) } else { name };
            writeln!(
                text,
                "{name}: rank {} of {}, {} bytes at {:#x}, displacement unit {}, made by {}",
                window.rank, window.ranks, window.bytes, window.base, window.unit, window.made_by
            )
        }),
        b"handles" => {
            for comm in &comms {
                let _ = writeln!(text, "{:#x} {}", comm.handle, describe(comm, &rank));
            }
            for found in rank.requests(memory, &comms)? {
                let _ = writeln!(text, "{:#x} {}", found.handle, request(&found, &comms));
            }
            rank.windows(memory)?.iter().try_for_each(|window| {
                let name = String::from_utf8_lossy(&window.name);
                let name = if name.is_empty() { "window" } else { &name };
                writeln!(
                    text,
                    "{:#x} {name}: rank {} of {}, {} bytes",
                    window.handle, window.rank, window.ranks, window.bytes
                )
            })
        }
        _ => return Err(WRONG_CALL),
    };
    Ok(text)
}

fn name(comm: &Comm) -> String {
    String::from_utf8_lossy(&comm.name).into_owned()
}

fn describe(comm: &Comm, rank: &Rank) -> String {
    let mut text = format!("{}: rank {} of {}", name(comm), comm.rank, comm.members.len());
    let world = |&member| rank.world_rank(member).map_or("?".into(), |rank| rank.to_string());
    let members: Vec<String> = comm.members.iter().take(MOST_MEMBERS).map(world).collect();
    let more = if comm.members.len() > MOST_MEMBERS { " …" } else { "" };
    let _ = write!(text, ", ranks {}{more} of MPI_COMM_WORLD", members.join(" "));
    text
}

/// Members of a communicator that are named.
const MOST_MEMBERS: usize = 64;

fn queues(memory: &dyn Memory, rank: &Rank, comm: &Comm) -> Result<String> {
    let mut text = String::new();
    for send in rank.sends(memory, comm)? {
        let _ = writeln!(text, "  send to {}", message(&send));
    }
    for receive in rank.receives(memory, comm)? {
        let _ = writeln!(text, "  receive from {}", message(&receive));
    }
    for arrived in rank.unexpected(memory, comm)? {
        let _ = writeln!(text, "  arrived from {}", message(&arrived));
    }
    if text.is_empty() { Ok(text) } else { Ok(format!("{}:\n{text}", name(comm))) }
}

fn message(operation: &Operation) -> String {
    let any = |number: Option<i32>| number.map_or("any".into(), |number| number.to_string());
    let at = operation.buffer.map_or_else(String::new, |address| format!(" at {address:#x}"));
    format!("rank {}, tag {}, {} bytes{at}", any(operation.rank), any(operation.tag), operation.bytes)
}

fn request(request: &Request, comms: &[Comm]) -> String {
    let kind = if request.is_persistent { "persistent, " } else { "" };
    let state = match &request.state {
        State::Message(is_send, found) => {
            let what = if *is_send { "send" } else { "receive" };
            let way = if *is_send { "to" } else { "from" };
            match found.as_ref().and_then(|(comm, operation)| Some((comms.get(*comm)?, operation))) {
                Some((comm, operation)) => format!("{what} {way} {}, on {}", message(operation), name(comm)),
                None => format!("{what} whose message is under way"),
            }
        }
        State::Complete => "complete".into(),
        State::Inactive => "inactive".into(),
        State::Other(name) => (*name).into(),
    };
    format!("{kind}{state}")
}
