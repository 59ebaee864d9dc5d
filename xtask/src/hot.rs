//! `cargo xtask hot`: checks the machine code of the most frequent calls. It counts the
//! instructions and calls of their entry points in `libmpi_abi.so.1`, alone and together with their
//! bodies (functions that they call and that few others call), and compares the numbers with
//! `xtask/hot.txt`. It finds what a benchmark on a busy machine cannot: a function that is no
//! longer inlined, a new check in the fast path. It needs fat LTO and the pinned Rust; with another
//! build the numbers cannot be compared, and it says so. `bench/run --baseline` measures the time.

use crate::abi::run_quietly;
use crate::{Outcome, read, root};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const HELP: &str = "\
cargo xtask hot [OPTIONS]
  --lib PATH     the library (default: build/prefix/lib/libmpi_abi.so.1)
  --write        write the table anew, when the change is meant";

const ENTRY_POINTS: [&str; 12] = [
    "MPI_Send",
    "MPI_Recv",
    "MPI_Isend",
    "MPI_Irecv",
    "MPI_Wait",
    "MPI_Test",
    "MPI_Allreduce",
    "MPI_Bcast",
    "MPI_Barrier",
    "MPI_Put",
    "MPI_Get",
    "MPI_Accumulate",
];

/// A function with more callers than this is common code (raising errors, locking), not the body of
/// one call.
const MOST_CALLERS: usize = 16;

/// The allowed growth of a number: a share of the number in the table, but at least this much.
const GROWTH: f64 = 0.05;
const SLACK: Count = Count { instructions: 4, calls: 0 };

pub fn run(args: &[String]) -> Outcome {
    let Some(options) = Options::parse(args)? else {
        println!("{HELP}");
        return Ok(());
    };
    if let Some(why) = unusable(&options.library)? {
        println!("hot: skipped: {why}");
        return Ok(());
    }
    let listing = Listing::of(&options.library)?;
    if !listing.has_local_symbols {
        println!("hot: skipped: {} is stripped, its bodies cannot be found", options.library.display());
        return Ok(());
    }
    let counted = count(&listing)?;
    let path = root().join("xtask/hot.txt");
    if options.write {
        std::fs::write(&path, render(&counted)).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        println!("hot: wrote {}", path.display());
        return Ok(());
    }
    let findings = compare(&parse_table(&read(&path)?)?, &counted);
    if findings.is_empty() {
        println!("hot: {} entry points and their bodies are as xtask/hot.txt says", counted.len());
        return Ok(());
    }
    Err(format!(
        "{} numbers grew by more than {:.0} %:\n  {}\nFind out why (objdump -dC {}). `cargo xtask hot --write` accepts them, \
         after `bench/run --baseline` has shown that nothing is slower.",
        findings.len(),
        GROWTH * 100.0,
        findings.join("\n  "),
        options.library.display()
    ))
}

struct Options {
    library: PathBuf,
    write: bool,
}

impl Options {
    /// `None`: the user asked for help.
    fn parse(args: &[String]) -> Result<Option<Options>, String> {
        let mut options = Options { library: root().join("build/prefix/lib/libmpi_abi.so.1"), write: false };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--help" | "-h" => return Ok(None),
                "--write" => options.write = true,
                "--lib" => options.library = args.next().ok_or("--lib needs a value")?.into(),
                other => return Err(format!("unknown option `{other}`\n{HELP}")),
            }
        }
        Ok(Some(options))
    }
}

/// Why this machine or this build cannot be compared with the table.
fn unusable(library: &Path) -> Result<Option<String>, String> {
    if !cfg!(target_arch = "x86_64") {
        return Ok(Some(format!("the table is for x86-64, this is {}", std::env::consts::ARCH)));
    }
    for tool in ["objdump", "readelf"] {
        if Command::new(tool).arg("--version").output().is_err() {
            return Ok(Some(format!("there is no {tool} (binutils)")));
        }
    }
    let changed = |(name, _): (std::ffi::OsString, _)| name.to_string_lossy().starts_with("CARGO_PROFILE_RELEASE_");
    if std::env::vars_os().any(changed) || std::env::var_os("RUSTFLAGS").is_some() {
        return Ok(Some("the environment changes how the release profile is compiled".into()));
    }
    let compiler = run_quietly(Command::new("readelf").args(["-p", ".comment"]).arg(library))?;
    let wanted = format!("rustc version {} ", pinned_rust()?);
    Ok((!compiler.contains(&wanted)).then(|| format!("{} was not compiled by {wanted}", library.display())))
}

