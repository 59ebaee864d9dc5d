//! Parses the values of options. Each error says which values are valid.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use oxmpi_base::cpus::CpuSet;

use crate::nodes::{self, PretendNodes};
use crate::output::Label;

use super::{Launcher, Mistake, OutputDir, Result, Settings, Stdin, Values};

/// More ranks than this on one machine are a typing mistake.
const MOST: usize = 1 << 16;

/// A level of the machine's hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    HwThread,
    Core,
    L3Cache,
    Numa,
    Socket,
    Machine,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindTo {
    None,
    Level(Level),
    /// A set of CPUs for each rank, used in turn.
    Sets(Vec<CpuSet>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapBy {
    pub level: Option<Level>,
    pub cores_per_rank: Option<usize>,
    /// `ppr:N:level`: the number of ranks on each object.
    pub ranks_per: Option<usize>,
    pub no_oversubscribe: bool,
}

impl Values<'_> {
    pub(super) fn count(&mut self) -> Result<usize> {
        let text = self.text()?;
        match text.parse::<usize>() {
            Ok(n @ 1..=MOST) => Ok(n),
            Ok(0) => Err(self.wrong(&text, "must be at least 1")),
            Ok(_) => Err(self.wrong(&text, &format!("is more than {MOST}"))),
            Err(_) => Err(self.wrong(&text, "is not a number")),
        }
    }

    pub(super) fn number(&mut self) -> Result<i32> {
        let text = self.text()?;
        match text.parse() {
            Ok(number @ 0..) => Ok(number),
            _ => Err(self.wrong(&text, "is not a number from 0 on")),
        }
    }

    pub(super) fn seconds(&mut self) -> Result<Duration> {
        let text = self.text()?;
        match text.trim_end_matches('s').parse::<f64>() {
            Ok(seconds) if seconds > 0.0 && seconds < 1e9 => Ok(Duration::from_secs_f64(seconds)),
            _ => Err(self.wrong(&text, "is not a number of seconds")),
        }
    }

    pub(super) fn one_of(&mut self, known: &[&'static str]) -> Result<&'static str> {
        let text = self.text()?;
        match known.iter().find(|name| name.eq_ignore_ascii_case(&text)) {
            Some(name) => Ok(name),
            None => Err(self.wrong(&text, &format!("is none of {}", known.join(", ")))),
        }
    }

    pub(super) fn names(&mut self) -> Result<Vec<OsString>> {
        Ok(self.text()?.split(',').filter(|name| !name.is_empty()).map(OsString::from).collect())
    }

    pub(super) fn cpus(&mut self) -> Result<CpuSet> {
        let text = self.text()?;
        CpuSet::parse(&text)
            .filter(|set| !set.is_empty())
            .ok_or_else(|| self.wrong(&text, "is not a list of CPUs such as 0-3,8"))
    }

    pub(super) fn port_range(&mut self) -> Result<(u16, u16)> {
        let text = self.text()?;
        port_range(&text).ok_or_else(|| self.wrong(&text, "is no range of ports such as 20000-20099"))
    }

    pub(super) fn launcher(&mut self) -> Result<Launcher> {
        Ok(match self.one_of(&["ssh", "rsh", "slurm", "pbs", "local"])? {
            "ssh" => Launcher::Ssh,
            "rsh" => Launcher::Rsh,
            "slurm" => Launcher::Slurm,
            "pbs" => Launcher::Pbs,
            _ => Launcher::Local,
        })
    }

    pub(super) fn pretend_nodes(&mut self) -> Result<PretendNodes> {
        let text = self.text()?;
        PretendNodes::parse(&text).ok_or_else(|| self.wrong(&text, nodes::FORMS))
    }

    pub(super) fn stdin(&mut self) -> Result<Stdin> {
        let text = self.text()?;
        match text.as_str() {
            "all" => Ok(Stdin::All),
            "none" => Ok(Stdin::None),
            list => match CpuSet::parse(list).filter(|ranks| !ranks.is_empty()) {
                Some(ranks) => Ok(Stdin::Ranks(ranks.iter().collect())),
                None => Err(self.wrong(&text, "is neither a rank, a list such as 0,2-3, `all` nor `none`")),
            },
        }
    }

    /// The name of a process set, with or without `app://`.
    pub(super) fn pset(&mut self) -> Result<OsString> {
        let text = self.text()?;
        let name = text.strip_prefix("app://").unwrap_or(&text);
        let safe = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~/+".contains(&byte));
        if !safe || name.len() > 255 || name.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self
                .wrong(&text, "is not a name for a process set: use letters, digits and `-._~/+`, not digits alone"));
        }
        Ok(name.into())
    }

    pub(super) fn output_dir(&mut self) -> Result<OutputDir> {
        let text = self.text()?;
        Ok(match text.strip_suffix(":nocopy") {
            Some(dir) => OutputDir { dir: PathBuf::from(dir), copy: false },
            None => OutputDir { dir: PathBuf::from(text), copy: true },
        })
    }

    /// Open MPI's `--output tag,merge,dir=…`.
    pub(super) fn output(&mut self, settings: &mut Settings) -> Result<()> {
        let text = self.text()?;
        let (text, copy) = match text.split_once(':') {
            Some((head, tail)) => (head.to_string(), !tail.eq_ignore_ascii_case("nocopy")),
            None => (text, true),
        };
        for word in text.split(',') {
            match word.split_once('=') {
                Some(("dir" | "directory" | "file" | "filename", dir)) => {
                    settings.output_dir = Some(OutputDir { dir: dir.into(), copy })
                }
                None if word.starts_with("tag") || word == "rank" => settings.label = Label::Rank,
                None if word.starts_with("merge") => settings.merge_stderr = true,
                _ => return Err(self.wrong(word, "is not one of tag, merge, dir=DIR")),
            }
        }
        Ok(())
    }

    pub(super) fn bind_to(&mut self) -> Result<BindTo> {
        let text = self.text()?.to_ascii_lowercase();
        if let Some(sets) = text.strip_prefix("user:") {
            let sets = sets.split(',').map(|set| CpuSet::parse(&set.replace('+', ",")).filter(|set| !set.is_empty()));
            return match sets.collect() {
                Some(sets) => Ok(BindTo::Sets(sets)),
                None => Err(self.wrong(&text, "is not a list such as user:0+1,2+3")),
            };
        }
        // Modifiers such as `:overload-allowed` ask for what is always allowed.
        match text.split(':').next().unwrap_or_default() {
            "none" | "no" | "off" => Ok(BindTo::None),
            "rr" => Ok(BindTo::Level(Level::Core)),
            name => match level(name) {
                Some(Level::Machine) => Ok(BindTo::None),
                Some(level) => Ok(BindTo::Level(level)),
                None => Err(self.wrong(name, "is not one of none, hwthread, core, l3cache, numa, socket")),
            },
        }
    }

    pub(super) fn map_by(&mut self) -> Result<MapBy> {
        let text = self.text()?.to_ascii_lowercase();
        let mut map = MapBy::default();
        let mut words = text.split([':', ',']).peekable();
        if words.peek() == Some(&"ppr") {
            words.next();
            let n = words.next().and_then(|n| n.parse().ok()).filter(|n| (1..=MOST).contains(n));
            map.ranks_per = Some(n.ok_or_else(|| self.wrong(&text, "is not of the form ppr:N:socket"))?);
        }
        for word in words {
            match word.split_once('=') {
                Some(("pe" | "cpus-per-rank", n)) => {
                    let n = n.parse().ok().filter(|n| (1..=MOST).contains(n));
                    map.cores_per_rank = Some(n.ok_or_else(|| self.wrong(&text, "is not of the form core:PE=N"))?);
                }
                None if matches!(word, "nooversubscribe") => map.no_oversubscribe = true,
                None if matches!(word, "" | "oversubscribe" | "span" | "hwtcpus" | "corecpus" | "nolocal") => {}
                _ => match level(word) {
                    Some(level) => map.level = Some(level),
                    None => return Err(self.wrong(word, "is not one of core, hwthread, l3cache, numa, socket, node")),
                },
            }
        }
        Ok(map)
    }

    fn wrong(&self, value: &str, what: &str) -> Mistake {
        Mistake(format!("`{}`: `{value}` {what}", self.name()))
    }
}

/// `FIRST-LAST`, `FIRST:LAST` or one port.
pub(super) fn port_range(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once(['-', ':']).unwrap_or((text, text));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first > 0 && first <= last).then_some((first, last))
}

fn level(name: &str) -> Option<Level> {
    Some(match name {
        "hwthread" | "thread" | "pu" => Level::HwThread,
        "core" | "slot" | "l1cache" | "l2cache" | "l1" | "l2" => Level::Core,
        "l3cache" | "l3" => Level::L3Cache,
        "numa" | "numanode" => Level::Numa,
        "socket" | "package" | "board" => Level::Socket,
        "machine" | "node" | "host" => Level::Machine,
        _ => return None,
    })
}

/// Splits a line into words as a shell does, with quotes and backslashes, without substitutions.
pub fn shell_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().push(chars.next()?),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}
