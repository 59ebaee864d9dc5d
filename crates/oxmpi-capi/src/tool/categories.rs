//! Categories: one that holds the others, which hold variables and events. None is ever added.

use super::cvars::CVARS;
use super::events::EVENTS;
use super::pvars::PVARS;
use std::ffi::c_int;

/// In the order of their indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Category {
    All,
    Messages,
    Collectives,
    Waiting,
    Memory,
    Objects,
    Errors,
}

pub static CATEGORIES: [Category; 7] = [
    Category::All,
    Category::Messages,
    Category::Collectives,
    Category::Waiting,
    Category::Memory,
    Category::Objects,
    Category::Errors,
];

impl Category {
    pub fn name(self) -> &'static str {
        match self {
            Category::All => "oxmpi",
            Category::Messages => "oxmpi_messages",
            Category::Collectives => "oxmpi_collectives",
            Category::Waiting => "oxmpi_waiting",
            Category::Memory => "oxmpi_memory",
            Category::Objects => "oxmpi_objects",
            Category::Errors => "oxmpi_errors",
        }
    }

    pub fn description(self) -> &'static str {
        match self {
            Category::All => "All of OxMPI's variables and events, by subject",
            Category::Messages => "Messages between two processes: how they travel and what waits for its other side",
            Category::Collectives => "Collective operations: what they use and how they are chosen",
            Category::Waiting => "What this process does and how it waits: calls, sleep, CPUs",
            Category::Memory => "Memory that the processes of a node share",
            Category::Objects => "How many objects there are that the program has to free",
            Category::Errors => "Calls that failed and their error handlers",
        }
    }

    pub fn cvars(self) -> impl Iterator<Item = c_int> {
        (0..).zip(&CVARS).filter(move |(_, cvar)| cvar.category == self).map(|(index, _)| index)
    }

    pub fn pvars(self) -> impl Iterator<Item = c_int> {
        (0..).zip(&PVARS).filter(move |(_, pvar)| pvar.category == self).map(|(index, _)| index)
    }

    pub fn events(self) -> impl Iterator<Item = c_int> {
        (0..).zip(&EVENTS).filter(move |(_, event)| event.category == self).map(|(index, _)| index)
    }

    pub fn categories(self) -> impl Iterator<Item = c_int> {
        (1..CATEGORIES.len() as c_int).filter(move |_| self == Category::All)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_category_but_the_first_has_members_and_every_member_one_category() {
        for (index, &category) in CATEGORIES.iter().enumerate() {
            assert_eq!(category as usize, index);
            let members = category.cvars().count() + category.pvars().count() + category.events().count();
            assert_eq!(members == 0, category == Category::All, "{category:?}");
        }
        assert_eq!(CATEGORIES.iter().map(|category| category.cvars().count()).sum::<usize>(), CVARS.len());
        assert_eq!(CATEGORIES.iter().map(|category| category.pvars().count()).sum::<usize>(), PVARS.len());
    }
}
