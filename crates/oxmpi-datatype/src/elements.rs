//! The type map, element by element, and conversions between bytes and elements. For a message that
//! ended inside a type, the elements are found by descending to the end of the message, not by
//! counting up to it.

use std::sync::Arc;

use crate::datatype::{Datatype, Shape, Wide};
use crate::named::Named;

/// Consecutive elements of one predefined type.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub named: &'static Named,
    /// Displacement of the first element from the start of the buffer.
    pub disp: Wide,
    pub count: i64,
}

/// The type map in order, as runs.
pub struct Runs<'a> {
    path: Vec<Level<'a>>,
}

/// The position of the walk in a node: the next copy of the next block.
struct Level<'a> {
    of: &'a Datatype,
    disp: Wide,
    block: usize,
    copy: i64,
}

impl Datatype {
    /// The type map of one element.
    pub fn runs(&self) -> Runs<'_> {
        Runs { path: vec![Level { of: self, disp: 0, block: 0, copy: 0 }] }
    }

    /// The number of whole elements of this type in a message of so many bytes (`MPI_Get_count`);
    /// `None` if the message does not end after a whole element.
    pub fn count_of(&self, bytes: u64) -> Option<Wide> {
        let (bytes, size) = (Wide::from(bytes), self.facts.size);
        match size {
            0 => (bytes == 0).then_some(0),
            _ => (bytes % size == 0).then_some(bytes / size),
        }
    }

    /// The number of basic elements in a message of so many bytes (`MPI_Get_elements`); `None` if
    /// it ends inside one.
    pub fn elements_of(&self, bytes: u64) -> Option<Wide> {
        if self.facts.size == 0 {
            return (bytes == 0).then_some(0);
        }
        let (elements, rest) = self.measure(bytes.into(), |d| d.facts.size, |d| d.facts.elements, false);
        (rest == 0).then_some(elements)
    }

    /// The number of bytes of so many basic elements from the start of the type map
    /// (`MPI_Status_set_elements`).
    pub fn bytes_of(&self, elements: u64) -> Option<Wide> {
        if self.facts.elements == 0 {
            return (elements == 0).then_some(0);
        }
        Some(self.measure(elements.into(), |d| d.facts.elements, |d| d.facts.size, true).0)
    }

    /// Follows the type map, repeated as often as needed, until `amount`, in the unit of `give`, is
    /// used up. Returns the same distance in the unit of `get`, and the remainder of the amount
    /// inside a basic element.
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
                // Inside a pair, only the value can be complete.
                let value = named.scalar.size() as Wide;
                let (give, get) = if by_elements { (1, value) } else { (value, 1) };
                return if named.index.is_some() && rest >= give { (got + get, rest - give) } else { (got, rest) };
            }
            let mut block = 0;
            if let Shape::Vector { len, child, .. } = &of.shape {
                // All blocks have the same size.
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

    /// The type signature of one element, with runs of the same type joined: it is the same for
    /// matching types.
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
            self.path.push(Level { of: child, disp, block: 0, copy: 0 });
        }
    }
}
