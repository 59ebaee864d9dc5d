//! The conformance suite over a false libfabric that is as strict as a provider may be (`oxmpi-fabric/tests/false_fabric.c`).
//! Another process of this program runs it, because a process has one libfabric.

use oxmpi_fabric::{Endpoint, Seat};
use oxmpi_testkit::{Link, suite};
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn a_strict_provider() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../oxmpi-fabric/tests");
    let library = folder.join("false_libfabric.so");
    let script = format!("-Wl,--version-script={}", sources.join("false_fabric.map").display());
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-pthread", &script, "-o"]).arg(&library);
    assert!(cc.arg(sources.join("false_fabric.c")).status().unwrap().success());
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests.args(["--ignored", "--test-threads", "2"]).env("OXMPI_LIBFABRIC", &library);
    assert!(tests.status().unwrap().success());
}

/// It has two cards: one that can run on the CPUs of one socket takes the card of that socket.
#[test]
#[ignore = "needs the false library: `a_strict_provider` runs it"]
fn the_nearest_card() {
    let sys = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cards-{}", std::process::id()));
    for (node, cpus, distance, bus) in [(0, "0-3", "10 21", "01"), (1, "4-7", "21 10", "81")] {
        let folder = sys.join(format!("devices/system/node/node{node}"));
        let device = sys.join(format!("bus/pci/devices/0000:{bus}:00.0"));
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(&device).unwrap();
        fs::write(folder.join("cpulist"), cpus).unwrap();
        fs::write(folder.join("distance"), distance).unwrap();
        fs::write(device.join("numa_node"), node.to_string()).unwrap();
    }
    for (cpu, card) in [(2, "false0 at 0000:01:00.0"), (6, "false1 at 0000:81:00.0")] {
        let seat = Seat { sys: sys.clone(), cpus: [cpu].into_iter().collect(), turn: 0 };
        let endpoint = Endpoint::open(Some("false"), &seat).unwrap();
        assert_eq!(endpoint.describe(), format!("false on {card}, the nearest of 2 cards, (libfabric 1.99)"));
    }
    fs::remove_dir_all(&sys).unwrap();
}

macro_rules! tests {
    ($($name:ident),* $(,)?) => {$(
        #[test]
        #[ignore = "needs the false library: `a_strict_provider` runs it"]
        fn $name() {
            suite::$name(Link::Fabric("false"));
        }
    )*};
}

tests! {
    cancel_races_with_claim, cancelled_receives, flood_with_bounded_memory, floods_that_meet, long_transfers, many_cancels,
    many_senders_to_any_source, matched_probe, ordering, synchronous_mode, truncation, types_with_gaps,
    withdrawn_messages_are_not_probed, death_of_a_peer, death_at_any_time,
}
