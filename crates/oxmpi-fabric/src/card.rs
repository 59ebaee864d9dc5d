//! Which of several cards of a provider a process uses: the nearest one to the CPUs that it may run on. Of several that are
//! equally near, the processes of a node take one each in turn.

use oxmpi_base::cpus::CpuSet;
use std::fs::read_to_string;
use std::path::PathBuf;

/// A card as libfabric describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Card {
    /// The name of its domain, such as `mlx5_0`.
    pub name: String,
    /// Where it is on the PCI bus, as the kernel writes it: `0000:81:00.0`.
    pub pci: String,
    /// Its link has no carrier.
    pub is_down: bool,
}

/// The process that a card is for.
#[derive(Clone)]
pub struct Seat {
    /// The kernel's description of the machine: `/sys`.
    pub sys: PathBuf,
    pub cpus: CpuSet,
    /// Its number among the processes of its node.
    pub turn: usize,
}

/// The distance of a card of which the kernel says nothing.
const UNKNOWN: u32 = u32::MAX;

impl Seat {
    /// This process, which has this number on its node.
    pub fn own(turn: usize) -> Seat {
        Seat { sys: "/sys".into(), cpus: CpuSet::affinity().unwrap_or_default(), turn }
    }

    /// The index of the card to use; `None` if there is none. Those without a carrier are used only if all are.
    pub fn choose(&self, cards: &[Card]) -> Option<usize> {
        let all_down = cards.iter().all(|card| card.is_down);
        let usable = cards.iter().enumerate().filter(|(_, card)| all_down || !card.is_down);
        let far: Vec<(u32, usize)> = usable.map(|(index, card)| (self.distance(card), index)).collect();
        let nearest = far.iter().map(|&(distance, _)| distance).min()?;
        let nearest: Vec<usize> =
            far.into_iter().filter(|&(distance, _)| distance == nearest).map(|(_, index)| index).collect();
        Some(nearest[self.turn % nearest.len()])
    }

    /// How far a card is from the CPUs, as the firmware tells: 10 for the same part of the memory.
    fn distance(&self, card: &Card) -> u32 {
        let device = self.sys.join("bus/pci/devices").join(&card.pci);
        let number = read_to_string(device.join("numa_node")).ok().and_then(|text| text.trim().parse::<usize>().ok());
        let Some(number) = number else { return UNKNOWN };
        let Ok(table) = read_to_string(self.node(number).join("distance")) else { return UNKNOWN };
        let mut own = self.nodes();
        own.retain(|&node| {
            let list = read_to_string(self.node(node).join("cpulist")).ok();
            list.and_then(|list| CpuSet::parse(list.trim()))
                .is_some_and(|cpus| !cpus.intersection(&self.cpus).is_empty())
        });
        // The table has a number for each part of the memory that is there.
        let to = self.nodes().into_iter().zip(table.split_whitespace());
        let near = to.filter(|(node, _)| own.contains(node)).filter_map(|(_, distance)| distance.parse().ok());
        near.min().unwrap_or(UNKNOWN)
    }

    fn node(&self, number: usize) -> PathBuf {
        self.sys.join(format!("devices/system/node/node{number}"))
    }

    /// The numbers of the parts of the memory, in order.
    fn nodes(&self) -> Vec<usize> {
        let entries = self.sys.join("devices/system/node").read_dir().into_iter().flatten().flatten();
        let mut numbers: Vec<usize> =
            entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    /// Two sockets with four CPUs each, and cards at `01:00.0` and `02:00.0` (first socket), `81:00.0` (second), `f1:00.0`
    /// (of which the kernel knows nothing).
    pub fn machine(name: &str) -> PathBuf {
        let sys = std::env::temp_dir().join(format!("oxmpi-cards-{name}-{}", std::process::id()));
        for (node, cpus, distance) in [(0, "0-3", "10 21"), (1, "4-7", "21 10")] {
            let folder = sys.join(format!("devices/system/node/node{node}"));
            create_dir_all(&folder).unwrap();
            write(folder.join("cpulist"), format!("{cpus}\n")).unwrap();
            write(folder.join("distance"), format!("{distance}\n")).unwrap();
        }
        for (card, node) in [("01:00.0", 0), ("02:00.0", 0), ("81:00.0", 1), ("f1:00.0", -1)] {
            let folder = sys.join("bus/pci/devices").join(format!("0000:{card}"));
            create_dir_all(&folder).unwrap();
            write(folder.join("numa_node"), format!("{node}\n")).unwrap();
        }
        sys
    }

    fn card(pci: &str) -> Card {
        Card { name: format!("card at {pci}"), pci: format!("0000:{pci}"), is_down: false }
    }

    #[test]
    fn the_nearest_card_is_used() {
        let sys = machine("nearest");
        let choose = |cpus: &str, turn: usize, cards: &[Card]| {
            Seat { sys: sys.clone(), cpus: CpuSet::parse(cpus).unwrap(), turn }.choose(cards)
        };
        let all = ["f1:00.0", "01:00.0", "81:00.0", "02:00.0"].map(card);
        assert_eq!(choose("5", 0, &all), Some(2));
        assert_eq!(choose("5", 7, &all), Some(2));
        assert_eq!([0, 1, 2, 3].map(|turn| choose("0-1", turn, &all)), [Some(1), Some(3), Some(1), Some(3)]);
        // One that may run everywhere takes any card whose place is known.
        assert_eq!([0, 1, 2, 3].map(|turn| choose("0-7", turn, &all)), [Some(1), Some(2), Some(3), Some(1)]);
        // A far one is better than one without a carrier, and any is better than none.
        let mut down = all.clone();
        down[2].is_down = true;
        assert_eq!(choose("5", 0, &down), Some(1));
        down.iter_mut().for_each(|card| card.is_down = true);
        assert_eq!(choose("5", 0, &down), Some(2));
        // The kernel says nothing: in turn.
        assert_eq!([0, 1].map(|turn| choose("5", turn, &[card("f1:00.0"), card("f2:00.0")])), [Some(0), Some(1)]);
        assert_eq!(choose("5", 0, &[]), None);
        std::fs::remove_dir_all(&sys).unwrap();
    }
}
