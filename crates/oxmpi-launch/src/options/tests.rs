use super::*;

fn run(line: &str) -> Request {
    match parse("mpirun", line.split_whitespace().map(OsString::from)) {
        Ok(Command::Run(request)) => *request,
        Ok(_) => panic!("{line}: not a run"),
        Err(Mistake(text)) => panic!("{line}: {text}"),
    }
}

fn mistake(line: &str) -> String {
    match parse("mpirun", line.split_whitespace().map(OsString::from)) {
        Err(Mistake(text)) => text,
        Ok(_) => panic!("{line}: taken"),
    }
}

#[test]
fn the_count_in_every_spelling() {
    for line in ["-n 4 a", "-np 4 a", "--np 4 a", "-c 4 a", "--np=4 a", "-n=4 a", "-n4 a", "-np4 a", "--n 4 a"] {
        let request = run(line);
        assert_eq!(request.blocks[0].count, Some(4), "{line}");
        assert_eq!(request.blocks[0].program, "a", "{line}");
    }
    assert_eq!(run("./a").blocks[0].count, None);
}

#[test]
fn what_follows_the_program_is_the_programs() {
    let request = run("-n 2 ./a -n 3 --help -x");
    assert_eq!(request.blocks[0].arguments, ["-n", "3", "--help", "-x"]);
    assert_eq!(run("-n 2 -- -odd -n 3").blocks[0].program, "-odd");
}

#[test]
fn several_programs() {
    let request = run("-genv G 1 -n 1 -env A b ./a x : -n 3 -wdir /tmp -x C=d ./b y z : ./c");
    let [a, b, c] = &request.blocks[..] else { panic!() };
    assert_eq!((a.count, b.count, c.count), (Some(1), Some(3), None));
    assert_eq!(a.env.set, [("A".into(), "b".into())]);
    assert_eq!(b.env.set, [("C".into(), "d".into())]);
    assert_eq!(b.wdir, Some("/tmp".into()));
    assert_eq!(b.arguments, ["y", "z"]);
    assert_eq!(request.settings.env.set, [("G".into(), "1".into())]);
    assert!(mistake("./a :").contains("`:`"));
}

#[test]
fn what_spawned_jobs_are_handed_down() {
    assert!(run("-n 3 --timeout 5 a").settings.handed_down().is_empty());
    let words = run("-l -q --bind-to none --cpu-list 0,2-3 -usize 9 a").settings.handed_down();
    assert_eq!(words.join(" "), "-l -q --bind-to none --cpu-list 0,2-3 -usize 9");
    assert_eq!(run(&format!("{} b", words.join(" "))).settings.handed_down(), words);
}

#[test]
fn what_is_recorded() {
    assert!(!run("a").settings.recorded.is_any());
    assert!(run("--profile a").settings.recorded.is_any());
    assert!(run("--profile=a.html --trace b.json a").settings.recorded.is_any());
    assert!(mistake("--profile=a.txt a").contains("a.txt must end in .html or .json"));
    assert!(mistake("--trace a.html a").contains("a.html must end in .json"));
}

#[test]
fn asynchronous_progress_is_a_variable_of_all_ranks() {
    assert_eq!(run("a").settings.env.set, []);
    let env = run("--async-progress -n 2 a : -n 1 b").settings.env.set;
    assert_eq!(env, [("OXMPI_ASYNC_PROGRESS".into(), "1".into())]);
}

#[test]
fn checks() {
    assert!(!run("a").settings.check.mode.on);
    let check = run("--check -n 2 a").settings.check;
    assert!(check.mode.on && !check.mode.strict && !check.mode.error);
    let check = run("--check=strict,error --check-report found.json a").settings.check;
    assert!(check.mode.strict && check.mode.error && check.report.is_some());
    let env = run("--check=strict a").settings.env.set;
    assert_eq!(env, [("OXMPI_CHECK".into(), "strict".into())]);
    assert!(mistake("--check=loud a").contains("`loud`"));
    assert!(mistake("--check-report found.json a").contains("need --check"));
    assert!(mistake("--check --check-report found.txt a").contains("found.txt"));
    assert!(mistake("--check --check-suppress /no/such/file a").contains("/no/such/file"));
}

#[test]
fn numbers_of_programs() {
    assert_eq!(run("-appnum 7 a").blocks[0].appnum, Some(7));
    assert_eq!(run("a").blocks[0].appnum, None);
    assert!(mistake("--appnum -1 a").contains("-1"));
}

