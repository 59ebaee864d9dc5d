//! A value for every peer: an array for the processes of the node, and a table in two levels for
//! far peers, whose entries are made at first contact.

use oxmpi_base::ids::Peer;

pub struct PeerTable<T> {
    local: Box<[T]>,
    far: FarTable<T>,
}

/// The part for far peers.
pub struct FarTable<T> {
    pages: Vec<Option<Box<Page<T>>>>,
}

const PAGE: usize = 512;
type Page<T> = [Option<Box<T>>; PAGE];

impl<T: Default> PeerTable<T> {
    /// A table for a node with so many slots.
    pub fn new(slots: usize) -> PeerTable<T> {
        PeerTable { local: (0..slots).map(|_| T::default()).collect(), far: FarTable::default() }
    }

    /// A peer's value; `None` for a far one without an entry.
    #[inline(always)]
    pub fn get(&self, peer: Peer) -> Option<&T> {
        match peer.slot() {
            Some(slot) => self.local.get(slot.index()),
            None => self.far.get(peer),
        }
    }

    /// A peer's value, made for a far one that has none.
    #[inline(always)]
    pub fn at(&mut self, peer: Peer) -> &mut T {
        match peer.slot() {
            Some(slot) => &mut self.local[slot.index()],
            None => self.far.at(peer),
        }
    }

    /// Drops the entry of a far peer.
    pub fn forget(&mut self, peer: Peer) {
        self.far.forget(peer);
    }

    pub fn iter(&self) -> impl Iterator<Item = (Peer, &T)> {
        let local = self.local.iter().enumerate().map(|(slot, value)| (Peer::at_slot(slot), value));
        local.chain(self.far.iter())
    }
}

impl<T> Default for FarTable<T> {
    fn default() -> FarTable<T> {
        FarTable { pages: Vec::new() }
    }
}

impl<T: Default> FarTable<T> {
    #[cold]
    pub fn get(&self, peer: Peer) -> Option<&T> {
        let (page, index) = place(peer)?;
        self.pages.get(page)?.as_ref()?[index].as_deref()
    }

    /// A far peer's value, made if it has none.
    #[inline(never)]
    pub fn at(&mut self, peer: Peer) -> &mut T {
        // Only far peers come here; the entry of a local one would never be found.
        let (page, index) = place(peer).unwrap_or_default();
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        self.pages[page].get_or_insert_with(|| Box::new([const { None }; PAGE]))[index].get_or_insert_default()
    }

    pub fn forget(&mut self, peer: Peer) {
        if let Some((page, index)) = place(peer)
            && let Some(Some(page)) = self.pages.get_mut(page)
        {
            page[index] = None;
        }
    }

    fn iter(&self) -> impl Iterator<Item = (Peer, &T)> {
        let pages = self.pages.iter().enumerate().filter_map(|(number, page)| Some((number, page.as_deref()?)));
        pages.flat_map(|(number, page)| {
            let entries = page.iter().enumerate();
            entries.filter_map(move |(index, value)| Some((Peer::far(number * PAGE + index), value.as_deref()?)))
        })
    }
}

fn place(peer: Peer) -> Option<(usize, usize)> {
    peer.far_index().map(|index| (index / PAGE, index % PAGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_made_found_and_forgotten() {
        let mut table: PeerTable<u32> = PeerTable::new(3);
        let far = [Peer::far(0), Peer::far(511), Peer::far(512), Peer::far(5000)];
        assert!(table.get(far[3]).is_none() && table.get(Peer::at_slot(3)).is_none());
        for (number, &peer) in far.iter().enumerate() {
            *table.at(peer) = 10 + number as u32;
        }
        *table.at(Peer::at_slot(2)) = 7;
        let all: Vec<(Peer, u32)> = table.iter().map(|(peer, &value)| (peer, value)).collect();
        assert_eq!(all[..3], [(Peer::at_slot(0), 0), (Peer::at_slot(1), 0), (Peer::at_slot(2), 7)]);
        assert_eq!(all[3..], [(far[0], 10), (far[1], 11), (far[2], 12), (far[3], 13)]);
        table.forget(far[2]);
        assert_eq!((table.get(far[2]), table.get(far[1])), (None, Some(&11)));
        table.forget(Peer::at_slot(2));
        assert_eq!(table.get(Peer::at_slot(2)), Some(&7), "a local peer is always there");
    }
}
