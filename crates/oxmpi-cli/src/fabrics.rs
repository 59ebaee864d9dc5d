//! What libfabric offers on this machine, for `oxmpi doctor`. Another process asks it: a provider may hang or crash.

use oxmpi_boot::net;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The command of that process.
pub const LIST: &str = "__providers";
/// How long it may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Prints what libfabric offers: that process.
pub fn list() -> (String, i32) {
    match oxmpi_fabric::providers() {
        Ok(text) => (text, 0),
        Err(text) => (text, 1),
    }
}

/// Cards, providers, and what `mpirun` would take.
pub fn describe() -> String {
    let cards = net::cards(Path::new("/sys"));
    let (cards, choice) = match cards.is_empty() {
        true => ("no card of a fast network".into(), "also with --net auto"),
        false => (format!("the cards {}", cards.join(", ")), "unless --net auto or --net ofi is given"),
    };
    format!("there is {cards}; {}. Messages between hosts go over TCP, {choice}.", ask())
}

fn ask() -> String {
    let Ok(own) = std::env::current_exe() else { return "libfabric was not asked".into() };
    let started = Command::new(own).arg(LIST).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = started else { return "libfabric was not asked".into() };
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.code().is_some() => break,
            Ok(Some(status)) => return format!("libfabric ended a process that asked for its providers ({status})"),
            Ok(None) if start.elapsed() < LIMIT => std::thread::sleep(Duration::from_millis(10)),
            _ => {
                // It may have ended meanwhile.
                let _ = child.kill();
                let _ = child.wait();
                return format!("libfabric did not list its providers within {} seconds", LIMIT.as_secs());
            }
        }
    }
    let mut text = String::new();
    match child.stdout.take().map(|mut out| out.read_to_string(&mut text)) {
        Some(Ok(_)) if !text.is_empty() => text,
        _ => "libfabric was not asked".into(),
    }
}
