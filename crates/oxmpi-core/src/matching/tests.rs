//! Tests both queues against naive models that scan a list from the front, and measures the cost of
//! an operation.

use super::*;
use std::hint::black_box;
use std::time::Instant;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Tags are mostly the user's, sometimes the library's.
    fn envelope(&mut self, spread: u64) -> Envelope {
        let tag = if self.chance(10) { -3 - self.below(3) as i32 } else { self.below(spread) as i32 };
        Envelope { context: self.below(3) as u32, source: self.below(spread) as i32, tag }
    }

    fn pattern(&mut self, spread: u64, wildcards: u64) -> Pattern {
        let mut pattern = Pattern::from(self.envelope(spread));
        if self.chance(wildcards) {
            pattern.source = ANY_SOURCE;
        }
        if self.chance(wildcards) {
            pattern.tag = ANY_TAG;
        }
        pattern
    }
}

/// (seed, how many ranks and tags, percent of wildcards, operations)
const RUNS: [(u64, u64, u64, u64); 5] =
    [(1, 2, 30, 400_000), (2, 8, 20, 300_000), (3, 40, 5, 150_000), (4, 3, 0, 100_000), (5, 1000, 10, 50_000)];

/// The share of insertions drifts, so that the queues fill, empty and fill again.
fn inserting(step: u64, random: &mut Random) -> bool {
    random.chance(if (step / 3000) & 1 == 0 { 55 } else { 42 })
}

#[test]
fn posted_agrees_with_a_list() {
    for (seed, spread, wildcards, operations) in RUNS {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut queue = PostedQueue::new();
        let mut model: Vec<(Pattern, u64, PostedId)> = Vec::new();
        let mut gone = Vec::new();
        for step in 0..operations {
            let context = format_args!("seed {seed} step {step}").to_string();
            if inserting(step, &mut random) {
                let pattern = random.pattern(spread, wildcards);
                let id = queue.post(pattern, step);
                model.push((pattern, step, id));
            } else if random.chance(15) && !model.is_empty() {
                let (_, value, id) = model.remove(random.below(model.len() as u64) as usize);
                assert_eq!(queue.get(id), Some(&value), "{context}");
                assert_eq!(queue.cancel(id), Some(value), "{context}");
                gone.push(id);
            } else if random.chance(1) {
                let doomed = random.below(3) as u32;
                let (taken, kept): (Vec<_>, Vec<_>) = model.into_iter().partition(|(p, ..)| p.context == doomed);
                model = kept;
                let taken: Vec<_> = taken.into_iter().map(|(pattern, value, _)| (pattern, value)).collect();
                assert_eq!(queue.drain_context(doomed), taken, "{context}");
            } else {
                let envelope = random.envelope(spread);
                let place = model.iter().position(|(pattern, ..)| pattern.matches(&envelope));
                let expected = place.map(|place| model.remove(place));
                let peeked = queue.peek_match(&envelope).map(|(id, value)| (*value, id));
                assert_eq!(peeked, expected.map(|(_, value, id)| (value, id)), "{context}");
                assert_eq!(queue.take_match(&envelope), expected.map(|(_, value, _)| value), "{context}");
                gone.extend(expected.map(|(_, _, id)| id));
            }
            assert_eq!(queue.len(), model.len(), "{context}");
            if step % 1000 == 0 {
                assert!(queue.iter().map(|(id, p, v)| (p, *v, id)).eq(model.iter().copied()), "{context}");
                assert!(gone.drain(..).all(|id| queue.get(id).is_none() && queue.cancel(id).is_none()), "{context}");
            }
        }
    }
}

