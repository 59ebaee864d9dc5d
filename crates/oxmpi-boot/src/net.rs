//! What messages between hosts go over, as the user says it: `--net` of `mpirun`, or `OXMPI_NET`.

use std::path::Path;

/// The environment variable. All ranks of a job must have the same value.
pub const VARIABLE: &str = "OXMPI_NET";

/// Set by `mpirun -v`: the first rank of each node says what it has taken, and why.
pub const SAY: &str = "OXMPI_NET_SAY";

/// Where the kernel lists the cards of fast networks: InfiniBand, RoCE, EFA, Omni-Path; Slingshot.
const CARDS: [&str; 2] = ["class/infiniband", "class/cxi"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Net {
    Tcp,
    /// libfabric where there is a card of a fast network, else TCP.
    Auto,
    /// libfabric: this provider, or the first one of a real fabric.
    Fabric(Option<String>),
}

impl Net {
    /// What a text says; an error names what it could be.
    pub fn parse(text: &str) -> Result<Net, String> {
        let wrong = || format!("`{text}` is no network: `auto`, `tcp`, `ofi` (libfabric) or `ofi:PROVIDER`");
        match text.trim() {
            "" | "tcp" => Ok(Net::Tcp),
            "auto" => Ok(Net::Auto),
            "ofi" => Ok(Net::Fabric(None)),
            text => {
                let provider = text.strip_prefix("ofi:").filter(|name| !name.is_empty() && !name.contains('\0'));
                Ok(Net::Fabric(Some(provider.ok_or_else(wrong)?.into())))
            }
        }
    }

    /// What the environment says.
    pub fn from(var: &impl Fn(&str) -> Option<String>) -> Result<Net, String> {
        Net::parse(&var(VARIABLE).unwrap_or_default()).map_err(|error| format!("{VARIABLE}: {error}"))
    }
}

/// The cards of fast networks that a `/sys` lists, by name.
pub fn cards(sys: &Path) -> Vec<String> {
    let folders = CARDS.iter().filter_map(|folder| sys.join(folder).read_dir().ok());
    let names = folders.flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        assert_eq!((Net::parse(""), Net::parse("tcp")), (Ok(Net::Tcp), Ok(Net::Tcp)));
        assert_eq!(Net::parse("auto"), Ok(Net::Auto));
        assert_eq!(Net::parse("ofi"), Ok(Net::Fabric(None)));
        assert_eq!(Net::parse("ofi:tcp;ofi_rxm"), Ok(Net::Fabric(Some("tcp;ofi_rxm".into()))));
        for wrong in ["ofi:", "infiniband", "ofi:a\0b"] {
            assert!(Net::parse(wrong).unwrap_err().contains("`ofi:PROVIDER`"));
        }
        let error = Net::from(&|name: &str| (name == VARIABLE).then(|| "x".into())).unwrap_err();
        assert!(error.starts_with("OXMPI_NET: `x`"), "{error}");
    }

    #[test]
    fn cards_of_fast_networks() {
        let sys = std::env::temp_dir().join(format!("oxmpi-cards-{}", std::process::id()));
        assert!(cards(&sys).is_empty());
        for card in ["class/infiniband/mlx5_1", "class/infiniband/mlx5_0", "class/cxi/cxi0", "class/net/eth0"] {
            std::fs::create_dir_all(sys.join(card)).unwrap();
        }
        assert_eq!(cards(&sys), ["cxi0", "mlx5_0", "mlx5_1"]);
        std::fs::remove_dir_all(&sys).unwrap();
    }
}
