//! The classes of a type's elements (`class_hash.rs`), in the order of its type map.

use crate::class_hash::Classes;
use crate::datatype::Datatype;
use crate::named::Group;

/// A walk over a type map ends after so many runs; the type is then not compared.
const MOST_RUNS: usize = 1 << 16;

impl Datatype {
    /// The classes of one element.
    pub fn classes(&self) -> Classes {
        *self.classes.get_or_init(|| match self.only() {
            Some(named) => {
                let units = self.facts.size / named.size() as i128;
                Classes::of_named(named).repeat(units as u128)
            }
            None => self.walked(),
        })
    }

    fn walked(&self) -> Classes {
        let mut all = Classes::EMPTY;
        for (number, run) in self.runs().enumerate() {
            if number == MOST_RUNS {
                return Classes::ANYTHING;
            }
            all = all.then(Classes::of_named(run.named).repeat(run.count.max(0) as u128));
        }
        all
    }

    /// The classes of the first bytes of a buffer of such elements, in the order of the type map; `None` if they end
    /// inside a basic element.
    pub fn classes_of(&self, bytes: u64) -> Option<Classes> {
        let size = self.facts.size as u128;
        if size == 0 {
            return (bytes == 0).then_some(Classes::EMPTY);
        }
        let (whole, mut rest) = (u128::from(bytes) / size, u128::from(bytes) % size);
        let mut all = self.classes().repeat(whole);
        if rest == 0 || self.classes().is_anything() {
            return Some(if rest == 0 { all } else { Classes::ANYTHING });
        }
        for (number, run) in self.runs().enumerate() {
            if number == MOST_RUNS {
                return Some(Classes::ANYTHING);
            }
            let unit = run.named.size() as u128;
            let count = (rest / unit).min(run.count.max(0) as u128);
            all = all.then(Classes::of_named(run.named).repeat(count));
            rest -= count * unit;
            if rest == 0 {
                return Some(all);
            }
            if count < run.count.max(0) as u128 {
                // Inside a pair, its value can be complete.
                let value = run.named.scalar.size() as u128;
                let is_value = run.named.index.is_some() && rest == value;
                return is_value.then(|| all.then(Classes::one(run.named.scalar, Group::CInteger, run.named.handle)));
            }
        }
        None
    }
}
