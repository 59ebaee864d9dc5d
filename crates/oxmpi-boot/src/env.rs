//! The environment variables with which `mpirun` tells a rank its place in the job. Only this
//! module writes and reads them.

use std::str::FromStr;

use crate::apps::{self, App};

use oxmpi_abi::{Error, Result};

pub const RANK: &str = "OXMPI_RANK";
pub const SIZE: &str = "OXMPI_SIZE";
pub const LOCAL_RANK: &str = "OXMPI_LOCAL_RANK";
pub const LOCAL_SIZE: &str = "OXMPI_LOCAL_SIZE";
pub const APPNUM: &str = "OXMPI_APPNUM";
/// The number of ranks of this rank's program, if a job has several programs.
pub const APP_SIZE: &str = "OXMPI_APP_SIZE";
/// The programs of the job, as [`apps::write`] writes them.
pub const APPS: &str = "OXMPI_APPS";
pub const UNIVERSE_SIZE: &str = "OXMPI_UNIVERSE_SIZE";
/// The descriptor of the segment; it has the same number in `mpirun` and in the rank.
pub const SEGMENT: &str = "OXMPI_SEGMENT";
/// The descriptor of the lifeline, likewise.
pub const LIFELINE: &str = "OXMPI_LIFELINE";
/// The pid of `mpirun` and the inodes of the two descriptors, `PID:SEGMENT:LIFELINE`. With them a
/// rank checks whether the numbers still refer to the same files, and opens the files again if not.
pub const JOB: &str = "OXMPI_JOB";

/// The mailbox of `mpirun` and the options that it passes on to spawned jobs, as [`Mailbox`] writes
/// them.
pub const SPAWN: &str = "OXMPI_SPAWN";
/// The port at which the processes that spawned this job wait for it; only in spawned jobs.
pub const PARENT: &str = "OXMPI_PARENT";

/// What a rank needs to reach other hosts, as [`NetworkEnv`] writes it.
pub const NETWORK: &str = "OXMPI_NETWORK";

/// All variables above. A launcher removes them from its inherited environment, so that jobs can be
/// nested.
pub const ALL: [&str; 14] = [
    RANK,
    SIZE,
    LOCAL_RANK,
    LOCAL_SIZE,
    APPNUM,
    APP_SIZE,
    APPS,
    UNIVERSE_SIZE,
    SEGMENT,
    LIFELINE,
    JOB,
    SPAWN,
    PARENT,
    NETWORK,
];

/// The place of a rank, as the variables describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankEnv {
    pub rank: usize,
    pub size: usize,
    pub local_rank: usize,
    pub local_size: usize,
    pub appnum: i32,
    pub app_size: usize,
    pub apps: Vec<App>,
    pub universe_size: usize,
    pub mpirun: u32,
    pub segment: i32,
    pub segment_inode: u64,
    pub lifeline: i32,
    pub lifeline_inode: u64,
    pub mailbox: Mailbox,
    pub parent: Option<String>,
    pub network: Option<NetworkEnv>,
}

/// Descriptors of a rank, inherited under the same numbers, each with its inode: the description of the network
/// ([`crate::network`]) of a job on several hosts, and the socket that the rank shares with its agent ([`crate::requests`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkEnv {
    pub description: Option<(i32, u64)>,
    pub agent: (i32, u64),
}

impl NetworkEnv {
    fn write(&self) -> String {
        let description = self.description.map_or(String::new(), |(fd, inode)| format!(":{fd}:{inode}"));
        format!("{}:{}{description}", self.agent.0, self.agent.1)
    }

    fn read(text: &str) -> Option<NetworkEnv> {
        let words: Vec<&str> = text.split(':').collect();
        let pair = |fd: &str, inode: &str| {
            let fd = fd.parse().ok().filter(|&fd| fd >= 0)?;
            Some((fd, inode.parse().ok()?))
        };
        match words[..] {
            [fd, inode] => Some(NetworkEnv { description: None, agent: pair(fd, inode)? }),
            [fd, inode, file, of_file] => {
                Some(NetworkEnv { description: Some(pair(file, of_file)?), agent: pair(fd, inode)? })
            }
            _ => None,
        }
    }
}

