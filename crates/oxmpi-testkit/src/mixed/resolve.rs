//! The serial run of a program, for communicators only: which exist at each step, and their
//! members.

use super::file::FileUse;
use super::program::{Collective, Make, Message, Program, Step, mix};
use super::window::WindowUse;

/// A communicator, by the world ranks of its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommSpec {
    pub id: usize,
    pub group: Vec<usize>,
    /// The second group of an intercommunicator.
    pub other: Option<Vec<usize>>,
}

/// A communicator as one of its ranks sees it.
#[derive(Clone, Debug)]
pub struct View {
    pub me: usize,
    pub near: Vec<usize>,
    /// The group that messages go to: the other one, or the same.
    pub far: Vec<usize>,
    pub is_inter: bool,
    /// Whether this rank is in the first group.
    pub is_first: bool,
}

/// A step with all its numbers resolved.
#[derive(Clone, Debug)]
pub enum Task {
    Nothing,
    Message {
        comm: CommSpec,
        message: Message,
        from: usize,
        to: usize,
        tag: i32,
    },
    Collective {
        comm: CommSpec,
        collective: Collective,
    },
    Make {
        parent: CommSpec,
        how: Make,
        made: Vec<CommSpec>,
    },
    Free {
        comm: CommSpec,
    },
    Window {
        comm: CommSpec,
        window: WindowUse,
        /// Its ranks are on several nodes.
        refused: bool,
    },
    File {
        comm: CommSpec,
        file: FileUse,
    },
}

/// The most communicators that exist at a time.
const MOST_COMMS: usize = 6;

impl CommSpec {
    /// What a world rank sees of it, if it is a member.
    pub fn view(&self, rank: usize) -> Option<View> {
        let position = |group: &[usize]| group.iter().position(|&member| member == rank);
        let Some(other) = &self.other else {
            let (near, far) = (self.group.clone(), self.group.clone());
            return position(&self.group).map(|me| View { me, near, far, is_inter: false, is_first: true });
        };
        let first = position(&self.group).map(|me| (me, &self.group, other, true));
        let (me, near, far, is_first) = first.or_else(|| position(other).map(|me| (me, other, &self.group, false)))?;
        Some(View { me, near: near.clone(), far: far.clone(), is_inter: true, is_first })
    }

    pub fn members(&self) -> impl Iterator<Item = usize> + '_ {
        self.group.iter().chain(self.other.iter().flatten()).copied()
    }
}

impl Task {
    /// The communicator that the step uses.
    pub fn comm(&self) -> Option<&CommSpec> {
        match self {
            Task::Nothing => None,
            Task::Message { comm, .. }
            | Task::Collective { comm, .. }
            | Task::Free { comm }
            | Task::Window { comm, .. }
            | Task::File { comm, .. } => Some(comm),
            Task::Make { parent, .. } => Some(parent),
        }
    }
}

