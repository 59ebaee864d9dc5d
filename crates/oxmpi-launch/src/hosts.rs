//! Host lists and host files. For now every host must be this machine; another one is an error that says so.

use std::fs;
use std::net::{IpAddr, ToSocketAddrs, UdpSocket};
use std::path::Path;

type Result<T> = std::result::Result<T, String>;

/// The slots that `HOST[:SLOTS],…` gives to this machine.
pub fn slots_of_list(list: &str) -> Result<usize> {
    let mut slots = 0;
    for host in list.split(',').map(str::trim).filter(|host| !host.is_empty()) {
        slots += slots_of(host, None)?;
    }
    if slots == 0 {
        return Err("the host list is empty".into());
    }
    Ok(slots)
}

/// The slots that a host file gives to this machine.
pub fn slots_of_file(file: &Path) -> Result<usize> {
    let text =
        fs::read_to_string(file).map_err(|error| format!("cannot read the host file {}: {error}", file.display()))?;
    let mut slots = 0;
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(host) = words.next() else { continue };
        let given = words.find_map(|word| word.strip_prefix("slots="));
        slots += slots_of(host, given).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    if slots == 0 {
        return Err(format!("the host file {} names no host", file.display()));
    }
    Ok(slots)
}

fn slots_of(host: &str, given: Option<&str>) -> Result<usize> {
    let (name, inline) = split(host);
    if !is_here(name) {
        return Err(format!(
            "the host `{name}` is not this machine ({}); OxMPI does not span several machines yet",
            own_name()
        ));
    }
    match given.or(inline) {
        None => Ok(1),
        Some(slots) => match slots.parse::<usize>() {
            Ok(n) if n > 0 && n < 1 << 20 => Ok(n),
            _ => Err(format!("the host `{name}` has `{slots}` slots, which is not a number")),
        },
    }
}

/// `host:slots`, `[v6]:slots`, or a bare IPv6 address, whose colons are its own.
fn split(host: &str) -> (&str, Option<&str>) {
    if let Some((name, tail)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (name, tail.strip_prefix(':'));
    }
    match host.split_once(':') {
        Some((name, slots)) if !slots.contains(':') => (name, Some(slots)),
        _ => (host, None),
    }
}

fn is_here(name: &str) -> bool {
    let own = own_name();
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    if name.eq_ignore_ascii_case("localhost") || name.eq_ignore_ascii_case(&own) {
        return true;
    }
    // Whether a socket can be bound to an address tells whether it is ours.
    let ours = |ip: IpAddr| UdpSocket::bind((ip, 0)).is_ok();
    if let Ok(ip) = name.parse() {
        return ours(ip);
    }
    // One of the names has a domain and the other has none: then the host part decides.
    if name.contains('.') != own.contains('.') && short(name) == short(&own) {
        return true;
    }
    (name, 0).to_socket_addrs().is_ok_and(|mut found| found.any(|address| ours(address.ip())))
}

/// This machine's name.
pub fn own_name() -> String {
    match fs::read_to_string("/proc/sys/kernel/hostname") {
        Ok(name) if !name.trim().is_empty() => name.trim().to_string(),
        _ => "localhost".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_by_all_its_names() {
        for name in
            ["localhost", "127.0.0.1", "127.0.0.2", "::1", "[::1]", &own_name(), &format!("{}.example", own_name())]
        {
            // A machine may have no IPv6 at all.
            if name.contains("::1") && UdpSocket::bind(("::1", 0)).is_err() {
                continue;
            }
            assert_eq!(slots_of_list(name), Ok(1), "{name}");
        }
        assert_eq!(slots_of_list("localhost:4,127.0.0.1:2"), Ok(6));
        assert!(slots_of_list("localhost:x").is_err());
        assert!(slots_of_list(",").is_err());
    }

    #[test]
    fn another_machine_is_named() {
        let error = slots_of_list("192.0.2.7").unwrap_err();
        assert!(error.contains("192.0.2.7") && error.contains("several machines"));
    }

    #[test]
    fn host_files_of_both_dialects() {
        let path = std::env::temp_dir().join(format!("oxmpi-hosts-{}", std::process::id()));
        fs::write(&path, "# ours\nlocalhost slots=2 max_slots=4\n\nlocalhost:3  # more\n127.0.0.1\n").unwrap();
        assert_eq!(slots_of_file(&path), Ok(6));
        fs::write(&path, "# nothing\n").unwrap();
        assert!(slots_of_file(&path).is_err());
        fs::remove_file(&path).unwrap();
        assert!(slots_of_file(&path).is_err());
    }
}
