//! Which hints about collective buffering hold for a file, and the memory for it. The processes
//! agree on this when they open the file, and when they set a view or hints, so that no collective
//! access has to.

use super::agree::{Among, gather, participants};
use super::hints;
use crate::comm::run_agreement;
use oxmpi_abi::handle::File as Handle;
use oxmpi_abi::{Error, Result};
use oxmpi_base::arena::Area;
use oxmpi_base::ids::Rank;
use oxmpi_core::agreement::Participants;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::file::{Buffering, NodeStaging, Switch};
use oxmpi_core::ranks::Ranks;
use oxmpi_io::Staging;
use std::sync::Arc;

/// All processes adopt the hints of the first one, and find out how short the runs of their views
/// are. Collective over the file.
pub fn settle(call: &Call, guard: &mut Guard, fh: Handle) -> Result<()> {
    let file = guard.file(fh)?;
    let run = if file.view.is_laid_out() { file.view.average_run().unwrap_or(usize::MAX) } else { 0 };
    let own = hints::buffering(&file.hints, file.comm.group.len());
    if file.comm.group.len() == 1 {
        guard.file_mut(fh)?.buffering = own;
        return Ok(());
    }
    let words = [run as u64, own.write as u64, own.read as u64, own.aggregators as u64, own.window as u64, own.unit];
    let all = gather(call, guard, Among::File(fh), words)?;
    let switch = |word| match word {
        0 => Switch::Automatic,
        1 => Switch::Enabled,
        _ => Switch::Disabled,
    };
    let [_, write, read, aggregators, window, unit] = all[0];
    let mut agreed = Buffering {
        write: switch(write),
        read: switch(read),
        run: all.iter().map(|words| words[0] as usize).min().unwrap_or(0),
        processes: all.len(),
        aggregators: aggregators as usize,
        window: window as usize,
        unit,
        staging: guard.file(fh)?.buffering.staging.clone(),
    };
    let large_enough = agreed.staging.as_ref().is_some_and(|made| made.memory.window() >= agreed.window);
    if (agreed.is_wanted(true) || agreed.is_wanted(false)) && !large_enough {
        // Without the memory the processes access the file one by one, as before.
        if let Some(made) = make_staging(call, guard, fh, agreed.window)? {
            let old = agreed.staging.replace(made);
            guard.file_mut(fh)?.old_staging.extend(old);
        }
    }
    guard.file_mut(fh)?.buffering = agreed;
    Ok(())
}

/// The staging memory of this node; `None`, on all processes, when one of them cannot have it.
fn make_staging(call: &Call, guard: &mut Guard, fh: Handle, window: usize) -> Result<Option<Arc<NodeStaging>>> {
    let who = participants(guard, Among::File(fh))?;
    let node = guard.engine.node();
    let places: Vec<_> = who.members.iter().map(|peer| node.id_of(peer)).map(|id| (id.job, id.node)).collect();
    let mut leaders: Vec<usize> = Vec::new();
    for (rank, place) in places.iter().enumerate() {
        if leaders.iter().all(|&leader| places[leader] != *place) {
            leaders.push(rank);
        }
    }
    let here: Vec<usize> = (0..places.len()).filter(|&rank| places[rank] == places[who.rank]).collect();
    let own = leaders.iter().position(|&leader| leader == here[0]).unwrap_or(0);
    let rank = here.iter().position(|&rank| rank == who.rank).unwrap_or(0);
    let locals = Ranks::from_list(here.iter().map(|&rank| who.members.peer(Rank::new(rank))).collect());

    let memory = if here.len() == 1 {
        Some(Staging::own(window))
    } else {
        let nearby = Participants { members: locals.clone(), rank, ..who.clone() };
        map_among(call, guard, nearby, window)?
    };
    let here = memory.is_some();
    let everywhere = run_agreement(call, guard, |io| async move { io.all(&who, here).await })?;
    let Some(memory) = memory else { return Ok(None) };
    if !everywhere {
        free(guard, &memory, rank);
        return Ok(None);
    }
    Ok(Some(Arc::new(NodeStaging { memory: Arc::new(memory), leaders, own, locals, rank })))
}

/// Memory that the first of some processes of a node allocates and all of them map.
fn map_among(call: &Call, guard: &mut Guard, nearby: Participants, window: usize) -> Result<Option<Staging>> {
    let mut words = [0; 2];
    if nearby.rank == 0
        && let Ok(area) = guard.engine.node_mut().allocate(Staging::bytes(window))
    {
        words = [area.offset as u64, area.bytes as u64];
    }
    let owner = nearby.members.peer(Rank::new(0));
    let words = run_agreement(call, guard, |io| async move {
        io.tell(&nearby, &mut words).await?;
        Ok::<_, Error>(words)
    })?;
    let area = Area { offset: words[0] as usize, bytes: words[1] as usize };
    if area.bytes == 0 {
        return Ok(None);
    }
    Ok(guard.engine.node().map(owner, area).ok().and_then(|mapping| Staging::shared(mapping, window)))
}

/// Frees staging memory that no process uses any more; `rank` is this process's on its node.
pub(super) fn free(guard: &mut Guard, memory: &Staging, rank: usize) {
    if rank == 0
        && let Some(area) = memory.area()
    {
        guard.engine.node_mut().release(area);
    }
}