fn pinned_rust() -> Result<String, String> {
    let path = root().join("rust-toolchain.toml");
    let text = read(&path)?;
    let channel = text.lines().find_map(|line| line.strip_prefix("channel = \"")?.strip_suffix('"'));
    channel.map(str::to_string).ok_or_else(|| format!("{} names no channel", path.display()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Count {
    instructions: u32,
    calls: u32,
}

/// The numbers of an entry point alone, and with its bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    alone: Count,
    whole: Count,
}

type Table = BTreeMap<String, Row>;

/// The functions of a library: their addresses, and their instructions without padding.
#[derive(Default)]
struct Listing {
    names: BTreeMap<String, u64>,
    /// A stripped library has the exported functions only.
    has_local_symbols: bool,
    /// By the address of their first instruction.
    functions: BTreeMap<u64, Code>,
}

#[derive(Default)]
struct Code {
    end: u64,
    count: Count,
    /// The targets of its direct calls and jumps, also inside itself.
    targets: BTreeSet<u64>,
}

impl Listing {
    fn of(library: &Path) -> Result<Listing, String> {
        let mut listing = Listing::default();
        listing.add_symbols(&run_quietly(Command::new("readelf").arg("-sW").arg(library))?);
        listing.add_code(&run_quietly(Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(library))?);
        Ok(listing)
    }

    /// Lines of the form `number: value size FUNC binding visibility section name`, of both tables
    /// of symbols.
    fn add_symbols(&mut self, text: &str) {
        for line in text.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, value, size, "FUNC", binding, _, section, name, ..] = fields[..] else { continue };
            let (Ok(start), Ok(size)) = (u64::from_str_radix(value, 16), size.parse::<u64>()) else { continue };
            if section == "UND" || size == 0 {
                continue;
            }
            self.has_local_symbols |= binding == "LOCAL";
            // A version may follow the name.
            self.names.insert(name.split('@').next().unwrap_or(name).to_string(), start);
            self.functions.entry(start).or_default().end = start + size;
        }
    }

    /// Lines of the form `  address:<tab>mnemonic operands`.
    fn add_code(&mut self, text: &str) {
        for line in text.lines() {
            let Some((address, instruction)) = line.split_once(":\t") else { continue };
            let Ok(address) = u64::from_str_radix(address.trim(), 16) else { continue };
            let Some((_, code)) = self.functions.range_mut(..=address).next_back() else { continue };
            let mut words = instruction.split_whitespace();
            let mnemonic = words.next().unwrap_or_default();
            if address >= code.end || is_padding(instruction, mnemonic) {
                continue;
            }
            code.count.instructions += 1;
            let is_call = mnemonic == "call";
            code.count.calls += u32::from(is_call);
            if is_call || mnemonic.starts_with('j') {
                code.targets.extend(words.next().and_then(|operand| u64::from_str_radix(operand, 16).ok()));
            }
        }
    }
}

fn is_padding(instruction: &str, mnemonic: &str) -> bool {
    matches!(mnemonic, "int3" | "nop" | "nopw" | "nopl" | "data16") || instruction.starts_with("cs nop")
}

fn count(listing: &Listing) -> Result<Table, String> {
    let mut callers: BTreeMap<u64, usize> = BTreeMap::new();
    for code in listing.functions.values() {
        for target in &code.targets {
            *callers.entry(*target).or_default() += 1;
        }
    }
    let mut table = Table::new();
    for name in ENTRY_POINTS {
        let start = listing.names.get(name).ok_or_else(|| format!("the library has no {name}"))?;
        let code = &listing.functions[start];
        let mut whole = code.count;
        let bodies = code.targets.iter().filter(|target| *target != start && callers[target] <= MOST_CALLERS);
        for body in bodies.filter_map(|target| listing.functions.get(target)) {
            whole.instructions += body.count.instructions;
            whole.calls += body.count.calls;
        }
        table.insert(name.into(), Row { alone: code.count, whole });
    }
    Ok(table)
}

