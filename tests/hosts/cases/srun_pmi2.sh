# Ranks that `srun --mpi=pmi2` starts on three hosts, without our mpirun.
# hosts: 3
# needs: root slurmctld slurmd srun munged setpriv
# limit: 600
# shellcheck source=../slurm.sh
. "$here/slurm.sh"
# shellcheck source=../others.sh
. "$here/others.sh"
slurm_up
launch() {
    on 1 timeout -k 5 150 srun --mpi=${mpi:-pmi2} -N $1 -n $2 --ntasks-per-node=$((($2 + $1 - 1) / $1)) "${@:3}"
}
others_places 3 6
others_places 2 3
others_programs 3 6
others_one_sided 3 6
others_failures 3 6
others_spawn 3 3
# One process is a world of one, and may do what such a process may.
others 1 1 "$bin/hello"
ended_with 0
says "rank 0 of 1 on h1"
# Without a process manager it is said, instead of six worlds of one.
mpi=none others 3 6 "$bin/hello"
ended_badly
says "was started by Slurm's srun as one of 6 processes" "--mpi=pmi2"
# scancel in the middle.
start_others 3 6 "$bin/life" recv
until_says "rank 5 lives"
now
on 1 scancel --user root
finish
within 15
ended_badly
nothing_left 5
