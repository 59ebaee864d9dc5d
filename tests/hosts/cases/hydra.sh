# Ranks that the mpiexec.hydra of MPICH and of Intel MPI start on two hosts, over ssh. bench/peers installs them.
# hosts: 2
# needs: sshd peer:mpich
# limit: 300
# shellcheck source=../others.sh
. "$here/others.sh"
printf '#!/bin/sh\nexec ssh -F %s/ssh_config "$@"\n' $lab >$lab/rsh
chmod +x $lab/rsh
launch() {
    local names
    names=$(seq -f 'h%g' -s, "$1")
    on 1 timeout -k 5 60 "$OXMPI_PEERS/$peer/bin/mpiexec.hydra" -launcher ssh -launcher-exec $lab/rsh -hosts "$names" -ppn $((($2 + $1 - 1) / $1)) -n "${@:2}"
}
for peer in mpich impi; do
    [ -x "$OXMPI_PEERS/$peer/bin/mpiexec.hydra" ] || { echo "$peer skipped, because it is not there" && continue; }
    others_places 2 4
    others_programs 2 4
    others_one_sided 2 4
    others_failures 2 4
    others_aborts 2 4
    others_spawn 2 2
done
