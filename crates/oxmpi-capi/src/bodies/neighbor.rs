//! Collective operations among neighbours in a topology, each for all forms; see `collective.rs`.

pub use crate::collective::{
    neighbor_allgather, neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv, neighbor_alltoallw,
};
