//! Deals the ranks of a job to its hosts.

use crate::hosts::Host;
use crate::options::{Level, Settings};

/// The hosts of a job, each once, in the order in which the user named them.
pub fn merge(hosts: &[Host]) -> Vec<Host> {
    let mut merged: Vec<Host> = Vec::new();
    for host in hosts {
        match merged.iter_mut().find(|known| known.name == host.name) {
            None => merged.push(host.clone()),
            Some(known) => {
                known.slots += host.slots;
                known.max_slots = match (known.max_slots, host.max_slots) {
                    (Some(a), Some(b)) => Some(a + b),
                    _ => None,
                };
            }
        }
    }
    merged
}

/// The hosts where some have got the names of others, because they are the same machines: pairs of a name and the one
/// that is used for it.
pub fn rename(hosts: &[Host], same: &[(String, String)]) -> Vec<Host> {
    let renamed = hosts.iter().map(|host| match same.iter().find(|(name, _)| *name == host.name) {
        Some((_, first)) => Host { name: first.clone(), ..host.clone() },
        None => host.clone(),
    });
    merge(&renamed.collect::<Vec<_>>())
}

/// How many ranks the job has when the user does not say it.
pub fn default_count(hosts: &[Host], settings: &Settings) -> usize {
    match per_host(settings) {
        Some(per) => per * hosts.len(),
        None => hosts.iter().map(|host| host.slots).sum(),
    }
}

/// The host of each rank.
pub fn deal(hosts: &[Host], ranks: usize, settings: &Settings) -> Result<Vec<u32>, String> {
    let slots: usize = match per_host(settings) {
        Some(per) => per * hosts.len(),
        None => hosts.iter().map(|host| host.slots).sum(),
    };
    if settings.no_oversubscribe && ranks > slots {
        return Err(format!(
            "--nooversubscribe was given, and {ranks} ranks are more than the {slots} slots of the hosts"
        ));
    }
    let most: Option<usize> = hosts.iter().map(|host| host.max_slots).sum();
    if let Some(most) = most.filter(|&most| ranks > most) {
        return Err(format!("{ranks} ranks are more than the {most} that max_slots allows in the host file"));
    }
    let round = |host: &Host| per_host(settings).unwrap_or(host.slots);
    let by_node =
        settings.map_by.as_ref().is_some_and(|map| map.level == Some(Level::Machine) && map.ranks_per.is_none());
    let mut dealt = Vec::with_capacity(ranks);
    let mut used = vec![0; hosts.len()];
    let mut limit: Vec<usize> =
        hosts.iter().map(|host| round(host).min(host.max_slots.unwrap_or(usize::MAX))).collect();
    while dealt.len() < ranks {
        let before = dealt.len();
        for number in 0..hosts.len() {
            let room = limit[number].saturating_sub(used[number]);
            let here = if by_node { room.min(1) } else { room }.min(ranks - dealt.len());
            used[number] += here;
            dealt.extend(std::iter::repeat_n(number as u32, here));
        }
        if dealt.len() == before {
            // All slots are taken: every host gets as many again, as far as its max_slots allows.
            for (limit, host) in limit.iter_mut().zip(hosts) {
                *limit = (*limit + round(host)).min(host.max_slots.unwrap_or(usize::MAX));
            }
        }
    }
    if settings.rank_by_core {
        dealt.sort_unstable();
    }
    Ok(dealt)
}

/// Ranks of each host, if the user says it.
fn per_host(settings: &Settings) -> Option<usize> {
    let mapped = settings.map_by.as_ref().filter(|map| map.level.is_none_or(|level| level == Level::Machine));
    settings.per_host.or_else(|| mapped?.ranks_per)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts;
    use crate::options::MapBy;

    fn dealt(list: &str, ranks: usize, settings: &Settings) -> Result<Vec<u32>, String> {
        deal(&merge(&hosts::parse_list(list).unwrap()), ranks, settings)
    }

    fn by_node() -> Settings {
        Settings { map_by: Some(MapBy { level: Some(Level::Machine), ..MapBy::default() }), ..Settings::default() }
    }

    #[test]
    fn slots_are_filled_in_order() {
        let settings = Settings::default();
        assert_eq!(dealt("a:2,b:3", 5, &settings).unwrap(), [0, 0, 1, 1, 1]);
        assert_eq!(dealt("a:2,b:3", 3, &settings).unwrap(), [0, 0, 1]);
        assert_eq!(dealt("a:2,b:1", 7, &settings).unwrap(), [0, 0, 1, 0, 0, 1, 0], "more ranks than slots");
        assert_eq!(dealt("a,b,a", 3, &settings).unwrap(), [0, 0, 1], "a host that is named twice has two slots");
    }

    #[test]
    fn one_rank_to_each_host_in_turn() {
        assert_eq!(dealt("a:3,b:1,c:2", 6, &by_node()).unwrap(), [0, 1, 2, 0, 2, 0]);
        let sorted = Settings { rank_by_core: true, ..by_node() };
        assert_eq!(dealt("a:3,b:1,c:2", 6, &sorted).unwrap(), [0, 0, 0, 1, 2, 2]);
    }

    #[test]
    fn so_many_on_each_host() {
        let settings = Settings { per_host: Some(2), ..Settings::default() };
        assert_eq!(dealt("a:8,b:8", 4, &settings).unwrap(), [0, 0, 1, 1]);
        let hosts = hosts::parse_list("a,b,c").unwrap();
        assert_eq!(default_count(&hosts, &settings), 6);
        assert_eq!(default_count(&hosts, &Settings::default()), 3);
        let map_by = Some(MapBy { level: Some(Level::Machine), ranks_per: Some(3), ..MapBy::default() });
        assert_eq!(default_count(&hosts, &Settings { map_by, ..Settings::default() }), 9);
    }

    #[test]
    fn names_of_one_machine_become_one_host() {
        let hosts = merge(&hosts::parse_list("a:2,b:1,c:3").unwrap());
        let renamed = rename(&hosts, &[("c".into(), "a".into())]);
        let short: Vec<_> = renamed.iter().map(|host| (host.name.as_str(), host.slots)).collect();
        assert_eq!(short, [("a", 5), ("b", 1)]);
    }

    #[test]
    fn limits_are_kept() {
        let host = |slots, max_slots| Host { name: "h".into(), slots, max_slots };
        let named = |name: &str, host: Host| Host { name: name.into(), ..host };
        let hosts = [named("a", host(1, Some(2))), named("b", host(1, None))];
        assert_eq!(deal(&hosts, 6, &Settings::default()).unwrap(), [0, 1, 0, 1, 1, 1]);
        let hosts = [named("a", host(1, Some(2))), named("b", host(1, Some(1)))];
        assert!(deal(&hosts, 4, &Settings::default()).unwrap_err().contains("the 3 that max_slots"));
        let settings = Settings { no_oversubscribe: true, ..Settings::default() };
        assert!(deal(&hosts, 3, &settings).unwrap_err().contains("--nooversubscribe"));
    }
}