#[test]
fn environment() {
    assert_eq!(run("-genv A=1=2 a").settings.env.set, [("A".into(), "1=2".into())]);
    assert_eq!(run("-genv A  a a").settings.env.set, [("A".into(), "a".into())]);
    assert_eq!(run("-genvlist A,B a").settings.env.pass, Some(Pass::Only(vec!["A".into(), "B".into()])));
    assert_eq!(run("-genvnone a").settings.env.pass, Some(Pass::Nothing));
    assert_eq!(run("-envall a").blocks[0].env.pass, Some(Pass::All));
    assert_eq!(run("-x HOME a").blocks[0].env.export, ["HOME"]);
}

#[test]
fn output_and_input() {
    for line in ["-l a", "--tag-output a", "-prepend-rank a", "--output tag a", "--output=tag-detailed,merge a"] {
        assert_eq!(run(line).settings.label, Label::Rank, "{line}");
    }
    assert!(run("--output tag,merge a").settings.merge_stderr);
    let dir = |path: &str, copy| Some(OutputDir { dir: path.into(), copy });
    assert_eq!(run("--output-filename out a").settings.output_dir, dir("out", true));
    assert_eq!(run("--output-filename out:nocopy a").settings.output_dir, dir("out", false));
    assert_eq!(run("--output dir=out:nocopy a").settings.output_dir, dir("out", false));
    assert_eq!(run("a").settings.stdin, Stdin::Ranks(vec![0]));
    assert_eq!(run("-s all a").settings.stdin, Stdin::All);
    assert_eq!(run("--stdin none a").settings.stdin, Stdin::None);
    assert_eq!(run("--stdin 1,3-4 a").settings.stdin, Stdin::Ranks(vec![1, 3, 4]));
    assert_eq!(run("--timeout 1.5 a").settings.timeout, Some(Duration::from_millis(1500)));
}

#[test]
fn placement() {
    assert_eq!(run("--bind-to none a").settings.bind_to, Some(BindTo::None));
    assert_eq!(run("-bind-to core:overload-allowed a").settings.bind_to, Some(BindTo::Level(Level::Core)));
    assert_eq!(run("--bind-to socket a").settings.bind_to, Some(BindTo::Level(Level::Socket)));
    let sets = vec![CpuSet::parse("0,2").unwrap(), CpuSet::parse("1").unwrap()];
    assert_eq!(run("-bind-to user:0+2,1 a").settings.bind_to, Some(BindTo::Sets(sets)));
    let map = run("--map-by socket:PE=2 a").settings.map_by.unwrap();
    assert_eq!((map.level, map.cores_per_rank), (Some(Level::Socket), Some(2)));
    let map = run("--map-by ppr:2:node:OVERSUBSCRIBE a").settings.map_by.unwrap();
    assert_eq!((map.level, map.ranks_per), (Some(Level::Machine), Some(2)));
    assert!(run("--map-by core:nooversubscribe a").settings.no_oversubscribe);
    assert!(run("--rank-by core a").settings.rank_by_core);
    assert!(mistake("--bind-to moon a").contains("moon"));
    assert!(mistake("--map-by moon a").contains("moon"));
}

#[test]
fn hosts_that_are_this_machine() {
    assert_eq!(run("-host localhost:3,127.0.0.1 a").settings.slots, Some(4));
    assert_eq!(run("-H localhost a").settings.slots, Some(1));
    assert_eq!(run("-H localhost a").settings.cluster, None);
}

#[test]
fn hosts_of_an_allocation_are_used_where_the_user_names_none() {
    let found = |names: &[&str]| Found {
        what: "PBS (PBS_NODEFILE)".into(),
        hosts: names.iter().map(|name| Host { name: (*name).into(), slots: 3, max_slots: None }).collect(),
        launcher: None,
        command: Some("pbs_tmrsh".into()),
        must_wait: false,
    };
    let settings = |line: &str, found: &Found| {
        let words = line.split(' ').map(OsString::from);
        match parse_in("mpirun", words, &|| Ok(Some(found.clone()))).unwrap() {
            Command::Run(request) => request.settings,
            _ => panic!("{line}"),
        }
    };
    let far = found(&["192.0.2.1", "192.0.2.2"]);
    let taken = settings("a", &far);
    assert_eq!(taken.allocation.as_ref(), Some(&far));
    let cluster = taken.cluster.unwrap();
    assert_eq!((cluster.hosts, cluster.command.as_deref()), (far.hosts.clone(), Some("pbs_tmrsh")));
    assert_eq!(settings("--launcher-exec x a", &far).cluster.unwrap().command.as_deref(), Some("x"));
    assert_eq!(settings("--launcher ssh a", &far).cluster.unwrap().command, None);
    // Of this machine alone it needs no agents.
    let here = settings("a", &found(&["localhost"]));
    assert_eq!((here.cluster, here.slots), (None, Some(3)));
    for other in ["--host 192.0.2.9 a", "--launcher local a", "--pretend-hosts 2 a", "--pretend-nodes 2 -n 2 a"] {
        assert_eq!(settings(other, &far).allocation, None, "{other}");
    }
    let Err(Mistake(error)) = parse_in("mpirun", ["a".into()], &|| Err("PBS_NODEFILE is `x`".into())) else { panic!() };
    assert!(error.contains("PBS_NODEFILE is `x`; --host or --hostfile overrides it"), "{error}");
}

