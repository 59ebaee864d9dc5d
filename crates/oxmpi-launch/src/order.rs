//! What `mpirun` tells the agents to start: orders made from a request, and read again by an agent. An agent does not
//! trust the numbers of an order more than those of any other message.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use oxmpi_agent::message::{Below, DebugOrder, LauncherOrder, Order, ProgramOrder, RankOrder};
use oxmpi_agent::tree;
use oxmpi_base::ids::WorldRank;
use oxmpi_boot::apps::App;
use oxmpi_boot::deal;
use oxmpi_boot::handshake::Key;
use oxmpi_boot::nodes::{NodeBlock, NodeTable};

use crate::debug;
use crate::debug_options::Debugger;
use crate::launcher;
use crate::mpir;
use crate::nodes;
use crate::options::{Block, Cluster, Request, Stdin};
use crate::program;
use crate::share;
use crate::start::{self, Program, Refusal, Seat, Work};
use crate::sys;

/// The most agents that one process starts, if the user does not say it.
const FAN_OUT: usize = 32;
/// The same where the job goes on after failures: a host that starts others takes them along when it is lost.
const FAN_OUT_GOING_ON: usize = 512;
/// After so many seconds of silence from above, an agent ends its ranks.
const HOST_TIMEOUT: u32 = 6;

/// A job on several hosts, before anything is started.
pub struct Plan {
    /// In the order of nodes.
    pub hosts: Vec<String>,
    /// The ranks of each node, ascending.
    pub ranks: Vec<Vec<u32>>,
    /// The number of the program of each rank.
    pub apps: Vec<usize>,
    pub orders: Vec<Order>,
    /// Agents that `mpirun` itself starts.
    pub below: Vec<Below>,
    pub launcher: LauncherOrder,
    pub host_timeout: u32,
    /// A debugger holds the ranks in `MPI_Init`.
    pub is_held: bool,
    /// Which nodes have ranks that read stdin.
    pub reads: Vec<bool>,
    /// Programs that were built for another MPI, with the text about it.
    pub warnings: Vec<String>,
}