#[test]
fn unexpected_agrees_with_a_list() {
    for (seed, spread, wildcards, operations) in RUNS {
        let mut random = Random(seed.wrapping_mul(0xd6e8_feb8_6659_fd93));
        let mut queue = UnexpectedQueue::new();
        let mut model: Vec<(Envelope, u64, MessageId)> = Vec::new();
        let mut gone = Vec::new();
        for step in 0..operations {
            let context = format_args!("seed {seed} step {step}").to_string();
            if inserting(step, &mut random) {
                let envelope = random.envelope(spread);
                let id = queue.push(envelope, step);
                model.push((envelope, step, id));
            } else if random.chance(15) && !model.is_empty() {
                let (envelope, value, id) = model.remove(random.below(model.len() as u64) as usize);
                assert_eq!(queue.get_mut(id), Some(&mut value.clone()), "{context}");
                assert_eq!(queue.remove(id), Some((envelope, value)), "{context}");
                gone.push(id);
            } else if random.chance(1) {
                let doomed = random.below(3) as u32;
                let (taken, kept): (Vec<_>, Vec<_>) = model.into_iter().partition(|(e, ..)| e.context == doomed);
                model = kept;
                let taken: Vec<_> = taken.into_iter().map(|(envelope, value, _)| (envelope, value)).collect();
                assert_eq!(queue.drain_context(doomed), taken, "{context}");
            } else {
                let pattern = random.pattern(spread, wildcards);
                let place = model.iter().position(|(envelope, ..)| pattern.matches(envelope));
                let found = queue.find(&pattern).map(|(id, envelope, value)| (envelope, *value, id));
                assert_eq!(found, place.map(|place| model[place]), "{context}");
                if random.chance(80) {
                    let expected = place.map(|place| model.remove(place));
                    assert_eq!(queue.take(&pattern), expected.map(|(e, value, _)| (e, value)), "{context}");
                    gone.extend(expected.map(|(_, _, id)| id));
                }
            }
            assert_eq!(queue.len(), model.len(), "{context}");
            if step % 1000 == 0 {
                assert!(queue.iter().map(|(id, e, v)| (e, *v, id)).eq(model.iter().copied()), "{context}");
                assert!(gone.drain(..).all(|id| queue.get(id).is_none() && queue.remove(id).is_none()), "{context}");
            }
        }
    }
}

#[test]
fn any_tag_leaves_internal_tags_alone() {
    let any = Pattern { context: 1, source: ANY_SOURCE, tag: ANY_TAG };
    let internal = Envelope { context: 1, source: 0, tag: -5 };
    let mut posted = PostedQueue::new();
    posted.post(any, "any");
    assert_eq!(posted.take_match(&internal), None);
    posted.post(Pattern { source: ANY_SOURCE, ..internal.into() }, "internal");
    assert_eq!(posted.take_match(&internal), Some("internal"));
    // Not a valid envelope, but it must not match as a wildcard.
    assert_eq!(posted.take_match(&Envelope { tag: ANY_TAG, ..internal }), None);
    assert_eq!(posted.take_match(&Envelope { source: ANY_SOURCE, tag: 0, ..internal }), None);
    assert_eq!(posted.take_match(&Envelope { tag: 0, ..internal }), Some("any"));

    let mut unexpected = UnexpectedQueue::new();
    for _ in 0..20 {
        unexpected.push(internal, "internal");
    }
    assert!(unexpected.find(&any).is_none());
    unexpected.push(Envelope { tag: 7, ..internal }, "user");
    assert_eq!(unexpected.take(&any).map(|(envelope, _)| envelope.tag), Some(7));
    assert_eq!(unexpected.take(&Pattern { source: ANY_SOURCE, ..internal.into() }).map(|m| m.1), Some("internal"));
}

#[test]
fn lists_disappear_when_they_are_empty() {
    let mut index = index::Index::new();
    for round in 0..50 {
        for slot in 0..100 {
            index.append(slot, &Pattern { context: round, source: slot as i32 / 2, tag: 0 });
        }
        assert_eq!(index.lists(), 50);
        for slot in (0..100).rev() {
            index.unlink(slot);
        }
        assert_eq!(index.lists(), 0);
        assert_eq!(index.longest_chain(), 0);
    }
}

