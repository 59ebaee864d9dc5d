//! The arguments of `mpirun` for a spawn.
//!
//! | info key | meaning |
//! |---|---|
//! | `host`, `hostfile` | hosts of the job, by default all of them; `mpirun` says so if one is not |
//! | `arch` | must be this machine's, as `uname -m` has it |
//! | `wdir`, `path` | `-wdir`, `-path` |
//! | `soft` | see `soft.rs` |
//! | `appnum`, `mpi_initial_errhandler`, `mpi_memory_alloc_kinds` | the options of these names |
//! | `file` | reserved by the standard; OxMPI knows no such file and ignores it, as it does other keys |

use super::soft::Soft;
use super::{Count, Program};
use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_boot::spawned;
use oxmpi_core::info::Info;

pub struct Orders {
    blocks: Vec<Block>,
    /// How many processes of each program the next attempt starts.
    counts: Vec<usize>,
}

struct Block {
    most: usize,
    soft: Soft,
    /// Between `-n N` and the program.
    options: Vec<Vec<u8>>,
    /// The program and its arguments.
    words: Vec<Vec<u8>>,
}

impl Orders {
    pub fn new(programs: Vec<Program>) -> Result<Orders> {
        let blocks: Vec<Block> = programs
            .into_iter()
            .enumerate()
            .map(|(number, program)| Block::new(number, program))
            .collect::<Result<_>>()?;
        let counts = blocks.iter().map(Block::first).collect::<Result<_>>()?;
        Ok(Orders { blocks, counts })
    }

    pub fn counts(&self) -> Vec<Count> {
        self.blocks.iter().zip(&self.counts).map(|(block, &spawned)| Count { most: block.most, spawned }).collect()
    }

    /// The requested number of processes.
    pub fn most(&self) -> usize {
        self.blocks.iter().map(|block| block.most).sum()
    }

    /// Only so many processes could be started: reduces the counts accordingly. False when that is
    /// not allowed.
    pub fn retry(&mut self, started: usize) -> bool {
        let mut surplus = self.counts.iter().sum::<usize>().saturating_sub(started);
        if surplus == 0 {
            return false;
        }
        for (block, count) in self.blocks.iter().zip(&mut self.counts).rev() {
            // The largest acceptable number that is small enough, or else the smallest one.
            let mut fewer = *count;
            while *count - fewer < surplus
                && fewer > 0
                && let Some(next) = block.soft.largest(fewer - 1)
            {
                fewer = next;
            }
            surplus = surplus.saturating_sub(*count - fewer);
            *count = fewer;
        }
        surplus == 0
    }

    /// The arguments of `mpirun`.
    pub fn words(&self) -> Vec<Vec<u8>> {
        let mut all: Vec<Vec<u8>> = Vec::new();
        for (block, &count) in self.blocks.iter().zip(&self.counts).filter(|(_, count)| **count > 0) {
            if !all.is_empty() {
                all.push(b":".to_vec());
            }
            all.extend([b"-n".to_vec(), count.to_string().into_bytes()]);
            all.extend_from_slice(&block.options);
            all.push(b"--".to_vec());
            all.extend(block.words.iter().map(|word| spawned::quote(word)));
        }
        all
    }
}

impl Block {
    fn new(number: usize, program: Program) -> Result<Block> {
        let Program { command, arguments, most, info } = program;
        if command.is_empty() {
            bail!(MPI_ERR_SPAWN, "the command is empty");
        }
        check_arch(&info)?;
        let soft = match info.text("soft") {
            Some(text) => Soft::parse(text)?,
            None => Soft::just(most),
        };
        let options = options(number, &info)?;
        let words = [command].into_iter().chain(arguments).collect();
        Ok(Block { most, soft, options, words })
    }

    fn first(&self) -> Result<usize> {
        let command = String::from_utf8_lossy(&self.words[0]);
        let text =
            || format!("the info key \"soft\" allows no number of processes of `{command}` from 0 to {}", self.most);
        self.soft.largest(self.most).ok_or_else(|| Error::new(MPI_ERR_SPAWN, text()))
    }
}

fn check_arch(info: &Info) -> Result<()> {
    let own = std::env::consts::ARCH;
    match info.text("arch") {
        Some(arch) if !arch.eq_ignore_ascii_case(own) => {
            bail!(
                MPI_ERR_SPAWN,
                "the info key \"arch\" is \"{arch}\"; this machine is \"{own}\", and processes start on this machine only"
            );
        }
        _ => Ok(()),
    }
}