/// Where an `mpirun` hears of the jobs that its ranks spawn (see [`crate::spawned`]), and the
/// options that also apply to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mailbox {
    pub fd: i32,
    pub inode: u64,
    pub options: Vec<String>,
}

impl Mailbox {
    fn write(&self) -> String {
        let head = format!("{}:{}", self.fd, self.inode);
        // Words may have blanks.
        let plain = |word: &String| word.replace('%', "%25").replace(' ', "%20");
        [head].into_iter().chain(self.options.iter().map(plain)).collect::<Vec<_>>().join(" ")
    }

    pub fn read(text: &str) -> Option<Mailbox> {
        let mut words = text.split(' ');
        let (fd, inode) = words.next()?.split_once(':')?;
        let fd = fd.parse().ok().filter(|&fd| fd >= 0)?;
        Some(Mailbox {
            fd,
            inode: inode.parse().ok()?,
            options: words.map(|word| word.replace("%20", " ").replace("%25", "%")).collect(),
        })
    }
}

impl RankEnv {
    pub fn write(&self) -> Vec<(&'static str, String)> {
        let mut vars = vec![
            (RANK, self.rank.to_string()),
            (SIZE, self.size.to_string()),
            (LOCAL_RANK, self.local_rank.to_string()),
            (LOCAL_SIZE, self.local_size.to_string()),
            (APPNUM, self.appnum.to_string()),
            (APP_SIZE, self.app_size.to_string()),
            (APPS, apps::write(&self.apps)),
            (UNIVERSE_SIZE, self.universe_size.to_string()),
            (SEGMENT, self.segment.to_string()),
            (LIFELINE, self.lifeline.to_string()),
            (JOB, format!("{}:{}:{}", self.mpirun, self.segment_inode, self.lifeline_inode)),
            (SPAWN, self.mailbox.write()),
        ];
        vars.extend(self.as_others_say());
        vars.extend(self.parent.clone().map(|port| (PARENT, port)));
        vars.extend(self.network.map(|network| (NETWORK, network.write())));
        vars
    }