/// Ranks, tags and contexts in the regular patterns of programs must not collide in a few buckets.
#[test]
fn hash_spreads_regular_patterns() {
    type Shape = fn(u32) -> (u32, i32, i32);
    let shapes: [(&str, Shape); 8] = [
        ("ranks", |n| (2, n as i32, 0)),
        ("tags", |n| (2, 1, n as i32)),
        ("tags by 1024", |n| (2, 1, n as i32 * 1024)),
        ("tags by 65536", |n| (2, 1, (n as i32).wrapping_mul(65536) & i32::MAX)),
        ("ranks by 4096", |n| (2, n as i32 * 4096, 7)),
        ("square", |n| (2, n as i32 % 128, n as i32 / 128)),
        ("contexts", |n| (n * 2, 1, 1)),
        ("any source", |n| (2, ANY_SOURCE, n as i32)),
    ];
    for (name, shape) in shapes {
        let mut index = index::Index::new();
        for slot in 0..16_384 {
            let (context, source, tag) = shape(slot);
            index.append(slot, &Pattern { context, source, tag });
        }
        assert!(index.longest_chain() <= 10, "{name}: {}", index.longest_chain());
    }
}

/// `cargo test --release -p oxmpi-core matching -- --ignored --nocapture`
#[test]
#[ignore = "measures"]
fn what_an_operation_costs() {
    type Value = [u64; 8];
    const ROUND: u64 = 100_000;
    let value: Value = black_box([1; 8]);
    let envelope = |n: u64| Envelope { context: 2, source: (n % 16) as i32, tag: (n / 16) as i32 };
    let measure = |name: &str, work: &mut dyn FnMut()| {
        let time = |_| {
            let start = Instant::now();
            work();
            start.elapsed().as_nanos() as f64 / ROUND as f64
        };
        let best = (0..20).map(time).fold(f64::MAX, f64::min);
        println!("{name:55} {best:6.1} ns");
    };
    for depth in [0, 1, 4, 10, 1000, 10_000, 100_000] {
        for (name, same) in [("distinct", false), ("same key", true)] {
            let key = |n: u64| if same { envelope(0) } else { envelope(n) };
            let keys: Vec<Envelope> = (0..ROUND).map(|n| key(n % (depth + 1))).collect();
            let mut posted: PostedQueue<Value> = PostedQueue::new();
            (0..depth).for_each(|n| _ = posted.post(key(n).into(), value));
            measure(&format!("post + match, {depth} outstanding, {name}"), &mut || {
                for key in &keys {
                    posted.post((*key).into(), value);
                    black_box(posted.take_match(key).map(|value| value[0]));
                }
            });
            let mut unexpected: UnexpectedQueue<Value> = UnexpectedQueue::new();
            (0..depth).for_each(|n| _ = unexpected.push(key(n), value));
            measure(&format!("push + take, {depth} outstanding, {name}"), &mut || {
                for key in &keys {
                    unexpected.push(*key, value);
                    black_box(unexpected.take(&(*key).into()).map(|(_, value)| value[0]));
                }
            });
        }
        let any = Pattern { context: 2, source: ANY_SOURCE, tag: ANY_TAG };
        let mut posted: PostedQueue<Value> = PostedQueue::new();
        (0..depth).for_each(|n| _ = posted.post(envelope(n + 1).into(), value));
        measure(&format!("post any + match, {depth} outstanding"), &mut || {
            for _ in 0..ROUND {
                posted.post(any, value);
                black_box(posted.take_match(&envelope(0)).map(|value| value[0]));
            }
        });
        let mut unexpected: UnexpectedQueue<Value> = UnexpectedQueue::new();
        (0..depth).for_each(|n| _ = unexpected.push(envelope(n), value));
        measure(&format!("push + take any, {depth} outstanding"), &mut || {
            for n in 0..ROUND {
                unexpected.push(envelope(n), value);
                black_box(unexpected.take(&any).map(|(_, value)| value[0]));
            }
        });
    }
}
