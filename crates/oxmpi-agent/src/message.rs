//! What an agent and the one above it say to each other in control frames.

use crate::frame::BadFrame;
use serde::{Deserialize, Serialize};

/// Down: from `mpirun` towards the agents.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Down {
    /// The first message: what the agent needs to know before it can start anything.
    Job(Box<JobOrder>),
    /// All nodes are ready and know each other's addresses: start the ranks.
    Go {
        nodes: Vec<NodeAddresses>,
    },
    /// A signal for all ranks.
    Signal(i32),
    /// The job ends: how the ranks are ended is the agent's business.
    End {
        why: String,
    },
    /// Data bytes of class output that were taken.
    Taken(u32),
    /// No more stdin.
    EndOfStdin,
    /// Deadlines stand still until `Resume`.
    Pause,
    Resume,
    Heartbeat,
}

/// Up: from the agents towards `mpirun`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Up {
    /// The first message: the agent's machine.
    Here(Box<Machine>),
    /// The segment exists, the port listens.
    Ready(NodeAddresses),
    Ended {
        rank: u32,
        status: i32,
    },
    /// Something failed on this node; the job cannot go on.
    Failed {
        text: String,
        status: i32,
    },
    /// All ranks of the node and all that they started are gone.
    AllGone,
    /// Data bytes of class stdin that were taken.
    Taken(u32),
    Heartbeat,
}

/// A machine as its agent sees it. Host names decide nothing; boot id and namespaces tell whether two agents share one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Machine {
    pub host: String,
    pub boot_id: String,
    /// Inodes of the namespaces that decide what processes can share: pid, ipc, mount, net, user.
    pub namespaces: [u64; 5],
    pub user: u32,
    pub cpus: u32,
    pub build: u64,
}

/// Where the port of a node can be reached, the best address first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NodeAddresses {
    pub node: u32,
    pub addresses: Vec<std::net::IpAddr>,
    pub port: u16,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct JobOrder {
    pub job: [u8; 16],
    pub key: [u8; 32],
    pub node: u32,
    /// World ranks and slots of all nodes: see `oxmpi_boot::nodes`.
    pub node_blocks: Vec<[u32; 7]>,
    pub programs: Vec<ProgramOrder>,
    /// Ranks of this node in the order of their slots: the world rank and the index of the program.
    pub ranks: Vec<(u32, u32)>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProgramOrder {
    pub path: Vec<u8>,
    pub arguments: Vec<Vec<u8>>,
    pub directory: Vec<u8>,
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
}

pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, BadFrame> {
    postcard::to_stdvec(message).map_err(|error| BadFrame(format!("a message cannot be written: {error}")))
}

/// A whole message and nothing after it.
pub fn decode<'a, M: Deserialize<'a>>(body: &'a [u8]) -> Result<M, BadFrame> {
    match postcard::take_from_bytes(body) {
        Ok((message, [])) => Ok(message),
        Ok((_, rest)) => Err(BadFrame(format!("{} bytes follow a message", rest.len()))),
        Err(error) => Err(BadFrame(format!("a message of {} bytes cannot be read: {error}", body.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_come_as_they_went() {
        let order = JobOrder {
            job: [1; 16],
            key: [2; 32],
            node: 3,
            node_blocks: vec![[0, 8, 0, 2, 4, 0, 0]],
            programs: vec![ProgramOrder {
                path: b"/bin/true".to_vec(),
                arguments: vec![b"\xff".to_vec()],
                directory: b"/".to_vec(),
                environment: vec![(b"A".to_vec(), b"b=c".to_vec())],
            }],
            ranks: vec![(4, 0), (5, 0)],
        };
        let message = Down::Job(Box::new(order));
        assert_eq!(decode::<Down>(&encode(&message).unwrap()), Ok(message));
        let address = NodeAddresses { node: 1, addresses: vec!["::1".parse().unwrap()], port: 4 };
        let message = Up::Ready(address);
        assert_eq!(decode::<Up>(&encode(&message).unwrap()), Ok(message));
    }

    #[test]
    fn bytes_after_a_message_are_an_error() {
        let mut bytes = encode(&Down::Heartbeat).unwrap();
        bytes.push(0);
        assert!(decode::<Down>(&bytes).is_err());
        assert!(decode::<Down>(&[]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode::<Down>(&bytes);
            let _ = decode::<Up>(&bytes);
        }
    }
}
