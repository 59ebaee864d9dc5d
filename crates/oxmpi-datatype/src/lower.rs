//! Lowering: from the tree of constructors to a [`Layout`].
//!
//! A member that occurs once is written directly into the list of its parent, at any depth. A
//! member that occurs many times is lowered once by itself and repeated by a loop. The tree is
//! walked with lists, never by recursion. Memory use is proportional to the number of blocks that
//! the user specified.

use std::collections::HashMap;
use std::sync::Arc;

use crate::datatype::{Datatype, Lens, Shape, Wide};
use crate::layout::{Builder, Kind, Layout};

/// The layout of one element of `of`. The caller has checked that all its displacements fit into an
/// `isize`.
pub(crate) fn lower(of: &Datatype) -> Layout {
    if let Some(simple) = lower_simple(of) {
        return simple;
    }
    let mut shared = if of.facts.branching { Shared::find(of) } else { Shared::default() };
    let mut done: HashMap<*const Datatype, Arc<Layout>> = HashMap::new();
    let mut frames = vec![Frame::new(of)];
    loop {
        // A deep chain of shared subtrees is written out instead of nested, so that the nesting
        // stays bounded.
        let nest = frames.len() < MAX_NESTING;
        let Some(frame) = frames.last_mut() else { unreachable!("the first frame returns") };
        match frame.run(&done, &mut shared, nest) {
            Some(child) => frames.push(Frame::new(child)),
            None => {
                let Some(frame) = frames.pop() else { unreachable!("it was the last frame") };
                let layout = frame.builder.finish();
                if frames.is_empty() {
                    return layout;
                }
                done.insert(frame.of, Arc::new(layout));
            }
        }
    }
}

/// Whether creating the layout takes no longer than looking it up.
pub(crate) fn is_simple(of: &Datatype) -> bool {
    (of.facts.block && of.facts.size > 0) || matches!(&of.shape, Shape::Vector { child, .. } if child.facts.block)
}

/// Types of one run or of strided runs, which most types are, without book-keeping.
fn lower_simple(of: &Datatype) -> Option<Layout> {
    let facts = &of.facts;
    if facts.block && facts.size > 0 {
        return Some(Layout::block(facts.true_lb as isize, facts.size as usize));
    }
    let mut of = of;
    while let Shape::Same(child) = &of.shape {
        of = child;
    }
    let Shape::Vector { count, len, stride, child } = &of.shape else { return None };
    let facts = &child.facts;
    if facts.size == 0 || *len == 0 || *count == 0 || !facts.block {
        return None;
    }
    let (at, size) = (facts.true_lb as isize, facts.size as usize);
    if *len == 1 || facts.dense() {
        return Some(Layout::strided(at, *len as usize * size, *count as usize, *stride as isize));
    }
    (*count == 1).then(|| Layout::strided(at, size, *len as usize, facts.extent() as isize))
}

const MAX_NESTING: usize = 192;

/// A subtree with more elements than this that can be reached on several paths is lowered once and
/// referenced.
const SHARE_ABOVE: Wide = 64;

/// The state of the lowering of one subtree.
struct Frame<'a> {
    of: *const Datatype,
    builder: Builder,
    /// The remaining work, last first.
    work: Vec<Work<'a>>,
}

/// `copies` of a type at a distance of its extent.
struct Work<'a> {
    of: &'a Datatype,
    disp: Wide,
    copies: i64,
}

impl<'a> Frame<'a> {
    fn new(of: &'a Datatype) -> Frame<'a> {
        Frame { of, builder: Builder::default(), work: vec![Work { of, disp: 0, copies: 1 }] }
    }

    /// Writes until everything is written, or until a subtree is needed that has not been lowered.
    fn run(
        &mut self,
        done: &HashMap<*const Datatype, Arc<Layout>>,
        shared: &mut Shared,
        nest: bool,
    ) -> Option<&'a Datatype> {
        while let Some(Work { of, disp, copies }) = self.work.pop() {
            let facts = &of.facts;
            if facts.size == 0 || copies == 0 {
                continue;
            }
            if facts.block && (copies == 1 || facts.dense()) {
                self.builder.block((disp + facts.true_lb) as isize, copies as usize * facts.size as usize);
                continue;
            }
            let apart = copies > 1 || (nest && !std::ptr::eq(of, self.of) && shared.contains(of));
            if apart {
                let Some(body) = done.get(&std::ptr::from_ref(of)) else {
                    self.work.push(Work { of, disp, copies });
                    return Some(of);
                };
                self.builder.part(Layout::repeat(disp as isize, copies as usize, facts.extent() as isize, body));
                continue;
            }
            if let Some(child) = self.expand(of, disp, done) {
                self.work.push(Work { of, disp, copies });
                return Some(child);
            }
        }
        None
    }

