//! Communicators: a group of processes and a context that keeps their messages apart from all others.

use crate::buffer::BufferPool;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm as CommHandle, Errhandler};
use std::sync::Arc;

pub struct Comm {
    pub handle: CommHandle,
    /// Point-to-point messages carry this context; what the library sends for itself carries the next.
    pub context: u32,
    /// This process's rank.
    pub rank: i32,
    pub group: Ranks,
    pub errhandler: Errhandler,
    /// Bytes, as C gives them.
    pub name: Vec<u8>,
    /// Where buffered sends of this communicator go, when it has a buffer of its own.
    pub buffer: Option<BufferPool>,
}

/// Which process has which rank.
#[derive(Clone, Debug)]
pub enum Ranks {
    /// Everybody, in the node's order.
    All(usize),
    List(Arc<[u32]>),
}

impl Ranks {
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Ranks::All(count) => *count,
            Ranks::List(list) => list.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The process with this rank.
    #[inline]
    pub fn get(&self, rank: usize) -> usize {
        match self {
            Ranks::All(_) => rank,
            Ranks::List(list) => list[rank] as usize,
        }
    }
}

impl Comm {
    pub fn world(rank: usize, size: usize) -> Comm {
        Comm::predefined(MPI_COMM_WORLD, 0, rank as i32, Ranks::All(size), "MPI_COMM_WORLD")
    }

    pub fn own(rank: usize) -> Comm {
        Comm::predefined(MPI_COMM_SELF, 2, 0, Ranks::List(Arc::new([rank as u32])), "MPI_COMM_SELF")
    }

    fn predefined(handle: CommHandle, context: u32, rank: i32, group: Ranks, name: &str) -> Comm {
        Comm {
            handle,
            context,
            rank,
            group,
            errhandler: MPI_ERRORS_ARE_FATAL,
            name: name.as_bytes().to_vec(),
            buffer: None,
        }
    }

    #[inline]
    pub fn size(&self) -> i32 {
        self.group.len() as i32
    }

    /// The context of what the library sends for itself.
    pub fn inner_context(&self) -> u32 {
        self.context + 1
    }

    /// How an error text calls it.
    pub fn describe(&self) -> String {
        match self.name.is_empty() {
            true => format!("a communicator of {} processes", self.size()),
            false => String::from_utf8_lossy(&self.name).into_owned(),
        }
    }
}