    /// The same facts by the names of Open MPI, MPICH and Intel MPI: scripts and programs read them, to choose a GPU or to
    /// find out before `MPI_Init` whether they are a rank. What a process manager of those would be asked by is not among them.
    fn as_others_say(&self) -> [(&'static str, String); 9] {
        let [rank, size, local_rank, local_size, universe] =
            [self.rank, self.size, self.local_rank, self.local_size, self.universe_size].map(|n| n.to_string());
        [
            ("OMPI_COMM_WORLD_RANK", rank.clone()),
            ("OMPI_COMM_WORLD_SIZE", size.clone()),
            ("OMPI_COMM_WORLD_LOCAL_RANK", local_rank.clone()),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", local_size.clone()),
            ("OMPI_UNIVERSE_SIZE", universe),
            ("PMI_RANK", rank),
            ("PMI_SIZE", size),
            ("MPI_LOCALRANKID", local_rank),
            ("MPI_LOCALNRANKS", local_size),
        ]
    }

    /// `None` if no `mpirun` of OxMPI is an ancestor of this process.
    pub fn read(var: &impl Fn(&str) -> Option<String>) -> Result<Option<RankEnv>> {
        let Some(job) = var(JOB) else { return Ok(None) };
        let broken = |name: &str, value: &str| {
            let text = format!(
                "the environment variable {name} is \"{value}\", which OxMPI's mpirun did not write; start the program \
                 with mpirun, or unset {JOB} to run it alone"
            );
            Error::new(crate::ERR_OTHER, text)
        };
        let mut numbers = job.split(':').map(u64::from_str);
        let (Some(Ok(mpirun)), Some(Ok(segment_inode)), Some(Ok(lifeline_inode)), None) =
            (numbers.next(), numbers.next(), numbers.next(), numbers.next())
        else {
            return Err(broken(JOB, &job));
        };
        let number = |name: &str, below: u64| {
            let value = var(name).unwrap_or_default();
            value.parse::<u64>().ok().filter(|&n| n < below).ok_or_else(|| broken(name, &value))
        };
        const INT: u64 = i32::MAX as u64;
        let size = number(SIZE, INT)?;
        let local_size = number(LOCAL_SIZE, size + 1)?;
        let words = var(APPS).unwrap_or_default();
        let programs = apps::read(&words, size as usize).ok_or_else(|| broken(APPS, &words))?;
        let mailbox = var(SPAWN).unwrap_or_default();
        Ok(Some(RankEnv {
            rank: number(RANK, size)? as usize,
            size: size as usize,
            local_rank: number(LOCAL_RANK, local_size)? as usize,
            local_size: local_size as usize,
            appnum: number(APPNUM, INT)? as i32,
            app_size: number(APP_SIZE, size + 1)? as usize,
            apps: programs,
            universe_size: number(UNIVERSE_SIZE, INT)? as usize,
            mpirun: u32::try_from(mpirun).map_err(|_| broken(JOB, &job))?,
            segment: number(SEGMENT, INT)? as i32,
            segment_inode,
            lifeline: number(LIFELINE, INT)? as i32,
            lifeline_inode,
            mailbox: Mailbox::read(&mailbox).ok_or_else(|| broken(SPAWN, &mailbox))?,
            parent: var(PARENT),
            network: match var(NETWORK) {
                None => None,
                Some(text) => Some(NetworkEnv::read(&text).ok_or_else(|| broken(NETWORK, &text))?),
            },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn rank_env() -> RankEnv {
        RankEnv {
            rank: 3,
            size: 8,
            local_rank: 3,
            local_size: 8,
            appnum: 0,
            app_size: 8,
            apps: vec![App::new(8, b"a.out")],
            universe_size: 8,
            mpirun: 4711,
            segment: 60,
            segment_inode: 1 << 40,
            lifeline: 61,
            lifeline_inode: 99,
            mailbox: Mailbox { fd: 7, inode: 1 << 41, options: vec!["-l".into(), "--cpu-list".into(), "0-3".into()] },
            parent: Some("a port".into()),
            network: Some(NetworkEnv { description: Some((62, 1 << 42)), agent: (63, 5) }),
        }
    }

    fn read(vars: &HashMap<&str, String>) -> Result<Option<RankEnv>> {
        RankEnv::read(&|name| vars.get(name).cloned())
    }

    #[test]
    fn what_is_written_is_read() {
        let vars: HashMap<_, _> = rank_env().write().into_iter().collect();
        assert_eq!(vars.len(), ALL.len() + rank_env().as_others_say().len(), "no name twice");
        assert!(ALL.iter().all(|name| vars.contains_key(name)));
        assert_eq!(read(&vars).unwrap(), Some(rank_env()));
        assert_eq!(read(&HashMap::new()).unwrap(), None);
        let alone = RankEnv { parent: None, mailbox: Mailbox::default(), ..rank_env() };
        assert_eq!(read(&alone.write().into_iter().collect()).unwrap(), Some(alone));
    }

    #[test]
    fn every_broken_variable_is_named() {
        // Any text can be the name of a port.
        for name in ALL.into_iter().filter(|&name| name != PARENT) {
            for value in ["", "x", "-1", "99999999999999999999"] {
                let mut vars: HashMap<_, _> = rank_env().write().into_iter().collect();
                vars.insert(name, value.into());
                let error = read(&vars).unwrap_err();
                assert!(error.text().contains(name) || name == SIZE, "{name}={value}: {error}");
            }
        }
        let mut vars: HashMap<_, _> = rank_env().write().into_iter().collect();
        vars.insert(RANK, "8".into());
        assert!(read(&vars).unwrap_err().text().contains("OXMPI_RANK"));
    }
}