    /// Writes one element of `of`, which is not a single run; or returns the child that must be
    /// lowered first.
    fn expand(
        &mut self,
        of: &'a Datatype,
        disp: Wide,
        done: &HashMap<*const Datatype, Arc<Layout>>,
    ) -> Option<&'a Datatype> {
        match &of.shape {
            Shape::LowerMarker | Shape::UpperMarker => {}
            Shape::Basic(named) => {
                // Only a pair with a gap is not a single run.
                self.builder.block(disp as isize, named.scalar.size());
                if let Some(index) = named.index {
                    self.builder.block((disp + Wide::from(index.at)) as isize, index.scalar.size());
                }
            }
            Shape::Same(child) => self.work.push(Work { of: child, disp, copies: 1 }),
            Shape::Struct { lens, disps, types } => {
                let members = lens.iter().zip(disps).zip(types).rev();
                self.work.extend(members.map(|((len, d), t)| Work {
                    of: t,
                    disp: disp + Wide::from(*d),
                    copies: *len,
                }));
            }
            Shape::Vector { count, len, stride, child } => {
                if *count == 1 {
                    self.work.push(Work { of: child, disp, copies: *len });
                } else if child.facts.block && (*len == 1 || child.facts.dense()) {
                    let at = (disp + child.facts.true_lb) as isize;
                    let run = *len as usize * child.facts.size as usize;
                    self.builder.part(Layout::strided(at, run, *count as usize, *stride as isize));
                } else {
                    let Some(body) = done.get(&Arc::as_ptr(child)) else { return Some(child) };
                    let inner = Arc::new(Layout::repeat(0, *len as usize, child.facts.extent() as isize, body));
                    self.builder.part(Layout::repeat(disp as isize, *count as usize, *stride as isize, &inner));
                }
            }
            Shape::Indexed { lens, disps, unit, child } => return self.indexed(disp, lens, disps, *unit, child, done),
        }
        None
    }

    fn indexed(
        &mut self,
        disp: Wide,
        lens: &Lens,
        disps: &[i64],
        unit: Wide,
        child: &'a Arc<Datatype>,
        done: &HashMap<*const Datatype, Arc<Layout>>,
    ) -> Option<&'a Datatype> {
        let facts = &child.facts;
        if facts.block {
            let size = facts.size as usize;
            // The displacement of data fits into a word, even if intermediate sums do not.
            let (first, unit) = ((disp + facts.true_lb) as isize, unit as isize);
            let (each, all) = match lens {
                Lens::All(len) => (&[][..], *len),
                Lens::Each(lens) => (&lens[..], 0),
            };
            self.builder.reserve(disps.len());
            for (i, d) in disps.iter().enumerate() {
                let at = first.wrapping_add((*d as isize).wrapping_mul(unit));
                let len = each.get(i).copied().unwrap_or(all) as usize;
                if len == 0 {
                    continue;
                }
                if len == 1 || facts.dense() {
                    self.builder.block(at, len * size);
                } else {
                    self.builder.part(Layout::strided(at, size, len, facts.extent() as isize));
                }
            }
            return None;
        }
        let at = |i: usize| disp + Wide::from(disps[i]) * unit;
        if let ([_], 1) = (disps, lens.get(0)) {
            self.work.push(Work { of: child, disp: at(0), copies: 1 });
            return None;
        }
        let Some(body) = done.get(&Arc::as_ptr(child)) else { return Some(child) };
        let extent = facts.extent() as isize;
        match lens {
            Lens::All(len) if disps.len() > 1 => {
                let body = Arc::new(Layout::repeat(0, *len as usize, extent, body));
                let disps: Box<[isize]> = (0..disps.len()).map(|i| at(i) as isize).collect();
                let (bytes, pieces) = (body.bytes * disps.len(), body.pieces.saturating_mul(disps.len()));
                self.builder.part(Layout { bytes, pieces, kind: Kind::EqualLoop { disps, body } });
            }
            _ => {
                for i in (0..disps.len()).filter(|i| lens.get(*i) > 0) {
                    self.builder.part(Layout::repeat(at(i) as isize, lens.get(i) as usize, extent, body));
                }
            }
        }
        None
    }
}

/// The subtrees that can be reached on several paths and are large enough to be stored once.
/// Without this, a type that contains the same member twice at each level would be written out
/// 2^levels times.
#[derive(Default)]
struct Shared(HashMap<*const Datatype, bool>);

impl Shared {
    fn find(of: &Datatype) -> Shared {
        let mut seen: HashMap<*const Datatype, bool> = HashMap::new();
        let mut left = vec![of];
        while let Some(next) = left.pop() {
            for child in next.children().iter().filter(|c| c.facts.elements > SHARE_ABOVE && !c.facts.block) {
                let mut first = false;
                seen.entry(Arc::as_ptr(child)).and_modify(|again| *again = true).or_insert_with(|| {
                    first = true;
                    false
                });
                if first {
                    left.push(child);
                }
            }
        }
        seen.retain(|_, again| *again);
        Shared(seen)
    }

    fn contains(&self, of: &Datatype) -> bool {
        !self.0.is_empty() && self.0.contains_key(&std::ptr::from_ref(of))
    }
}