fn options(number: usize, info: &Info) -> Result<Vec<Vec<u8>>> {
    let mut options = Vec::new();
    let mut add = |name: &str, value: &[u8]| options.extend([name.as_bytes().to_vec(), value.to_vec()]);
    for (key, option) in [("host", "-host"), ("hostfile", "-hostfile"), ("wdir", "-wdir"), ("path", "-path")] {
        if let Some(value) = info.get(key.as_bytes())? {
            add(option, value.trim_ascii());
        }
    }
    let appnum = match info.text("appnum") {
        None => number as i32,
        Some(text) => match text.parse::<i32>() {
            Ok(appnum @ 0..) => appnum,
            _ => bail!(MPI_ERR_INFO_VALUE, "the info key \"appnum\" is \"{text}\", which is not a number from 0 on"),
        },
    };
    add("--appnum", appnum.to_string().as_bytes());
    if let Some(name) = info.text("mpi_initial_errhandler") {
        const KNOWN: [&str; 3] = ["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"];
        if !KNOWN.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            bail!(
                MPI_ERR_INFO_VALUE,
                "the info key \"mpi_initial_errhandler\" is \"{name}\", which must be one of {}",
                KNOWN.join(", ")
            );
        }
        add("--initial-errhandler", name.as_bytes());
    }
    if let Some(kinds) = info.text("mpi_memory_alloc_kinds") {
        add("--memory-alloc-kinds", kinds.as_bytes());
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(command: &str, most: usize, hints: &[(&str, &str)]) -> Program {
        let mut info = Info::new();
        hints.iter().for_each(|(key, value)| info.set(key.as_bytes(), value.as_bytes()).unwrap());
        Program { command: command.into(), arguments: vec![b"x".to_vec(), b":".to_vec()], most, info }
    }

    fn line(orders: &Orders) -> String {
        orders.words().iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect::<Vec<_>>().join(" ")
    }

    fn class(command: &str, hints: &[(&str, &str)]) -> i32 {
        Orders::new(vec![program(command, 3, hints)]).err().unwrap().class()
    }

    #[test]
    fn the_command_line() {
        let hints = [("wdir", "/tmp"), ("file", "f"), ("unknown", "u"), ("appnum", "9")];
        let orders = Orders::new(vec![program("a", 2, &[]), program("b", 3, &hints)]).unwrap();
        assert_eq!(line(&orders), "-n 2 --appnum 0 -- a x \\: : -n 3 -wdir /tmp --appnum 9 -- b x \\:");
        let soft = [("soft", "0:1")];
        let orders = Orders::new(vec![program("a", 2, &[("soft", "0")]), program("b", 3, &soft)]).unwrap();
        assert_eq!(line(&orders), "-n 1 --appnum 1 -- b x \\:");
    }

    #[test]
    fn fewer_processes_start_if_acceptable() {
        let mut orders =
            Orders::new(vec![program("a", 4, &[("soft", "1:4")]), program("b", 5, &[("soft", "1,3,5")])]).unwrap();
        let counts = |orders: &Orders| orders.counts().iter().map(|count| count.spawned).collect::<Vec<_>>();
        assert_eq!(counts(&orders), [4, 5]);
        assert!(!orders.retry(9), "as many as there were: that is not what failed");
        assert!(orders.retry(8));
        assert_eq!(counts(&orders), [4, 3]);
        assert!(orders.retry(4));
        assert_eq!(counts(&orders), [3, 1]);
        assert!(!orders.retry(1));
        let mut hard = Orders::new(vec![program("a", 4, &[])]).unwrap();
        assert!(!hard.retry(2));
    }

    #[test]
    fn invalid_arguments_are_refused() {
        assert_eq!(class("", &[]), MPI_ERR_SPAWN);
        assert_eq!(class("a", &[("arch", "abacus")]), MPI_ERR_SPAWN);
        assert_eq!(class("a", &[("soft", "4:9")]), MPI_ERR_SPAWN);
        assert_eq!(class("a", &[("soft", "many")]), MPI_ERR_INFO_VALUE);
        assert_eq!(class("a", &[("appnum", "-1")]), MPI_ERR_INFO_VALUE);
        assert_eq!(class("a", &[("mpi_initial_errhandler", "mine")]), MPI_ERR_INFO_VALUE);
    }
}
