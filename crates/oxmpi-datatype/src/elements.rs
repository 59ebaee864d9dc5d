//! The type map, element by element, and the arithmetic between bytes and elements. What a message that ended in the
//! middle of a type delivered is found by descending to the place where it ended, not by counting up to it.

use std::sync::Arc;

use crate::datatype::{Datatype, Shape, Wide};
use crate::named::Named;

/// Elements of one predefined type that lie one behind the other.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub named: &'static Named,
    /// Of the first element, from the start of the buffer.
    pub disp: Wide,
    pub count: i64,
}

/// The type map in order, as runs.
pub struct Runs<'a> {
    path: Vec<Place<'a>>,
}

/// Where in a node the walk is: which copy of which block comes next.
struct Place<'a> {
    of: &'a Datatype,
    disp: Wide,
    block: usize,
    copy: i64,
}

impl Datatype {
    /// The type map of one element.
    pub fn runs(&self) -> Runs<'_> {
        Runs { path: vec![Place { of: self, disp: 0, block: 0, copy: 0 }] }
    }

    /// How many whole elements of this type a message of so many bytes holds: `MPI_Get_count`. `None`: not a whole
    /// number of them.
    pub fn count_of(&self, bytes: u64) -> Option<Wide> {
        let (bytes, size) = (Wide::from(bytes), self.facts.size);
        match size {
            0 => (bytes == 0).then_some(0),
            _ => (bytes % size == 0).then_some(bytes / size),
        }
    }

    /// How many basic elements a message of so many bytes holds: `MPI_Get_elements`. `None`: it ends inside one.
    pub fn elements_of(&self, bytes: u64) -> Option<Wide> {
        if self.facts.size == 0 {
            return (bytes == 0).then_some(0);
        }
        let (elements, rest) = self.measure(bytes.into(), |d| d.facts.size, |d| d.facts.elements, false);
        (rest == 0).then_some(elements)
    }

    /// How many bytes so many basic elements are, from the start of the type map on: what `MPI_Status_set_elements`
    /// stores.
    pub fn bytes_of(&self, elements: u64) -> Option<Wide> {
        if self.facts.elements == 0 {
            return (elements == 0).then_some(0);
        }
        Some(self.measure(elements.into(), |d| d.facts.elements, |d| d.facts.size, true).0)
    }

    /// Follows the type map, repeated as often as needed, until `amount` of what `give` measures is used up; returns
    /// how much of what `get` measures that was, and what is left of the amount inside a basic element.
    fn measure(
        &self,
        amount: Wide,
        give: impl Fn(&Datatype) -> Wide,
        get: impl Fn(&Datatype) -> Wide,
        by_elements: bool,
    ) -> (Wide, Wide) {
        let mut of = self;
        let (mut rest, mut got) = (amount, 0);
        loop {
            let whole = rest / give(of);
            got += whole * get(of);
            rest -= whole * give(of);
            if rest == 0 {
                return (got, 0);
            }
            if let Shape::Basic(named) = of.shape {
                // Only the value of a pair can still be whole.
                let value = named.scalar.size() as Wide;
                let (give, get) = if by_elements { (1, value) } else { (value, 1) };
                return if named.index.is_some() && rest >= give { (got + get, rest - give) } else { (got, rest) };
            }
            let mut block = 0;
            if let Shape::Vector { len, child, .. } = &of.shape {
                // All blocks are alike.
                let each = give(child) * Wide::from(*len);
                block = (rest / each) as usize;
                got += get(child) * Wide::from(*len) * block as Wide;
                rest -= each * block as Wide;
            }
            let mut inside = None;
            while rest > 0 {
                let Some((child, _, len)) = of.nth_block(block) else { return (got, rest) };
                let each = give(child) * Wide::from(len);
                if each > rest {
                    inside = Some(child);
                    break;
                }
                (rest, got, block) = (rest - each, got + get(child) * Wide::from(len), block + 1);
            }
            match inside {
                Some(child) => of = child,
                None => return (got, rest),
            }
        }
    }

    /// The type signature of one element, runs of the same type joined: what two matching types have in common.
    pub fn signature(&self) -> Vec<(&'static Named, Wide)> {
        let mut signature: Vec<(&'static Named, Wide)> = Vec::new();
        for run in self.runs() {
            match signature.last_mut() {
                Some((named, n)) if std::ptr::eq(*named, run.named) => *n += Wide::from(run.count),
                _ => signature.push((run.named, run.count.into())),
            }
        }
        signature
    }
}

impl Iterator for Runs<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        loop {
            let place = self.path.last_mut()?;
            if let Shape::Basic(named) = place.of.shape {
                let disp = place.disp;
                self.path.pop();
                return Some(Run { named, disp, count: 1 });
            }
            if place.of.facts.size == 0 || place.block >= place.of.blocks() {
                self.path.pop();
                continue;
            }
            let Some((child, disp, len)) = place.of.nth_block(place.block) else { continue };
            let child: &Arc<Datatype> = child;
            if place.copy >= len {
                (place.block, place.copy) = (place.block + 1, 0);
                continue;
            }
            let disp = place.disp + disp + Wide::from(place.copy) * child.extent();
            if let Shape::Basic(named) = child.shape {
                place.block += 1;
                return Some(Run { named, disp, count: len });
            }
            place.copy += 1;
            self.path.push(Place { of: child, disp, block: 0, copy: 0 });
        }
    }
}
