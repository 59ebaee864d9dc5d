//! What a rank finds: its variables, its directory, its CPUs.

use crate::support::{Dir, command, mpirun, run, script};

#[test]
fn a_rank_knows_its_place() {
    let done = script("-n 3", "echo $OXMPI_RANK $OXMPI_SIZE $OXMPI_LOCAL_RANK $OXMPI_LOCAL_SIZE $OXMPI_APPNUM").clean();
    assert_eq!(done.sorted(), ["0 3 0 3 0", "1 3 1 3 0", "2 3 2 3 0"]);
}

#[test]
fn several_programs_make_one_job() {
    let line = ["-n", "1", "sh", "-c", "echo a $OXMPI_RANK $OXMPI_SIZE $OXMPI_APPNUM"];
    let more = [":", "-n", "2", "-env", "V", "w", "sh", "-c", "echo b $OXMPI_RANK $OXMPI_SIZE $OXMPI_APPNUM $V"];
    let last = [":", "sh", "-c", "echo c $OXMPI_RANK $V"];
    let done = run(command().args(line).args(more).args(last)).clean();
    assert_eq!(done.sorted(), ["a 0 4 0", "b 1 4 1 w", "b 2 4 1 w", "c 3"]);
}

#[test]
fn a_file_of_command_lines() {
    let dir = Dir::new();
    std::fs::write(
        dir.0.join("job"),
        "# two\n-n 1 sh -c 'echo one : $OXMPI_RANK'\n-n 1 sh -c 'echo two $OXMPI_RANK'\n",
    )
    .unwrap();
    let done = mpirun(&format!("-configfile {}", dir.path("job"))).clean();
    assert_eq!(done.sorted(), ["one : 0", "two 1"]);
}

#[test]
fn variables_in_both_dialects() {
    let show = "echo $A-$B-$C-$D";
    let options = "-n 1 -genv A 1 -env B=2 -x C=3 -x D";
    let done = run(command().env("D", "4").args(options.split(' ')).args(["sh", "-c", show])).clean();
    assert_eq!(done.stdout, "1-2-3-4\n");
    let narrow = |options: &str| {
        let mut command = command();
        command.env("A", "1").env("B", "2").args(["-n", "1"]).args(options.split_whitespace());
        run(command.args(["/bin/sh", "-c", show])).clean().stdout
    };
    assert_eq!(narrow("-genvnone"), "---\n");
    assert_eq!(narrow("-genvlist B,C"), "-2--\n");
    assert_eq!(narrow("-envnone -x A"), "1---\n");
    assert_eq!(narrow("-genvnone -envall"), "1-2--\n");
}

#[test]
fn nothing_of_another_job_reaches_a_rank() {
    let mut command = command();
    command.args(["-n", "1", "sh", "-c", "echo [$PMI_ID$PMIX_RANK$OMPI_COMMAND] $OMPI_MCA_btl $OXMPI_RANK $PMI_RANK"]);
    command.env("PMI_ID", "3").env("PMI_RANK", "3").env("PMIX_RANK", "3").env("OMPI_COMMAND", "a");
    let done = run(command.env("OMPI_MCA_btl", "self").env("OXMPI_RANK", "7")).clean();
    assert_eq!(done.stdout, "[] self 0 0\n");
}

#[test]
fn ranks_find_the_variables_of_other_launchers() {
    let show = "echo $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE $OMPI_COMM_WORLD_LOCAL_RANK/$OMPI_COMM_WORLD_LOCAL_SIZE \
        $OMPI_UNIVERSE_SIZE $PMI_RANK/$PMI_SIZE $MPI_LOCALRANKID/$MPI_LOCALNRANKS [$PMI_FD$PMI_PORT$PMIX_NAMESPACE]";
    let done = script("-n 2 -usize 5", show).clean();
    assert_eq!(done.sorted(), ["0/2 0/2 5 0/2 0/2 []", "1/2 1/2 5 1/2 1/2 []"]);
}

#[test]
fn launches_nest() {
    let inner = format!("{} -n 2 sh -c 'echo $OXMPI_RANK of $OXMPI_SIZE'", env!("CARGO_BIN_EXE_mpirun"));
    let done = script("-n 2", &inner).clean();
    assert_eq!(done.sorted(), ["0 of 2", "0 of 2", "1 of 2", "1 of 2"]);
}

#[test]
fn the_working_directory() {
    let dir = Dir::new();
    std::fs::write(dir.0.join("tool"), "echo here\n").unwrap();
    std::fs::set_permissions(dir.0.join("tool"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let at = dir.0.canonicalize().unwrap().display().to_string();
    for option in ["-wdir", "--wd", "--wdir"] {
        let done = mpirun(&format!("-n 1 {option} {at} pwd")).clean();
        assert_eq!(done.stdout.trim(), at);
    }
    // A program in that directory, with and without `./`; it has no `#!` line, as old scripts have
    // none.
    assert_eq!(mpirun(&format!("-n 1 -wdir {at} ./tool")).clean().stdout, "here\n");
    assert_eq!(mpirun(&format!("-n 1 -wdir {at} tool")).clean().stdout, "here\n");
    assert_eq!(mpirun(&format!("-n 1 -path {at} tool")).clean().stdout, "here\n");
}

#[test]
fn how_many_without_being_told() {
    let cpus = std::thread::available_parallelism().unwrap().get();
    assert_eq!(mpirun("echo x").clean().lines().len(), cpus);
    assert_eq!(mpirun("-host localhost:3 echo x").clean().lines().len(), 3);
    assert_eq!(mpirun("-ppn 5 echo x").clean().lines().len(), 5);
    assert_eq!(mpirun("--map-by ppr:4:node echo x").clean().lines().len(), 4);
    let dir = Dir::new();
    std::fs::write(dir.0.join("hosts"), "localhost slots=2\n127.0.0.1:2\n").unwrap();
    assert_eq!(mpirun(&format!("-f {} echo x", dir.path("hosts"))).clean().lines().len(), 4);
    assert_eq!(mpirun(&format!("-n 1 --hostfile {} echo x", dir.path("hosts"))).clean().lines().len(), 1);
}

#[test]
fn any_number_of_ranks_may_run() {
    assert_eq!(mpirun("-n 40 echo x").clean().lines().len(), 40);
    assert_eq!(mpirun("-n 3 -host localhost:1 --oversubscribe --allow-run-as-root echo x").clean().lines().len(), 3);
    let refused = mpirun("-n 3 -host localhost:1 --nooversubscribe echo x");
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("--nooversubscribe"), "{}", refused.stderr);
}

#[test]
fn binding() {
    let cpus = "grep Cpus_allowed_list /proc/self/status | cut -f2";
    let all = String::from_utf8(std::process::Command::new("sh").args(["-c", cpus]).output().unwrap().stdout).unwrap();
    let first = all.trim().split([',', '-']).next().unwrap();
    let lines = |options: &str| script(options, cpus).clean().stdout;
    assert_eq!(lines("-n 1"), all, "a single rank has all CPUs");
    assert_eq!(lines("-n 2 --bind-to none"), all.repeat(2));
    assert_eq!(lines("-n 300"), all.repeat(300), "nobody is bound when there are too few CPUs");
    assert_eq!(lines(&format!("-n 2 --bind-to user:{first}")), format!("{first}\n").repeat(2));
    assert_eq!(lines(&format!("-n 2 --cpu-list {first}")), format!("{first}\n").repeat(2));
    let done = script(&format!("-n 1 --report-bindings --bind-to user:{first}"), "true");
    assert!(done.stderr.contains("rank 0: sh (pid ") && done.stderr.contains(&format!("bound to CPU {first}")));
}
