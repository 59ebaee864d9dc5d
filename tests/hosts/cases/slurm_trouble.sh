# Jobs in allocations of Slurm with a drained node, a rank that is killed or runs out of memory, scancel in the middle, and
# heterogeneous jobs, with our mpirun and with srun.
# hosts: 3
# needs: root slurmctld slurmd srun munged setpriv
# limit: 300
# shellcheck source=../slurm.sh
. "$here/slurm.sh"
# shellcheck source=../others.sh
. "$here/others.sh"
slurm_up

# batch OPTIONS… -- COMMAND…: a batch script with this command runs; its text is in $out, its status in $status.
batch() {
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    printf '#!/bin/bash\nexec "$@"\n' >$lab/script
    : >"$out"
    status=0
    on 1 timeout -k 5 60 sbatch --quiet --wait --output="$out" "${options[@]}" $lab/script "$@" >"$out.sbatch" 2>&1 || status=$?
}
# start_batch OPTIONS… -- COMMAND…: the same in the background; `finish` waits for it.
start_batch() {
    begun=$(milliseconds)
    : >"$out"
    (batch "$@"; exit $status) &
    started=$!
}
mpirun=$stage/bin/mpirun

# A node is drained: the job gets the others. One that is drained while a job runs there lets it end.
on 1 scontrol update nodename=h2 state=drain reason=test
batch -N 2 --ntasks-per-node=2 -- "$mpirun" -v "$bin/hello"
ended_with 0
says "2 hosts, 4 slots" "rank 0 of 4 on h1" "rank 3 of 4 on h3"
on 1 scontrol update nodename=h2 state=resume
start_batch -N 3 --ntasks-per-node=2 -- "$mpirun" -q "$bin/life" ring exit 5
until_says "rank 5 lives"
on 1 scontrol update nodename=h3 state=drain reason=test
finish
ended_with 3
says "rank 5"
nothing_left 5
on 1 scontrol update nodename=h3 state=resume

# A rank is killed.
now
batch -N 3 --ntasks-per-node=2 -- "$mpirun" -q "$bin/life" recv kill 4
within 20
ended_with 137
says "was killed by signal 9"
nothing_left 5
# A rank uses more memory than its control group has, and the kernel kills it.
group=/sys/fs/cgroup/memory/oxmpi-test-$$
if mkdir $group 2>/dev/null && echo 64M >$group/memory.limit_in_bytes; then
    limited="[ \${OXMPI_RANK:-\${SLURM_PROCID:-0}} = 5 ] && echo \$\$ >$group/cgroup.procs; exec $bin/life recv memory 5"
    for command in "$mpirun -q" "srun --mpi=pmi2"; do
        # shellcheck disable=SC2086 # words
        batch -N 3 --ntasks-per-node=2 -- $command bash -c "$limited"
        ended_badly
        says "rank 5"
        nothing_left 5
    done
    rmdir $group
else
    echo "a rank without memory was not tried, because there is no control group for memory here"
fi

# scancel in the middle, with either launcher.
for command in "$mpirun -q" "srun --mpi=pmi2"; do
    # shellcheck disable=SC2086 # words
    start_batch -N 3 --ntasks-per-node=2 -- $command "$bin/life" ring
    until_says "rank 5 lives"
    now
    on 1 scancel --user root
    finish
    within 15
    ended_badly
    nothing_left 5
done

# A heterogeneous job: components with different numbers of hosts and tasks.
both() { on 1 timeout -k 5 60 salloc --quiet -N 1 -n 1 -w h1 : -N 2 -n 4 --ntasks-per-node=2 -w h2,h3 "$@" >"$out" 2>&1 </dev/null || status=$?; }
status=0
both "$mpirun" -v "$bin/hello"
ended_with 0
says "3 hosts, 5 slots: h1:1,h2:2,h3:2" "rank 0 of 5 on h1" "rank 1 of 5 on h2" "rank 4 of 5 on h3"
lines 5 "of 5 on h"
nothing_left
both "$mpirun" -q --launcher slurm --host h3:2,h1 "$bin/hello"
ended_with 0
says "rank 0 of 3 on h3" "rank 2 of 3 on h1"
both srun --het-group=0,1 --mpi=pmi2 "$bin/hello"
ended_with 0
says "rank 0 of 5 on h1" "rank 1 of 5 on h2" "rank 4 of 5 on h3"
both "$mpirun" -q "$bin/life" recv kill 4
ended_with 137
nothing_left 5
