//! Virtual topologies: who is whose neighbour in a communicator, as the program describes it.
//!
//! Data and arithmetic only. What has to be agreed on between processes is in [`distributed`]; nothing here sends a message
//! by itself. Where ranks may be reordered, [`order`] says how.

pub mod cart;
pub mod dims;
pub mod distributed;
pub mod graph;
pub mod order;

use cart::Cart;
use distributed::Adjacency;
use graph::Graph;

/// What a communicator knows of its neighbourhoods. Duplicates share it.
#[derive(Debug)]
pub enum Topology {
    Cart(Cart),
    Graph(Graph),
    /// Of a distributed graph a process knows its own edges.
    Distributed(Adjacency),
}

impl Topology {
    /// How an error text calls it.
    pub fn describe(&self) -> &'static str {
        match self {
            Topology::Cart(_) => "a Cartesian topology",
            Topology::Graph(_) => "a graph topology",
            Topology::Distributed(_) => "a distributed graph topology",
        }
    }
}
