# The hosts of a batch system are found in its environment, and reached with its own command: PBS, LSF, Grid Engine, with
# stand-ins for their commands, which reach a host as the real ones do and forget the environment.
# hosts: 3
# needs: sshd
# limit: 120
mkdir $lab/bin
for command in pbs_tmrsh blaunch qrsh; do
    cat >$lab/bin/$command <<END
#!/bin/sh
[ "\$1" = -inherit ] && shift
echo "$command \$1" >>$lab/called
exec env -i PATH="\$PATH" HOME="\$HOME" ssh -F $lab/ssh_config -oBatchMode=yes "\$@"
END
    chmod +x $lab/bin/$command
done
printf 'h1\nh2\nh3\nh2\n' >$lab/nodefile
printf 'h1 1 all.q@h1 UNDEFINED\nh2 1 all.q@h2 UNDEFINED\nh3 1 all.q@h3 UNDEFINED\nh2 1 long.q@h2 UNDEFINED\n' >$lab/pe

# in_batch VARIABLES… -- ARGUMENTS…: mpirun as a batch script on h1 would start it.
in_batch() {
    local variables=()
    while [ "$1" != -- ]; do variables+=("$1") && shift; done
    shift
    status=0
    : >$lab/called
    on 1 env PATH="$lab/bin:$PATH" "${variables[@]}" timeout -k 5 60 "$stage/bin/mpirun" "$@" >"$out" 2>&1 </dev/null || status=$?
}
# found SYSTEM COMMAND
found() {
    ended_with 0
    lines 4 "of 4 on h"
    says "rank 0 of 4 on h1" "rank 1 of 4 on h2" "rank 2 of 4 on h2" "rank 3 of 4 on h3" "the hosts are those of $1: 3 hosts, 4 slots"
    grep -q "^$2 h3" $lab/called || fail "$2 was not used"
    nothing_left
}
in_batch PBS_JOBID=7.h1 PBS_NODEFILE=$lab/nodefile -- -v "$bin/hello"
found "PBS (PBS_NODEFILE)" pbs_tmrsh
in_batch LSB_JOBID=7 LSB_DJOB_HOSTFILE=$lab/nodefile -- -v "$bin/hello"
found "LSF (LSB_DJOB_HOSTFILE)" blaunch
in_batch LSB_JOBID=7 LSB_MCPU_HOSTS="h1 1 h2 2 h3 1" -- -v "$bin/hello"
found "LSF (LSB_MCPU_HOSTS)" blaunch
in_batch JOB_ID=7 PE_HOSTFILE=$lab/pe -- -v "$bin/hello"
found "Grid Engine (PE_HOSTFILE)" qrsh
# The user overrides it, and what cannot be is said.
in_batch PBS_JOBID=7 PBS_NODEFILE=$lab/nodefile -- -v --host h3,h1 --launcher-exec "$rsh" "$bin/hello"
ended_with 0
says "rank 0 of 2 on h3"
says_not "the hosts are those of"
in_batch PBS_JOBID=7 PBS_NODEFILE=/nonexistent -- "$bin/hello"
ended_with 2
says "PBS_NODEFILE is \`/nonexistent\`, which cannot be read" "--host or --hostfile overrides it"
in_batch PBS_JOBID=7 PBS_NODEFILE=/nonexistent -- -n 1 --launcher local "$bin/hello"
ended_with 0