impl Plan {
    /// `parent`: the port of the processes that spawned the job, if some have.
    pub fn new(request: &Request, cluster: &Cluster, parent: Option<&str>) -> Result<Plan, Refusal> {
        let settings = &request.settings;
        let wrong = |text: String| Refusal { text, status: 2 };
        let launcher = launcher::plan(cluster).map_err(wrong)?;
        let counts = counts(request, cluster);
        let size = size(request, cluster);
        let dealt = share::deal(&cluster.hosts, size, settings).map_err(|text| Refusal { text, status: 1 })?;
        let (used, nodes) = without_idle_hosts(&dealt, cluster.hosts.len());
        let hosts: Vec<String> = used.iter().map(|&host| cluster.hosts[host].name.clone()).collect();
        let places = deal::slots(&nodes);
        // The same numbers that an agent checks.
        let table = NodeTable::new(deal::blocks(&places), WorldRank::FIRST, false).map_err(wrong)?;
        let apps: Vec<usize> =
            counts.iter().enumerate().flat_map(|(app, &count)| std::iter::repeat_n(app, count)).collect();
        let mut ranks = vec![Vec::new(); hosts.len()];
        nodes.iter().zip(0..).for_each(|(&node, rank)| ranks[node as usize].push(rank));

        let mut warnings = Vec::new();
        let mut programs = Vec::new();
        for ((block, app), appnum) in
            request.blocks.iter().zip(start::apps_of(request, &counts)).zip(start::appnums(request))
        {
            let (program, warning) = program_order(request, block, &app, appnum)?;
            programs.push(program);
            warnings.extend(warning);
        }
        let everyone: Vec<u32> = (0..hosts.len() as u32).collect();
        // A check wants to know of each host by itself, also behind one that cannot be reached; agents that are started
        // all at once are all below `mpirun`.
        let is_flat = settings.check_hosts || launcher.step.is_some();
        let usual = if settings.keep_going { FAN_OUT_GOING_ON } else { FAN_OUT };
        let fan_out = if is_flat { hosts.len() } else { cluster.fan_out.unwrap_or(usual) };
        let below_of = |nodes: &[u32]| -> Vec<Below> {
            let below = |nodes: Vec<u32>| Below { node: nodes[0], host: hosts[nodes[0] as usize].clone(), nodes };
            tree::branches(nodes, fan_out).into_iter().map(below).collect()
        };
        let below = below_of(&everyone);
        // A debugger stops `mpirun` for as long as its user likes.
        let is_held = mpir::is_debugged();
        let host_timeout = if is_held { 0 } else { cluster.host_timeout.unwrap_or(HOST_TIMEOUT) };
        let cannot =
            |error: std::io::Error| Refusal { text: format!("cannot make the key of the job: {error}"), status: 1 };
        let key = Key::random().map_err(cannot)?;
        let job: [u8; 16] = *Key::random().map_err(cannot)?.as_bytes().first_chunk().unwrap_or(&[0; 16]);
        let reads_stdin = |rank: u32| match &settings.stdin {
            Stdin::None => false,
            Stdin::All => true,
            Stdin::Ranks(list) => list.contains(&(rank as usize)),
        };
        let blocks: Vec<[u32; 7]> = table.blocks().iter().map(NodeBlock::words).collect();
        let order = |node: u32| Order {
            job,
            key: *key.as_bytes(),
            node,
            host: hosts[node as usize].clone(),
            pretended: cluster.pretended,
            node_blocks: blocks.clone(),
            programs: programs.clone(),
            ranks: ranks[node as usize]
                .iter()
                .map(|&rank| RankOrder { rank, program: apps[rank as usize] as u32, reads_stdin: reads_stdin(rank) })
                .collect(),
            universe_size: settings.universe_size.unwrap_or(size) as u32,
            options: settings.agent_options.clone(),
            terminal: sys::is_terminal(1),
            below: Vec::new(),
            launcher: launcher.clone(),
            port_range: cluster.port_range,
            net_interface: cluster.net_interface.clone(),
            host_timeout,
            parent: parent.map(String::from),
            // Agents put no labels before lines, but mpirun does, and that of a spawned job too.
            spawn_options: settings
                .label
                .option()
                .map(String::from)
                .into_iter()
                .chain(cluster.spawn_options())
                .collect(),
            is_held,
            debug: settings.screens.as_ref().map(|screens| DebugOrder {
                ranks: ranks[node as usize]
                    .iter()
                    .copied()
                    .filter(|&rank| screens.ranks.contains(&(rank as usize)))
                    .collect(),
                door: screens.door.clone(),
            }),
        };
        let mut orders: Vec<Order> = everyone.iter().map(|&node| order(node)).collect();
        let mut runs: Vec<Vec<u32>> = below.iter().map(|below| below.nodes.clone()).collect();
        while let Some(run) = runs.pop() {
            let below = below_of(&run[1..]);
            runs.extend(below.iter().map(|below| below.nodes.clone()));
            orders[run[0] as usize].below = below;
        }
        let reads = ranks.iter().map(|ranks| ranks.iter().any(|&rank| reads_stdin(rank))).collect();
        Ok(Plan { hosts, ranks, apps, orders, below, launcher, host_timeout, reads, warnings, is_held })
    }
}

/// The number of ranks.
pub fn size(request: &Request, cluster: &Cluster) -> usize {
    counts(request, cluster).iter().sum()
}

fn counts(request: &Request, cluster: &Cluster) -> Vec<usize> {
    let alone = request.blocks.len() == 1;
    let default = || if alone { share::default_count(&cluster.hosts, &request.settings) } else { 1 };
    request.blocks.iter().map(|block| block.count.unwrap_or_else(default)).collect()
}

/// The hosts that have ranks, and the node of each rank: the number of its host among them.
fn without_idle_hosts(dealt: &[u32], hosts: usize) -> (Vec<usize>, Vec<u32>) {
    let mut is_used = vec![false; hosts];
    dealt.iter().for_each(|&host| is_used[host as usize] = true);
    let used: Vec<usize> = (0..hosts).filter(|&host| is_used[host]).collect();
    let mut node_of = vec![0; hosts];
    used.iter().zip(0..).for_each(|(&host, node)| node_of[host] = node);
    (used, dealt.iter().map(|&host| node_of[host as usize]).collect())
}

/// The absolute path of a program on this machine.
pub fn program_here(block: &Block) -> Result<PathBuf, Refusal> {
    let path = program::find(block).map_err(|error| Refusal { text: error.text, status: error.status })?;
    std::path::absolute(&path).map_err(|error| Refusal { text: format!("{}: {error}", path.display()), status: 1 })
}

