# A few jobs under Slurm: our mpirun in an allocation, srun with PMI-2 and, where it can be had, with PMIx.
# hosts: 2
# needs: root slurmctld slurmd srun munged setpriv
# limit: 120
# sample
# shellcheck source=../slurm.sh
. "$here/slurm.sh"
# shellcheck source=../others.sh
. "$here/others.sh"
slurm_up
launch() {
    on 1 timeout -k 5 60 srun --mpi=$mpi -N $1 -n $2 --ntasks-per-node=$((($2 + $1 - 1) / $1)) "${@:3}"
}
status=0
alloc 2 timeout -k 5 60 "$stage/bin/mpirun" -v "$bin/hello" >"$out" 2>&1 </dev/null || status=$?
ended_with 0
says "the hosts are those of Slurm (job" "2 hosts, 4 slots" "rank 3 of 4 on h2"
nothing_left
for mpi in pmi2 pmix; do
    if [ $mpi = pmix ] && ! ldconfig -p | grep -q 'libpmix\.so\.2 '; then
        echo "pmix skipped, because there is no libpmix.so.2" && continue
    fi
    others_places 2 4
    others 2 4 "$bin/life" recv abort 3
    ended_badly
    says "MPI_Abort(MPI_COMM_WORLD, 5)"
    nothing_left 5
done
