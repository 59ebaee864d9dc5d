//! What parallel debuggers find in a rank to show its message queues with `liboxmpi_msgq.so`. It is written once, when MPI
//! starts.

use crate::comm::Comms;
use crate::engine::Engine;
use crate::process::Process;
use crate::request::Request;
use crate::window::Win;
use oxmpi_base::ids::WorldRank;
use oxmpi_base::message_queues::{Layout, Published};
use oxmpi_base::orphan;
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed, Ordering::Release};

/// The path of the library that shows the message queues, as text of C; without a folder until MPI starts.
#[expect(unsafe_code, reason = "debuggers find it by this name")]
#[used]
#[unsafe(no_mangle)]
pub static MPIR_dll_name: [AtomicU8; PATH] = {
    let mut name = [const { AtomicU8::new(0) }; PATH];
    let mut at = 0;
    while at < LIBRARY.len() {
        name[at] = AtomicU8::new(LIBRARY.as_bytes()[at]);
        at += 1;
    }
    name
};

#[expect(unsafe_code, reason = "the debugger's library finds it by this name")]
#[used]
#[unsafe(no_mangle)]
pub static oxmpi_message_queues: Published = Published::new();

const LIBRARY: &str = "liboxmpi_msgq.so";
const PATH: usize = 1024;

/// Shows the queues of a process, whose state stays at this address. Only the first process of a test with several is shown.
pub(crate) fn publish(process: &Process, address: usize) {
    static LAYOUT: OnceLock<Layout> = OnceLock::new();
    LAYOUT.get_or_init(|| {
        show_library();
        layout(process, address)
    });
    let layout = LAYOUT.get().map_or(std::ptr::null(), std::ptr::from_ref);
    oxmpi_message_queues.layout.store(layout.cast_mut(), Release);
}

fn layout(process: &Process, address: usize) -> Layout {
    let nodes = process.engine.node().nodes();
    let mut slot_ranks = Vec::new();
    for (rank, slot) in nodes.on_this_node() {
        let needed = slot_ranks.len().max(slot.index() + 1);
        slot_ranks.resize(needed, u32::MAX);
        slot_ranks[slot.index()] = WorldRank::index(rank) as u32;
    }
    let (posted, unexpected, ops) = Engine::places(offset_of!(Process, engine));
    Layout {
        process: address as u64,
        slots: slot_ranks.len() as u32,
        // Kept for ever, as the state is.
        slot_ranks: slot_ranks.leak().as_ptr().addr() as u64,
        world_size: nodes.size() as u32,
        comms: Comms::place(offset_of!(Process, comms)),
        posted,
        unexpected,
        ops,
        requests: Request::place(offset_of!(Process, requests)),
        windows: Win::place(offset_of!(Process, windows)),
    }
}

/// Puts the folder of this installation before the name of the library.
fn show_library() {
    let folder = orphan::own_file().and_then(|file| Some(file.parent()?.join("oxmpi")));
    let Some(path) = folder.map(|folder| folder.join(LIBRARY)) else { return };
    let path = path.as_os_str().as_bytes();
    if path.len() < PATH {
        let ended = path.iter().chain(&[0]);
        MPIR_dll_name.iter().zip(ended).for_each(|(byte, &value)| byte.store(value, Relaxed));
    }
}
