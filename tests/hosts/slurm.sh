# Slurm on the hosts of lab.sh: munge and slurmd on each, slurmctld on h1. Sourced by cases that need it.
#
#   slurm_up           all nodes are idle when it returns
#   alloc N COMMAND…   runs a command on h1 in an allocation of N hosts with two tasks each

slurm=$lab/slurm
export SLURM_CONF=$slurm/slurm.conf

slurm_up() {
    local i
    mkdir -p $slurm/state
    chmod 755 $lab
    dd if=/dev/urandom of=$slurm/munge.key bs=1 count=1024 2>/dev/null
    chown munge: $slurm/munge.key
    chmod 400 $slurm/munge.key
    # Cores that this machine may not have: the hosts share its CPUs.
    cat >$SLURM_CONF <<END
ClusterName=lab
SlurmctldHost=h1
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=/run/munge/munge.socket.2
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
# Heterogeneous jobs wait for the second scheduler.
SchedulerParameters=bf_interval=1
MpiDefault=none
# PMIx keeps sockets and files there, and the hosts share /tmp.
TmpFS=/dev/shm
ReturnToService=2
SlurmctldPidFile=$slurm/ctld.pid
SlurmdPidFile=$slurm/%n.pid
SlurmdSpoolDir=$slurm/spool.%n
StateSaveLocation=$slurm/state
SlurmctldLogFile=$slurm/ctld.log
SlurmdLogFile=$slurm/%n.log
SlurmdParameters=config_overrides
NodeName=h[1-$hosts] CPUs=64 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
    local pmix
    pmix=$(ldconfig -p | sed -n 's/.*libpmix\.so\.2 .*=> //p' | head -n 1 | xargs -r realpath | xargs -r dirname)
    # Slurm's plugin loads libpmix.so, which Debian has in a package for developers only.
    if [ -n "$pmix" ] && [ ! -e "$pmix/libpmix.so" ]; then
        cp -a "$pmix" $slurm/pmix && ln -s libpmix.so.2 $slurm/pmix/libpmix.so || fail "cannot copy $pmix"
        for ((i = 1; i <= hosts; i++)); do on $i mount --bind $slurm/pmix "$pmix" || fail "cannot mount libpmix.so on h$i"; done
    fi
    for ((i = 1; i <= hosts; i++)); do
        on $i bash -c "
            mkdir -p $slurm/spool.h$i /run/munge && mount -t tmpfs -o mode=755 munge /run/munge
            chown munge: /run/munge
            setpriv --reuid=munge --regid=munge --clear-groups munged --key-file=$slurm/munge.key --num-threads=1 \
                --log-file=/run/munge/log --seed-file=/run/munge/seed --pid-file=/run/munge/pid" ||
            fail "munge does not start on h$i"
    done
    on 1 slurmctld || fail "slurmctld does not start"
    for ((i = 1; i <= hosts; i++)); do
        on $i slurmd -N h$i || fail "slurmd does not start on h$i: $(tail -n 3 $slurm/h$i.log)"
    done
    for ((i = 0; i < 200; i++)); do
        [ "$(on 1 sinfo -h -o %D -t idle 2>/dev/null | awk '{ sum += $1 } END { print sum + 0 }')" = $hosts ] && return
        sleep 0.1
    done
    tail -n 5 $slurm/*.log
    fail "the nodes do not become idle: $(on 1 sinfo 2>&1)"
}

alloc() {
    local count=$1
    shift
    on 1 salloc --quiet --exclusive -N $count --ntasks-per-node=2 "$@"
}
