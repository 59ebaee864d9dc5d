//! Virtual topologies: the neighbours in a communicator, as the program describes them.
//!
//! Data and arithmetic only. [`distributed`] has what processes must agree on; nothing here sends a
//! message by itself. [`order`] reorders ranks where that is allowed.

pub mod cart;
pub mod dims;
pub mod distributed;
pub mod graph;
pub mod order;

use cart::Cart;
use distributed::Adjacency;
use graph::Graph;

/// The topology of a communicator. Duplicates share it.
#[derive(Debug)]
pub enum Topology {
    Cart(Cart),
    Graph(Graph),
    /// A process knows only its own edges of a distributed graph.
    Distributed(Adjacency),
}

impl Topology {
    /// Its name in error texts.
    pub fn describe(&self) -> &'static str {
        match self {
            Topology::Cart(_) => "a Cartesian topology",
            Topology::Graph(_) => "a graph topology",
            Topology::Distributed(_) => "a distributed graph topology",
        }
    }
}