/// All steps of a program.
pub fn resolve(program: &Program) -> Vec<Task> {
    let mut comms = vec![CommSpec { id: 0, group: (0..program.ranks).collect(), other: None }];
    let nodes = program.nodes();
    let mut made = 1;
    let mut tasks = Vec::new();
    for (number, step) in program.steps.iter().enumerate() {
        let pick = |comm: usize| comm % comms.len();
        let task = match step {
            Step::Message(message) => {
                let comm = comms[pick(message.comm)].clone();
                let to_group = comm.other.as_ref().unwrap_or(&comm.group);
                let (from, to) = (message.from % comm.group.len(), message.to % to_group.len());
                let tag = if message.any_source { 1000 + number as i32 } else { message.to as i32 % 2 };
                Task::Message { comm, message: message.clone(), from, to, tag }
            }
            Step::Collective(collective) => {
                Task::Collective { comm: comms[pick(collective.comm)].clone(), collective: collective.clone() }
            }
            Step::Make { comm, how } if comms.len() < MOST_COMMS => {
                let parent = comms[pick(*comm)].clone();
                let new = make(&parent, how);
                let new: Vec<CommSpec> = new
                    .into_iter()
                    .map(|(group, other)| {
                        made += 1;
                        CommSpec { id: made - 1, group, other }
                    })
                    .collect();
                comms.extend(new.iter().cloned());
                Task::Make { parent, how: how.clone(), made: new }
            }
            Step::Free { comm } if pick(*comm) > 0 => Task::Free { comm: comms.remove(pick(*comm)) },
            Step::Make { .. } | Step::Free { .. } => Task::Nothing,
            // Neither is for intercommunicators.
            Step::Window(WindowUse { comm, .. }) | Step::File(FileUse { comm, .. })
                if comms[pick(*comm)].other.is_some() =>
            {
                Task::Nothing
            }
            Step::Window(window) => {
                let comm = comms[pick(window.comm)].clone();
                let refused = comm.group.iter().any(|&rank| nodes[rank] != nodes[comm.group[0]]);
                Task::Window { comm, window: window.clone(), refused }
            }
            Step::File(file) => Task::File { comm: comms[pick(file.comm)].clone(), file: file.clone() },
        };
        tasks.push(task);
    }
    tasks
}

/// The two colors of a split for an intercommunicator; every rank has one.
pub fn side(spread: u32, size: usize, rank: usize) -> usize {
    // The first and the last rank are on different sides.
    if rank == 0 || rank + 1 == size { usize::from(rank == 0) } else { mix(spread, rank, 1) as usize % 2 }
}

/// The color and the key of a rank in a split.
pub fn part(spread: u32, rank: usize) -> (Option<u32>, i32) {
    let word = mix(spread, rank, 2);
    let color = if word.is_multiple_of(7) { None } else { Some(word / 7 % 3) };
    (color, (word >> 16) as i32 % 4 - 2)
}

type Groups = (Vec<usize>, Option<Vec<usize>>);

/// The communicators made from one.
fn make(parent: &CommSpec, how: &Make) -> Vec<Groups> {
    let split = |group: &[usize], color: u32| -> Vec<usize> {
        let mut members: Vec<(i32, usize, usize)> = group
            .iter()
            .enumerate()
            .filter_map(|(rank, &member)| match how {
                Make::Split { spread } => {
                    let (of, key) = part(*spread, rank);
                    (of == Some(color)).then_some((key, rank, member))
                }
                Make::Inter { spread } => {
                    (side(*spread, group.len(), rank) == color as usize).then_some((0, rank, member))
                }
                _ => None,
            })
            .collect();
        members.sort();
        members.into_iter().map(|(_, _, member)| member).collect()
    };
    match how {
        Make::Dup => vec![(parent.group.clone(), parent.other.clone())],
        Make::Split { .. } => {
            let each = |color: u32| {
                let (near, far) = (split(&parent.group, color), parent.other.as_ref().map(|far| split(far, color)));
                let is_empty = near.is_empty() || far.as_ref().is_some_and(Vec::is_empty);
                (!is_empty).then_some((near, far))
            };
            (0..3).filter_map(each).collect()
        }
        Make::Group { members } => {
            let members = chosen(*members, parent);
            if members.is_empty() { Vec::new() } else { vec![(members, None)] }
        }
        Make::Inter { .. } if parent.other.is_some() || parent.group.len() < 2 => Vec::new(),
        Make::Inter { .. } => vec![(split(&parent.group, 0), Some(split(&parent.group, 1)))],
    }
}

/// The world ranks of a communicator of some ranks of another; none of an intercommunicator.
pub fn chosen(members: u32, parent: &CommSpec) -> Vec<usize> {
    if parent.other.is_some() {
        return Vec::new();
    }
    let is_in = |rank: &usize| members >> (rank + 1) & 1 != 0;
    let mut list: Vec<usize> = (0..parent.group.len()).filter(is_in).map(|rank| parent.group[rank]).collect();
    if members & 1 == 0 {
        list.reverse();
    }
    list
}