#[test]
fn hosts_that_need_agents() {
    let cluster = |line: &str| run(line).settings.cluster.unwrap();
    let names =
        |cluster: &Cluster| cluster.hosts.iter().map(|host| (host.name.clone(), host.slots)).collect::<Vec<_>>();
    let other = cluster("-host 192.0.2.1:2,192.0.2.2,192.0.2.1 --launcher-exec 'x --fan-out 4 --prefix /opt/o a");
    assert_eq!(names(&other), [("192.0.2.1".into(), 3), ("192.0.2.2".into(), 1)]);
    assert_eq!((other.launcher, other.fan_out, other.pretended), (None, Some(4), false));
    assert_eq!((other.command, other.prefix), (Some("'x".into()), Some("/opt/o".into())));
    // A launcher that is named is used for this machine too.
    assert_eq!(cluster("-host localhost --launcher ssh a").launcher, Some(Launcher::Ssh));
    let pretended = cluster("--pretend-hosts 3 -n 7 a");
    assert_eq!(pretended.hosts.iter().map(|host| host.slots).collect::<Vec<_>>(), [3, 2, 2]);
    assert!(pretended.pretended && pretended.launcher == Some(Launcher::Local));
    let ports = cluster("--pretend-hosts 2 --port-range 2000-2010 --net-interface eth0 a");
    assert_eq!((ports.port_range, ports.net_interface), (Some((2000, 2010)), Some("eth0".into())));
    for wrong in ["x", "0-5", "9-5", "70000", "1-2-3"] {
        assert!(mistake(&format!("--port-range {wrong} a")).contains("20000-20099"), "{wrong}");
    }
    assert!(mistake("--pretend-hosts 2 --host a b").contains("--pretend-hosts"));
    assert!(mistake("--launcher carrier-pigeon a").contains("is none of ssh, rsh, slurm, pbs, local"));
    let options = run("--bind-to=core -n 2 -v --map-by socket:PE=2 -q a --bind-to none").settings.agent_options;
    assert_eq!(options.join(" "), "--bind-to core -v --map-by socket:PE=2 -q");
}

#[test]
fn what_is_taken_and_ignored() {
    let request = run("--allow-run-as-root --oversubscribe --mca btl self,vader -launcher ssh -iface eth0 -n 2 a");
    assert_eq!(request.settings.mca, ["btl"]);
    assert_eq!(request.blocks[0].count, Some(2));
}

#[test]
fn mistakes_say_what_would_be_right() {
    assert_eq!(mistake("--bnid-to core a"), "unknown option `--bnid-to`; did you mean `--bind-to`?");
    assert!(mistake("--frobnicate a").contains("--help"));
    assert!(mistake("-n zero a").contains("`zero` is not a number"));
    assert!(mistake("-n 0 a").contains("at least 1"));
    assert!(mistake("-n -3 a").contains("-3"));
    assert!(mistake("-n").contains("needs a value"));
    assert!(mistake("-n 4").contains("no program"));
    assert!(mistake("").contains("no program"));
    assert!(mistake("-l=3 a").contains("takes no value"));
    assert!(mistake("--timeout soon a").contains("soon"));
    assert!(mistake("-configfile /nonexistent").contains("/nonexistent"));
}

#[test]
fn help_and_version() {
    assert!(matches!(parse("mpirun", ["--help".into()]), Ok(Command::Help(_))));
    assert!(matches!(parse("mpirun", ["-V".into()]), Ok(Command::Version)));
}

#[test]
fn a_file_of_command_lines() {
    let path = std::env::temp_dir().join(format!("oxmpi-config-{}", std::process::id()));
    std::fs::write(&path, "# two programs\n-l\n-n 2 ./a 'x y' :\n\n-n 1 \\\n  ./b \"q\\\"\"\n").unwrap();
    let request = run(&format!("-configfile {}", path.display()));
    std::fs::remove_file(&path).unwrap();
    let [a, b] = &request.blocks[..] else { panic!() };
    assert_eq!(a.arguments, ["x y", ":"]);
    assert_eq!((b.count, &b.arguments[..]), (Some(1), &["q\"".into()][..]));
    assert_eq!(request.settings.label, Label::Rank);
}
