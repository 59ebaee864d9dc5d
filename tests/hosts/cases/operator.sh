# Jobs as Kubernetes' mpi-operator starts them: the hosts are in /etc/mpi/hostfile, in the dialect of any of three MPIs, with its
# variables; a worker whose sshd is not up yet, or whose name is not known yet, is awaited.
# hosts: 3
# needs: sshd root
# limit: 120
on 1 bash -c "cp -a /etc $lab/etc && mkdir $lab/etc/mpi && mount --bind $lab/etc /etc && cat $lab/names >/etc/hosts" || fail "cannot make /etc of the launcher"
mkdir -p $lab/home1/.ssh
install -m 600 $lab/ssh_config $lab/home1/.ssh/config
# in_pod VARIABLES… -- ARGUMENTS…: mpirun as the launcher's container starts it.
in_pod() {
    local variables=()
    while [ "$1" != -- ]; do variables+=("$1") && shift; done
    shift
    status=0
    on 1 env "${variables[@]}" timeout -k 5 60 "$stage/bin/mpirun" "$@" >"$out" 2>&1 </dev/null || status=$?
}
found() {
    ended_with 0
    lines 4 "of 4 on h"
    says "rank 0 of 4 on h2" "rank 1 of 4 on h2" "rank 3 of 4 on h3"
    says "the hosts are those of Kubernetes' mpi-operator (/etc/mpi/hostfile): 2 hosts, 4 slots: h2:2,h3:2"
    nothing_left
}
printf 'h2 slots=2\nh3 slots=2\n' >$lab/etc/mpi/hostfile
in_pod K_MPI_JOB_ROLE=launcher OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile OMPI_MCA_orte_keep_fqdn_hostnames=true \
    OMPI_MCA_plm_rsh_args="-o ConnectionAttempts=10" -- -v "$bin/hello"
found
printf 'h2:2\nh3:2\n' >$lab/etc/mpi/hostfile
in_pod K_MPI_JOB_ROLE=launcher I_MPI_HYDRA_HOST_FILE=/etc/mpi/hostfile I_MPI_PERHOST=2 -- -v "$bin/hello"
found
# Older versions set no role.
in_pod HYDRA_HOST_FILE=/etc/mpi/hostfile -- -v "$bin/hello"
found
in_pod K_MPI_JOB_ROLE=launcher HYDRA_HOST_FILE=/etc/mpi/hostfile -- -q --host h3 "$bin/hello"
ended_with 0
says "rank 0 of 1 on h3"
# The container of a worker is no launcher.
in_pod K_MPI_JOB_ROLE=worker -- -v -n 1 "$bin/hello"
ended_with 0
says "rank 0 of 1 on h1"
# h2 has no sshd yet, and the name of h3 is not known yet.
kill "$(pgrep -x sshd --ns "$(cat $lab/pid2)" --nslist pid | head -n 1)"
until ! on 1 timeout 5 bash -c '</dev/tcp/h2/22' 2>/dev/null; do sleep 0.1; done
sed -i '/h3/d' $lab/etc/hosts
(sleep 2 && on 2 $lab/server && sleep 1 && cat $lab/names >$lab/etc/hosts) &
later=$! before=$(milliseconds)
in_pod K_MPI_JOB_ROLE=launcher HYDRA_HOST_FILE=/etc/mpi/hostfile -- -v "$bin/hello"
found
[ $(($(milliseconds) - before)) -ge 3000 ] || fail "the workers were not awaited"
wait $later
# A file that makes no sense is told with its line.
printf 'h2:2\nh3:x\n' >$lab/etc/mpi/hostfile
in_pod K_MPI_JOB_ROLE=launcher -- "$bin/hello"
ended_with 2
says "/etc/mpi/hostfile:2"