/// A program for the agents. It need not be on this machine.
fn program_order(
    request: &Request,
    block: &Block,
    app: &App,
    appnum: i32,
) -> Result<(ProgramOrder, Option<String>), Refusal> {
    let here = std::env::current_dir()
        .map_err(|error| Refusal { text: format!("the working directory cannot be found: {error}"), status: 1 })?;
    let found = program::find(block).ok().map(|path| if path.is_absolute() { path } else { here.join(path) });
    let warning = found.as_ref().and_then(|path| start::foreign_warning(block, path));
    let warning = warning.filter(|_| !request.settings.quiet);
    let path = found.unwrap_or_else(|| match block.program.as_bytes().contains(&b'/') {
        true => here.join(block.wdir.as_deref().unwrap_or(Path::new(""))).join(&block.program),
        false => PathBuf::from(&block.program),
    });
    let Program { arguments, environment, wdir, path, .. } = Program::prepare(&request.settings, block, path)?;
    let directory = wdir.map_or(here.into_os_string().into_vec(), CString::into_bytes);
    let program = ProgramOrder {
        shown: block.program.to_string_lossy().into_owned(),
        path: path.into_bytes(),
        arguments: arguments.into_iter().map(CString::into_bytes).collect(),
        directory,
        environment: environment.into_iter().map(CString::into_bytes).collect(),
        appnum,
        count: app.ranks as u32,
        set: app.name.clone(),
    };
    Ok((program, warning))
}

/// What an agent has to start. Its programs and directories must be on this machine.
pub fn work(order: &Order) -> Result<Work, Refusal> {
    let bad = |what: String| Refusal { text: format!("the order of mpirun is damaged: {what}"), status: 1 };
    let first = order.ranks.first().ok_or_else(|| bad("it has no ranks".into()))?;
    let own = WorldRank::new(first.rank as usize).ok_or_else(|| bad("a rank is too large".into()))?;
    let blocks = order.node_blocks.iter().map(|words| NodeBlock::from_words(*words)).collect::<Result<Vec<_>, _>>();
    let nodes = blocks.and_then(|blocks| NodeTable::new(blocks, own, false)).map_err(bad)?;
    if nodes.own_node().number() != order.node {
        return Err(bad(format!("rank {} is not on node {}", first.rank, order.node)));
    }
    let places = nodes::places(&nodes);
    let programs =
        order.programs.iter().map(|program| runnable(program, &order.host)).collect::<Result<Vec<_>, _>>()?;
    let mut seats = Vec::with_capacity(order.ranks.len());
    for (slot, rank) in order.ranks.iter().enumerate() {
        let place = places.get(rank.rank as usize).copied();
        let place = place.filter(|place| place.node == order.node && place.slot == slot);
        let place = place.ok_or_else(|| bad(format!("rank {} has no place here", rank.rank)))?;
        let app = rank.program as usize;
        if app >= programs.len() {
            return Err(bad(format!("there is no program {app}")));
        }
        seats.push(Seat { rank: rank.rank as usize, app, place });
    }
    Ok(Work {
        programs,
        appnums: order.programs.iter().map(|program| program.appnum).collect(),
        apps: order.programs.iter().map(|app| App { ranks: app.count as usize, name: app.set.clone() }).collect(),
        seats,
        nodes,
        universe_size: order.universe_size as usize,
        parent: order.parent.clone(),
        network: None,
        is_held: order.is_held,
    })
}

/// gdb as it is found on this machine, for the ranks that shall run in it.
pub fn debugger(order: &Order) -> Result<Option<Debugger>, Refusal> {
    let Some(debug) = order.debug.as_ref().filter(|debug| !debug.ranks.is_empty()) else { return Ok(None) };
    let path = order.programs.first().and_then(search_path);
    let gdb = debug::find_gdb(path)
        .map_err(|refusal| Refusal { text: format!("on host {}: {}", order.host, refusal.text), ..refusal })?;
    let ranks = debug.ranks.iter().map(|&rank| rank as usize).collect();
    Ok(Some(Debugger { ranks, gdb, door: debug.door.clone() }))
}

/// The folders in which a program is searched.
fn search_path(program: &ProgramOrder) -> Option<OsString> {
    let path = program.environment.iter().find_map(|entry| entry.strip_prefix(b"PATH="));
    path.map(|path| OsString::from_vec(path.to_vec()))
}

