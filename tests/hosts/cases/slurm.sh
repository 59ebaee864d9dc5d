# --launcher slurm: one srun starts the agents of all hosts, inside an allocation.
# hosts: 3
# needs: root slurmctld slurmd srun munged setpriv
# limit: 300
# shellcheck source=../slurm.sh
. "$here/slurm.sh"
slurm_up
# in_allocation ARGUMENTS…: the same as `job`, with the launcher slurm in an allocation of all hosts.
in_allocation() {
    local begun
    begun=$(milliseconds)
    status=0
    alloc 3 timeout -k 5 60 "$stage/bin/mpirun" --launcher slurm "$@" >"$out" 2>&1 </dev/null || status=$?
    took=$(($(milliseconds) - begun))
}
in_allocation -q "$bin/hello"
ended_with 0
says "rank 0 of 6 on h1" "rank 2 of 6 on h2" "rank 5 of 6 on h3"
lines 6 "of 6 on h"
nothing_left
# Fewer CPUs than Slurm believes to be there.
in_allocation --host h2:1,h3.example.org:2 "$bin/hello"
ended_with 0
says "rank 0 of 3 on h2" "rank 2 of 3 on h3" "of the 64 CPUs that Slurm has given to the job"
lines 3 "of 3 on h"
# Standard input, output of all, arguments.
alloc 3 "$stage/bin/mpirun" -q --launcher slurm -n 3 --map-by node sh -c 'if [ $OXMPI_RANK = 0 ]; then cat; fi; echo "$1"' x 'two words' \
    >"$out" 2>&1 <<<"input of rank 0"
says "input of rank 0"
lines 3 "two words"
# The allocation is found without an option.
alloc 3 timeout -k 5 60 "$stage/bin/mpirun" -v "$bin/hello" >"$out" 2>&1 </dev/null || fail "mpirun failed without --launcher"
says "the hosts are those of Slurm (job" "3 hosts, 6 slots" "rank 5 of 6 on h3"
nothing_left
# What a user may get wrong.
job --launcher slurm "$bin/hello"
ended_with 2
says "works inside an allocation" "SLURM_JOB_ID" "salloc"
in_allocation --host h2,h9 "$bin/hello"
ended_with 2
says "host h9 is not in the allocation of Slurm job" "h1, h2, h3"
in_allocation --launcher-exec /nonexistent/srun "$bin/hello"
failed
says "cannot start \`/nonexistent/srun\`" "is Slurm installed here?"
in_allocation --launcher-exec "srun --no-such-option" "$bin/hello"
failed
says "no-such-option" "srun ended with status"
in_allocation --stage-in program "$bin/hello"
ended_with 2
says "sbcast"
in_allocation --prefix /nonexistent "$bin/hello"
failed
says "/nonexistent/bin/mpirun"
nothing_left
# A rank, an agent and srun are killed.
start_in_allocation() {
    : >"$out"
    alloc 3 "$stage/bin/mpirun" -q --launcher slurm "$bin/life" recv >"$out" 2>&1 </dev/null &
    started=$!
    until_says "rank 5 lives"
}
for victim in "^$bin/life" "^$stage/bin/mpirun --agent-in-step" "^srun "; do
    start_in_allocation
    # srun has a child that ends the step if srun is killed; srun itself is the older one.
    case $victim in *srun*) pid=$(pgrep -o -f "$victim") ;; *) pid=$(pgrep -f "$victim" | shuf -n 1) ;; esac
    now
    kill -9 "$pid"
    begun=$event finish
    within 2
    [ $status -ne 0 ] || fail "status 0"
    case $victim in
    *life) ended_with 137 && says "was killed by signal 9" ;;
    *step) says "the agent was lost" ;;
    *srun*) says "srun was killed by signal 9" ;;
    esac
    nothing_left 5
done
start_in_allocation
now
kill -9 "$(pgrep -f "^$stage/bin/mpirun -q")"
begun=$event finish
nothing_left 5
# A firewall on the host of mpirun: agents that cannot connect say so.
firewall 1 "ct state established,related accept" "iif lo accept" "tcp dport != 60000-61000 accept" "tcp flags & (syn | ack) == syn reject with tcp reset"
in_allocation --port-range 60000-61000 "$bin/hello"
failed
says "198.18.0.1:60000: Connection refused" "mpirun"
nothing_left 5
