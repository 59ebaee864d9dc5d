# Ranks that `srun --mpi=pmix` starts on three hosts, without our mpirun.
# hosts: 3
# needs: root slurmctld slurmd srun munged setpriv srun:pmix lib:libpmix.so.2
# limit: 600
# shellcheck source=../slurm.sh
. "$here/slurm.sh"
# shellcheck source=../others.sh
. "$here/others.sh"
slurm_up
launch() {
    on 1 timeout -k 5 150 srun --mpi=pmix -N $1 -n $2 --ntasks-per-node=$((($2 + $1 - 1) / $1)) "${@:3}"
}
others_places 3 6
others_places 2 3
others_programs 3 6
others_one_sided 3 6
others_failures 3 6
others_spawn 3 3
others_identity 3 3 "Slurm's srun"
# One process is a world of one.
others 1 1 "$bin/hello"
ended_with 0
says "rank 0 of 1 on h1"
# The library is missing on the nodes.
others 2 2 unshare --mount bash -c 'for file in $(ldconfig -p | sed -n "s/.*libpmix.so.2.* => //p"); do mount --bind /dev/null $file; done; exec "$0"' "$bin/hello"
ended_badly
says "Slurm's srun started this program" "libpmix.so.2 cannot be loaded" "libpmix2" "--mpi=pmi2"
nothing_left 5
# A false one that reaches no server.
mkdir -p $lab/false
cc -shared -fPIC -DINIT=-25 -o $lab/false/libpmix.so.2 "$root/crates/oxmpi-pmix/tests/false_pmix.c" || fail "cannot compile the false library"
others 2 2 env LD_LIBRARY_PATH=$lab/false "$bin/hello"
ended_badly
says "PMIx_Init fails: UNREACHABLE (-25)" "the PMIx server of the launcher has ended or cannot be reached"
# The server has gone: nobody listens where the environment says.
status=0
on 1 env PMIX_RANK=0 PMIX_NAMESPACE=gone PMIX_SERVER_URI41="gone.0;tcp4://127.0.0.1:1" PMIX_SERVER_URI4="gone.0;tcp4://127.0.0.1:1" \
    timeout -k 5 60 "$bin/hello" >"$out" 2>&1 </dev/null || status=$?
ended_badly
says "a PMIx launcher started this program" "PMIx_Init fails" "unset PMIX_NAMESPACE to run it alone"
# scancel in the middle.
start_others 3 6 "$bin/life" recv
until_says "rank 5 lives"
now
on 1 scancel --user root
finish
within 15
ended_badly
nothing_left 5
