//! The clocks of hosts against each other, from the messages themselves: none can arrive before it was sent. Of the
//! differences between the two times of each message from one host to another, the smallest is the shortest way plus the
//! difference of the clocks; with messages in both directions the ways cancel.

use std::collections::{BTreeMap, VecDeque};

/// For each pair of hosts the smallest difference of the receiver's time and the sender's, in nanoseconds.
pub type Shortest = BTreeMap<(usize, usize), i64>;

/// Notes the two times of a message.
pub fn note(shortest: &mut Shortest, from: usize, to: usize, sent: u64, matched: u64) {
    let took = matched.wrapping_sub(sent) as i64;
    let least = shortest.entry((from, to)).or_insert(took);
    *least = (*least).min(took);
}

/// By how much each clock is ahead of the first host's; `None` where no messages went both ways.
pub fn ahead(shortest: &Shortest, hosts: usize) -> Vec<Option<i64>> {
    let mut ahead = vec![None; hosts];
    let mut open = VecDeque::new();
    if hosts > 0 {
        ahead[0] = Some(0);
        open.push_back(0);
    }
    while let Some(host) = open.pop_front() {
        let own: i64 = ahead[host].unwrap_or(0);
        for (other, known) in ahead.iter_mut().enumerate().filter(|(_, known)| known.is_none()) {
            if let (Some(there), Some(back)) = (shortest.get(&(host, other)), shortest.get(&(other, host))) {
                *known = Some(own.saturating_add(there.saturating_sub(*back) / 2));
                open.push_back(other);
            }
        }
    }
    ahead
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_cancel() {
        let mut shortest = Shortest::new();
        // The second clock is 1000 ahead, and a message takes 20, the first one longer.
        note(&mut shortest, 0, 1, 100, 1_200);
        note(&mut shortest, 0, 1, 200, 1_220);
        note(&mut shortest, 1, 0, 1_500, 520);
        // The third one is 50 behind the second; nothing goes between it and the first.
        note(&mut shortest, 1, 2, 2_000, 1_970);
        note(&mut shortest, 2, 1, 2_000, 2_070);
        note(&mut shortest, 0, 3, 1, 2);
        assert_eq!(ahead(&shortest, 4), [Some(0), Some(1_000), Some(950), None]);
        assert_eq!(ahead(&shortest, 0), []);
    }
}
