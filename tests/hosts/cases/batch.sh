# The hosts of a batch system are found in its environment, and reached with its own command: PBS, LSF, Grid Engine, with
# stand-ins for their commands (tests/hosts/batch) that give a program what the real ones give it.
# hosts: 3
# needs: sshd taskset
# limit: 300
cookie=7E3A5C1F09B2D4687E3A5C1F09B2D468
printf 'h1\nh2\nh3\nh2\n' >$lab/nodefile
printf 'h1 1 all.q@h1 UNDEFINED\nh2 1 all.q@h2 UNDEFINED\nh3 1 all.q@h3 UNDEFINED\nh2 1 long.q@h2 UNDEFINED\n' >$lab/pe
pbs=(PBS_JOBID=7.h1 PBS_JOBCOOKIE=$cookie PBS_NODEFILE=$lab/nodefile)

# in_batch VARIABLES… -- ARGUMENTS…: mpirun as a batch script on h1 would start it.
in_batch() {
    local variables=()
    while [ "$1" != -- ]; do variables+=("$1") && shift; done
    shift
    status=0
    : >$lab/called
    : >$lab/job.out
    echo $cookie >$lab/cookie
    on 1 env PATH="$here/batch:$PATH" "${variables[@]}" timeout -k 5 90 "$stage/bin/mpirun" "$@" >"$out" 2>&1 </dev/null || status=$?
}
# found SYSTEM COMMAND VARIABLES…: a job runs there, with the environment of mpirun, its input, and the CPU of the system.
found() {
    local system=$1 command=$2 host
    shift 2
    in_batch "$@" -- -v "$bin/hello"
    ended_with 0
    lines 4 "of 4 on h"
    says "rank 0 of 4 on h1" "rank 1 of 4 on h2" "rank 2 of 4 on h2" "rank 3 of 4 on h3" "the hosts are those of $system: 3 hosts, 4 slots"
    says "reached with $command" "host h2: 1 CPU may be used" "host h3: 1 CPU may be used"
    for host in h2 h3; do
        grep -q "^${command%% *} $host" $lab/called || fail "$command was not used for $host"
    done
    nothing_left
    in_batch "$@" GREETING="it's me" -- -q sh -c \
        'echo "$GREETING, CPU $(sed -n "s/Cpus_allowed_list:[^0-9]*//p" /proc/self/status), rank $OXMPI_RANK"; [ $OXMPI_RANK != 2 ] || exit 7'
    ended_with 7
    says "it's me, CPU 0, rank 1" "it's me, CPU 0, rank 3"
    nothing_left
}
found "PBS (PBS_NODEFILE)" pbs_tmrsh "${pbs[@]}"
found "LSF (LSB_DJOB_HOSTFILE)" blaunch LSB_JOBID=7 LSB_DJOB_HOSTFILE=$lab/nodefile
found "LSF (LSB_MCPU_HOSTS)" blaunch LSB_JOBID=7 LSB_MCPU_HOSTS="h1 1 h2 2 h3 1"
found "Grid Engine (PE_HOSTFILE)" "qrsh -inherit" JOB_ID=7 PE_HOSTFILE=$lab/pe
# Jobs that ranks spawn are started in the same way.
in_batch "${pbs[@]}" -- -q -n 1 "$bin/spawns" h2,h3 3
ended_with 0
says "rank 0 on h1 has spawned" "child 0 on h2" "child 1 on h2" "child 2 on h3"
nothing_left 5
# The user overrides it, and what cannot be is said.
in_batch "${pbs[@]}" -- -v --host h3,h1 --launcher-exec "$rsh" "$bin/hello"
ended_with 0
says "rank 0 of 2 on h3"
says_not "the hosts are those of"
in_batch "${pbs[@]}" -- -v --launcher-exec "$rsh" "$bin/hello"
ended_with 0
says "the hosts are those of PBS" "rank 3 of 4 on h3"
[ ! -s $lab/called ] || fail "pbs_tmrsh was used, although the user has named a command"
in_batch "${pbs[@]}" -- --launcher pbs --host h2,h9 "$bin/hello"
failed
says "host h9" 'host "h9" is not a node in job' "status 255"
nothing_left 5
in_batch PBS_JOBID=7 PBS_NODEFILE=/nonexistent -- "$bin/hello"
ended_with 2
says "PBS_NODEFILE is \`/nonexistent\`, which cannot be read" "--host or --hostfile overrides it"
in_batch PBS_JOBID=7 PBS_NODEFILE=/nonexistent -- -n 1 --launcher local "$bin/hello"
ended_with 0
in_batch -- --launcher pbs --host h2,h3 "$bin/hello"
failed
says "--launcher pbs works inside a job of PBS" "PBS_JOBCOOKIE"
# An agent of another job says so where PBS puts what it writes.
in_batch "${pbs[@]}" PBS_JOBCOOKIE=00000000000000000000000000000000 -- "$bin/hello"
failed
says "its launcher ended with status 1" "output files of the job"
grep -q "^OXMPI-AGENT-FAILED h" $lab/job.out || fail "the agents say nothing: $(cat $lab/job.out)"
nothing_left 5
# An agent is killed, a rank is killed, mpirun is killed: nothing is left.
for victim in "^$stage/bin/mpirun --agent-of" "^$bin/life" "^$stage/bin/mpirun -q"; do
    : >"$out"
    on 1 env PATH="$here/batch:$PATH" "${pbs[@]}" "$stage/bin/mpirun" -q "$bin/life" recv >"$out" 2>&1 </dev/null &
    started=$! begun=$(milliseconds)
    until_says "rank 3 lives"
    now
    kill -9 "$(pgrep -f "$victim" | shuf -n 1)"
    finish
    within 5
    [ $status -ne 0 ] || fail "status 0"
    case $victim in
    *agent*) says "the agent was lost" ;;
    *life) ended_with 137 && says "was killed by signal 9" ;;
    esac
    nothing_left 10
done
# A firewall on the host of mpirun.
firewall 1 "ct state established,related accept" "iif lo accept" "tcp dport 22 accept" "tcp flags & (syn | ack) == syn reject with tcp reset"
in_batch "${pbs[@]}" -- "$bin/hello"
failed
says "its launcher ended with status 1"
grep -q "^OXMPI-AGENT-FAILED h[23] .*Connection refused" $lab/job.out || fail "the agents say nothing: $(cat $lab/job.out)"
nothing_left 5
