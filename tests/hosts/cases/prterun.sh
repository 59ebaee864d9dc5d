# Ranks that PRRTE's prterun and the mpirun of Open MPI 5 start on two hosts, over ssh. bench/peers installs them.
# hosts: 2
# needs: sshd peer:openmpi
# limit: 300
# shellcheck source=../others.sh
. "$here/others.sh"
printf '#!/bin/sh\nexec ssh -F %s/ssh_config "$@"\n' $lab >$lab/rsh
chmod +x $lab/rsh
launch() {
    local names
    names=$(seq -f "h%g:$((($2 + $1 - 1) / $1))" -s, "$1")
    # It finds its parts from its own place only as mpirun.
    on 1 env PRTE_PREFIX="$OXMPI_PEERS/openmpi" PMIX_PREFIX="$OXMPI_PEERS/openmpi" timeout -k 5 60 "$OXMPI_PEERS/openmpi/bin/$peer" \
        --allow-run-as-root --prefix "$OXMPI_PEERS/openmpi" --prtemca plm_ssh_agent $lab/rsh --prtemca prte_tmpdir_base /dev/shm --host "$names" --map-by slot --bind-to none -n "${@:2}"
}
for peer in mpirun prterun; do
    others_places 2 4
    others_programs 2 4
    others_one_sided 2 4
    others_failures 2 4
    others_spawn 2 2
    case $peer in
    mpirun) others_identity 2 2 "Open MPI's mpirun" ;;
    *) others_identity 2 2 "PRRTE's prterun" ;;
    esac
    # One process is a world of one.
    others 1 1 "$bin/hello"
    ended_with 0
    says "rank 0 of 1 on h1"
done