/// A program as it is found on this machine.
fn runnable(order: &ProgramOrder, host: &str) -> Result<Program, Refusal> {
    let text = |bytes: &[u8]| {
        CString::new(bytes).map_err(|_| Refusal { text: "an argument contains a NUL byte".into(), status: 2 })
    };
    let block = Block {
        program: OsString::from_vec(order.path.clone()),
        wdir: Some(OsString::from_vec(order.directory.clone()).into()),
        path: search_path(order),
        ..Block::default()
    };
    let found = program::find(&block).map_err(|error| {
        // The name that the user typed, and where it is missing.
        let text = error.text.replace(&*block.program.to_string_lossy(), &order.shown);
        Refusal { text: format!("on host {host}: {text}"), status: error.status }
    })?;
    Ok(Program {
        shown: order.shown.clone(),
        path: text(found.as_os_str().as_bytes())?,
        arguments: order.arguments.iter().map(|word| text(word)).collect::<Result<_, _>>()?,
        environment: order.environment.iter().map(|entry| text(entry)).collect::<Result<_, _>>()?,
        wdir: Some(text(&order.directory)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Command, parse};

    fn plan(line: &str) -> Plan {
        let Ok(Command::Run(request)) = parse("mpirun", line.split_whitespace().map(OsString::from)) else { panic!() };
        let cluster = request.settings.cluster.as_ref().unwrap();
        Plan::new(&request, cluster, None).unwrap_or_else(|refusal| panic!("{}", refusal.text))
    }

    #[test]
    fn orders_say_what_the_command_line_says() {
        let plan = plan("--pretend-hosts 3 -n 4 -l -v /bin/sh -c x : -n 3 true");
        assert_eq!(plan.ranks, [vec![0, 1, 2], vec![3, 4], vec![5, 6]]);
        assert_eq!((plan.apps, plan.reads), (vec![0, 0, 0, 0, 1, 1, 1], vec![true, false, false]));
        assert_eq!(plan.orders[1].options, ["-v"]);
        for (order, ranks) in plan.orders.iter().zip(&plan.ranks) {
            let work = work(order).unwrap();
            assert_eq!(work.seats.iter().map(|seat| seat.rank as u32).collect::<Vec<_>>(), *ranks);
            assert_eq!((work.nodes.size(), work.nodes.nodes()), (7, 3));
            assert_eq!(work.seats[0].place.local_size, ranks.len());
            assert_eq!(work.programs[0].path.as_bytes(), b"/bin/sh");
        }
    }

    #[test]
    fn a_tree_of_agents() {
        let plan = plan("--pretend-hosts 7 --fan-out 2 -n 7 true");
        let below = |list: &[Below]| list.iter().map(|below| below.nodes.clone()).collect::<Vec<_>>();
        assert_eq!(below(&plan.below), [vec![0, 1, 2, 3], vec![4, 5, 6]]);
        assert_eq!(below(&plan.orders[0].below), [vec![1, 2], vec![3]]);
        assert_eq!(below(&plan.orders[1].below), [vec![2]]);
        assert!(plan.orders[6].below.is_empty());
    }

    #[test]
    fn a_job_that_goes_on_has_no_hosts_behind_others() {
        let below = |line: &str| plan(line).below.iter().map(|below| below.nodes.len()).max();
        assert_eq!(below("--pretend-hosts 70 -n 70 true"), Some(3));
        assert_eq!(below("--pretend-hosts 70 --with-ft ulfm -n 70 true"), Some(1));
        assert_eq!(below("--pretend-hosts 70 --with-ft ulfm --fan-out 2 -n 70 true"), Some(35));
    }

    #[test]
    fn hosts_without_ranks_get_no_agent() {
        assert_eq!(plan("--pretend-hosts 3 -n 2 true").hosts.len(), 2);
    }

    #[test]
    fn what_a_host_lacks_is_named_with_the_host() {
        let mut order = plan("--pretend-hosts 2 -n 2 true").orders.remove(0);
        order.host = "far".into();
        order.programs[0].path = b"/nonexistent/prog".to_vec();
        order.programs[0].shown = "./prog".into();
        let refusal = work(&order).err().unwrap();
        assert!(refusal.text.contains("on host far: cannot find the program `./prog`"), "{}", refusal.text);
        order.programs[0].directory = b"/nonexistent".to_vec();
        assert!(work(&order).err().unwrap().text.contains("working directory /nonexistent"));
        order.ranks[0].rank = 1;
        assert!(work(&order).err().unwrap().text.contains("damaged"));
        order.node_blocks[0][1] = 77;
        assert!(work(&order).err().unwrap().text.contains("damaged"));
    }
}