fn render(table: &Table) -> String {
    let mut text = String::from(
        "# Instructions and calls of the entry points that programs call most, alone and with their bodies.\n\
         # Written by `cargo xtask hot --write`; what is counted is told in xtask/src/hot.rs.\n\
         # name            alone: instructions calls   with bodies: instructions calls\n",
    );
    for name in ENTRY_POINTS {
        let Row { alone, whole } = table[name];
        text += &format!(
            "{name:16} {:6} {:4} {:8} {:4}\n",
            alone.instructions, alone.calls, whole.instructions, whole.calls
        );
    }
    text
}

fn parse_table(text: &str) -> Result<Table, String> {
    let mut table = Table::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let numbers: Result<Vec<u32>, _> = fields.iter().skip(1).map(|f| f.parse()).collect();
        let Ok([a, b, c, d]) = numbers.as_deref() else {
            return Err(format!("xtask/hot.txt: `{line}` is not a name and four numbers"));
        };
        let row = Row { alone: Count { instructions: *a, calls: *b }, whole: Count { instructions: *c, calls: *d } };
        table.insert(fields[0].to_string(), row);
    }
    Ok(table)
}

fn compare(table: &Table, counted: &Table) -> Vec<String> {
    let mut findings = Vec::new();
    for (name, now) in counted {
        let Some(before) = table.get(name) else {
            findings.push(format!("{name} is not in the table"));
            continue;
        };
        let mut look = |part: &str, before: u32, now: u32, slack: u32| {
            let most = (f64::from(before) * (1.0 + GROWTH)).max(f64::from(before + slack));
            if f64::from(now) > most {
                findings.push(format!("{name} {part}: {now}, was {before}"));
            }
        };
        look("instructions", before.alone.instructions, now.alone.instructions, SLACK.instructions);
        look("calls", before.alone.calls, now.alone.calls, SLACK.calls);
        look("instructions with bodies", before.whole.instructions, now.whole.instructions, SLACK.instructions);
        look("calls with bodies", before.whole.calls, now.whole.calls, SLACK.calls);
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYMBOLS: &str = "\
     1: 0000000000001000    16 FUNC    GLOBAL DEFAULT   12 MPI_Send@@OXMPI
     2: 0000000000001020     9 FUNC    LOCAL  DEFAULT   12 body
     3: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND free@GLIBC_2.2.5 (2)\n";
    const CODE: &str = "
0000000000001000 <MPI_Send>:
    1000:\tpush   %rbp
    1001:\tcall   1020 <body>
    1006:\tjne    1000 <MPI_Send>
    1008:\tret
    1009:\tint3
    1010:\tmov    %rax,%rbx

0000000000001020 <body>:
    1020:\tcall   *0x10(%rip)        # 3000 <free@GLIBC_2.2.5>
    1026:\tnopw   0x0(%rax,%rax,1)
    1028:\tret\n";

    #[test]
    fn instructions_are_counted_without_padding_and_within_the_function() {
        let mut listing = Listing::default();
        listing.add_symbols(SYMBOLS);
        listing.add_code(CODE);
        assert_eq!(listing.names["MPI_Send"], 0x1000);
        assert_eq!(listing.functions[&0x1000].count, Count { instructions: 4, calls: 1 });
        assert_eq!(listing.functions[&0x1000].targets, [0x1000, 0x1020].into());
        assert_eq!(listing.functions[&0x1020].count, Count { instructions: 2, calls: 1 });
    }

    fn table(instructions: u32, calls: u32) -> Table {
        let alone = Count { instructions, calls };
        [("MPI_Send".to_string(), Row { alone, whole: alone })].into()
    }

    #[test]
    fn growth_beyond_the_slack_is_found() {
        assert_eq!(compare(&table(38, 3), &table(42, 3)).len(), 0);
        assert_eq!(
            compare(&table(38, 3), &table(43, 3)),
            ["MPI_Send instructions: 43, was 38", "MPI_Send instructions with bodies: 43, was 38"]
        );
        assert_eq!(compare(&table(38, 3), &table(30, 4)).len(), 2);
        assert_eq!(compare(&table(1000, 40), &table(1050, 42)).len(), 0);
        assert_eq!(compare(&Table::new(), &table(1, 1)), ["MPI_Send is not in the table"]);
    }

    #[test]
    fn the_checked_in_table_has_every_entry_point() {
        let table = parse_table(&read(&root().join("xtask/hot.txt")).unwrap()).unwrap();
        assert!(ENTRY_POINTS.iter().all(|name| table.contains_key(*name)));
        assert_eq!(parse_table(&render(&table)).unwrap(), table);
    }
}
