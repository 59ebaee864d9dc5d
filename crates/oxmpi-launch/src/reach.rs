//! The addresses under which other hosts reach this one.

use std::net::{IpAddr, Ipv4Addr};

use oxmpi_base::dial::{self, InterfaceAddress};
use oxmpi_boot::network::MOST_ADDRESSES;

/// Where a node listens, as the user says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listening {
    pub port_range: Option<(u16, u16)>,
    /// An interface, or a network as `ADDRESS/BITS`.
    pub interface: Option<String>,
}

/// The addresses of this host, the best first. `wanted`: an interface or a network that the user named.
pub fn addresses(pretended: bool, wanted: Option<&str>) -> Result<Vec<IpAddr>, String> {
    if pretended {
        return Ok(vec![Ipv4Addr::LOCALHOST.into()]);
    }
    let found = dial::interface_addresses().map_err(|error| format!("cannot list the network interfaces: {error}"))?;
    let ssh = std::env::var("SSH_CONNECTION").unwrap_or_default();
    choose(&found, wanted, ssh.split_whitespace().nth(2).and_then(|address| address.parse().ok()))
}

fn choose(found: &[InterfaceAddress], wanted: Option<&str>, ssh: Option<IpAddr>) -> Result<Vec<IpAddr>, String> {
    let mut list: Vec<&InterfaceAddress> = found.iter().collect();
    if let Some(wanted) = wanted {
        // Only this machine itself.
        if wanted == "lo" || is_in(Ipv4Addr::LOCALHOST.into(), wanted) && !wanted.ends_with("/0") {
            return Ok(vec![Ipv4Addr::LOCALHOST.into()]);
        }
        list.retain(|one| one.interface == wanted || is_in(one.address, wanted));
        if list.is_empty() {
            let known: Vec<String> = found.iter().map(|one| format!("{} {}", one.interface, one.address)).collect();
            return Err(format!("--net-interface {wanted}: there is no such address; there are: {}", known.join(", ")));
        }
    }
    // The address that the launcher's connection came to is known to work. Tunnels are slow.
    list.sort_by_key(|one| (Some(one.address) != ssh, one.is_tunnel));
    let mut addresses: Vec<IpAddr> = list.iter().map(|one| one.address).take(MOST_ADDRESSES).collect();
    if addresses.is_empty() {
        addresses.push(Ipv4Addr::LOCALHOST.into());
    }
    Ok(addresses)
}

/// Whether an address is in a network `ADDRESS/BITS`.
fn is_in(address: IpAddr, network: &str) -> bool {
    let Some((base, bits)) = network.split_once('/') else { return network.parse() == Ok(address) };
    let number = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, 32),
        IpAddr::V6(address) => (u128::from(address), 128),
    };
    let (Ok(base), Ok(bits)) = (base.parse::<IpAddr>(), bits.parse::<u32>()) else { return false };
    let ((own, length), (base, _)) = (number(address), number(base));
    base_is_same_kind(address, network) && bits <= length && (bits == 0 || (own ^ base) >> (128 - bits) == 0)
}

fn base_is_same_kind(address: IpAddr, network: &str) -> bool {
    address.is_ipv6() == network.contains(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found() -> Vec<InterfaceAddress> {
        let one = |interface: &str, address: &str, is_tunnel| InterfaceAddress {
            interface: interface.into(),
            address: address.parse().unwrap(),
            is_tunnel,
        };
        vec![one("tun0", "100.64.0.1", true), one("docker0", "172.17.0.1", false), one("eth0", "198.18.0.1", false)]
    }

    fn chosen(wanted: Option<&str>, ssh: Option<&str>) -> Result<Vec<String>, String> {
        let ssh = ssh.map(|address| address.parse().unwrap());
        Ok(choose(&found(), wanted, ssh)?.iter().map(IpAddr::to_string).collect())
    }

    #[test]
    fn the_address_of_the_launcher_is_first_and_tunnels_are_last() {
        assert_eq!(chosen(None, Some("198.18.0.1")).unwrap(), ["198.18.0.1", "172.17.0.1", "100.64.0.1"]);
        assert_eq!(chosen(None, None).unwrap(), ["172.17.0.1", "198.18.0.1", "100.64.0.1"]);
        // An address that is not ours, behind a translator of addresses, is not used.
        assert_eq!(chosen(None, Some("203.0.113.9")).unwrap()[0], "172.17.0.1");
    }

    #[test]
    fn the_user_may_choose() {
        assert_eq!(chosen(Some("eth0"), None).unwrap(), ["198.18.0.1"]);
        assert_eq!(chosen(Some("198.18.0.0/16"), None).unwrap(), ["198.18.0.1"]);
        assert_eq!(chosen(Some("100.64.0.1/32"), None).unwrap(), ["100.64.0.1"]);
        assert_eq!(chosen(Some("0.0.0.0/0"), None).unwrap().len(), 3);
        for wrong in ["eth9", "10.0.0.0/8", "::/0", "198.18.0.0/77", "x/8"] {
            let error = chosen(Some(wrong), None).unwrap_err();
            assert!(error.contains(wrong) && error.contains("docker0 172.17.0.1"), "{error}");
        }
        assert_eq!(chosen(Some("lo"), None).unwrap(), ["127.0.0.1"]);
        assert_eq!(chosen(Some("127.0.0.0/8"), None).unwrap(), ["127.0.0.1"]);
        assert_eq!(choose(&[], None, None).unwrap(), [IpAddr::V4(Ipv4Addr::LOCALHOST)]);
    }
}
