//! The categories of variables and events.

/// In the order of their indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Category {
    All,
    Messages,
    Collectives,
    Waiting,
    Memory,
    Network,
    Objects,
    Errors,
}

pub static CATEGORIES: [Category; 8] = [
    Category::All,
    Category::Messages,
    Category::Collectives,
    Category::Waiting,
    Category::Memory,
    Category::Network,
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
            Category::Network => "oxmpi_network",
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
            Category::Network => "What travels between this process and those of other nodes",
            Category::Objects => "How many objects there are that the program has to free",
            Category::Errors => "Calls that failed and their error handlers",
        }
    }
}
