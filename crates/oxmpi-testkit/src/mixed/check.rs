//! Compares what the ranks have seen with the serial model.

use super::collective::Case;
use super::perform::{Log, Seen};
use super::program::Program;
use super::resolve::{CommSpec, Task, resolve};
use super::strip::block;
use super::window::{Memory, plan};
use oxmpi_abi::Error;
use oxmpi_abi::constants::{MPI_ERR_OTHER, MPI_ERR_PROC_ABORTED, MPI_ERR_RMA_SHARED};
use std::collections::BTreeMap;

/// What each rank must see.
pub fn model(program: &Program) -> Vec<BTreeMap<usize, Seen>> {
    let tasks = resolve(program);
    (0..program.ranks)
        .map(|rank| {
            tasks.iter().enumerate().filter_map(|(step, task)| Some((step, expected(step, task, rank)?))).collect()
        })
        .collect()
}

/// What a rank must see of a step; `None` if it takes no part, or nothing is defined.
fn expected(step: usize, task: &Task, rank: usize) -> Option<Seen> {
    let view = task.comm()?.view(rank)?;
    if let Task::Window { window, refused: true, .. } = task {
        let is_shared = window.memory == Memory::Shared;
        return Some(Seen::Refused(if is_shared { MPI_ERR_RMA_SHARED } else { MPI_ERR_OTHER }));
    }
    Some(Seen::Numbers(match task {
        Task::Nothing | Task::Free { .. } => return None,
        Task::Message { comm, message, from, to, .. } => {
            let receives = if view.is_inter { !view.is_first && view.me == *to } else { view.me == *to };
            if !receives {
                return None;
            }
            block(step, comm.group[*from], *to, message.units)
        }
        Task::Collective { collective, .. } => Case::new(step, collective, &view).after()?,
        Task::Window { window, .. } => plan(step, window, view.near.len()).seen.swap_remove(view.me),
        Task::File { file, .. } => file.seen(step, view.me, view.near.len()),
        Task::Make { made, .. } => match made.iter().find_map(|spec| spec.view(rank)) {
            Some(view) => vec![1, view.me as i32, view.near.len() as i32, view.far.len() as i32],
            None => vec![0],
        },
    }))
}

/// What is wrong with a run, if anything.
pub fn check(program: &Program, logs: &[Log]) -> Result<(), String> {
    let tasks = resolve(program);
    let dead = program.dead();
    let model = model(program);
    for (rank, log) in logs.iter().enumerate() {
        for (step, seen) in &log.seen {
            let wanted = model[rank].get(step);
            if wanted != Some(seen) {
                return Err(format!("rank {rank}, step {step}: {}", difference(wanted, seen)));
            }
        }
        if dead == Some(rank) {
            continue;
        }
        match (&log.stopped, dead) {
            (None, _) if !log.ended => return Err(format!("rank {rank} has not ended")),
            (None, _) => {
                if let Some(step) = model[rank].keys().find(|step| !log.seen.contains_key(step)) {
                    return Err(format!("rank {rank} has not seen what step {step} gives"));
                }
            }
            (Some((step, error)), None) => return Err(format!("rank {rank}, step {step}: {error}")),
            (Some((step, error)), Some(dead)) => {
                if !names_culprit(error, &tasks[*step], dead, logs) {
                    return Err(format!("rank {rank}, step {step}: {error}; it does not name rank {dead}, which died"));
                }
            }
        }
    }
    Ok(())
}

/// Whether an error of a rank names the dead rank, or a rank that left because it got such an
/// error.
fn names_culprit(error: &Error, task: &Task, dead: usize, logs: &[Log]) -> bool {
    let text = error.text();
    let has_rank = |world: usize, comm: &CommSpec| {
        let groups = [Some(&comm.group), comm.other.as_ref()];
        let places = groups.into_iter().flatten().filter_map(|group| group.iter().position(|&member| member == world));
        places.into_iter().any(|place| text.contains(&format!("rank {place} of ")))
    };
    // A communicator may be in use before it is made: its context is agreed on.
    let made: &[CommSpec] = if let Task::Make { made, .. } = task { made } else { &[] };
    let in_comm = |world: usize| task.comm().into_iter().chain(made).any(|comm| has_rank(world, comm));
    let names = |world: usize| in_comm(world) || text.contains(&format!("rank {world} of MPI_COMM_WORLD"));
    let has_left = |world: &usize| logs[*world].stopped.is_some() || logs[*world].ended;
    let has_ended = text.contains("has ended") && names(dead);
    // The link itself names ranks of the world.
    let has_died = text.contains(&format!("rank {dead} has died"));
    let is_dead = error.class() == MPI_ERR_PROC_ABORTED && (has_ended || has_died);
    let is_left = [MPI_ERR_PROC_ABORTED, MPI_ERR_OTHER].contains(&error.class())
        && text.contains("MPI_Finalize")
        && (0..logs.len()).filter(has_left).any(names);
    // When two groups join, the leaders learn which rank has ended, or has left because of that, and
    // pass on the class of the error. So do ranks that agree on a file.
    let is_told = [MPI_ERR_PROC_ABORTED, MPI_ERR_OTHER].contains(&error.class())
        && (text.contains("could not join the other group") || text.contains("its error there says why"));
    is_dead || is_left || is_told
}

fn difference(wanted: Option<&Seen>, seen: &Seen) -> String {
    if let (Some(Seen::Numbers(wanted)), Seen::Numbers(seen)) = (wanted, seen)
        && let Some(place) = (0..wanted.len().min(seen.len())).find(|&place| wanted[place] != seen[place])
    {
        return format!("number {place} is {}, and should be {}", seen[place], wanted[place]);
    }
    format!("{seen:?}, and should be {wanted:?}")
}
