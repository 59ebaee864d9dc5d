# Hosts for tests, on one machine: each has network, process, host name, IPC and mount namespaces of its own, an own
# /dev/shm, boot id and home folder, and sshd. Sourced by `case`, which runs inside an outer set of namespaces, so
# that the end of that process ends all hosts and everything on them.
#
#   lab_up 4           hosts h1 to h4, 198.18.0.1 to 4, on one switch
#   on 2 COMMAND…      runs a command on h2
#   cut 2, heal 2      takes h2 off the switch, and back
#   crash 2            ends h2 and all its processes at once
#   freeze 2, thaw 2   stops all processes of h2, and lets them go on
#
# Nothing leaves the machine: no host has a route beyond the switch.

lab=/run/oxmpi-hosts
net=198.18.0

lab_up() {
    local count=$1 i
    hosts=$count
    mkdir -p /run
    mount -t tmpfs -o mode=755 lab /run
    mkdir -p $lab/cgroup /run/sshd
    ip link set lo up
    ip link add switch type bridge
    ip link set switch up
    echo "127.0.0.1 localhost" >$lab/names
    for ((i = 1; i <= count; i++)); do
        echo "$net.$i h$i" >>$lab/names
        mkdir $lab/home$i
        cat /proc/sys/kernel/random/uuid >$lab/boot$i
        sed -E "s|^(root:[^:]*:[^:]*:[^:]*:[^:]*:).*|\1$lab/home$i:/bin/bash|" /etc/passwd >$lab/passwd$i
    done
    services
    for ((i = 1; i <= count; i++)); do
        unshare --net --uts --ipc --pid --mount --fork --mount-proc --kill-child \
            bash -c "
            mount --make-rprivate /
            hostname h$i
            # The interfaces of this host, and the control groups of the machine, which slurmd wants to see.
            mount --rbind /sys/fs/cgroup $lab/cgroup 2>/dev/null
            mount -t sysfs sysfs /sys 2>/dev/null
            mount --rbind $lab/cgroup /sys/fs/cgroup 2>/dev/null
            mount -t tmpfs -o mode=1777 shm /dev/shm
            mount --bind $lab/names /etc/hosts
            mount --bind $lab/passwd$i /etc/passwd
            mount --bind $lab/boot$i /proc/sys/kernel/random/boot_id
            ip link set lo up
            touch $lab/made$i
            while ! ip link show eth0 >/dev/null 2>&1; do sleep 0.02; done
            ip addr add $net.$i/24 dev eth0
            ip link set eth0 up
            $lab/server
            touch $lab/up$i
            while :; do sleep 1000000 & wait; done" </dev/null >>$lab/log$i 2>&1 &
        echo $! >$lab/unshare$i
    done
    for ((i = 1; i <= count; i++)); do
        until [ -e $lab/made$i ]; do sleep 0.02; done
        pgrep -P "$(cat $lab/unshare$i)" >$lab/pid$i
        ip link add p$i type veth peer name eth0 netns "$(cat $lab/pid$i)"
        ip link set p$i master switch up
    done
    for ((i = 1; i <= count; i++)); do
        until [ -e $lab/up$i ]; do sleep 0.02; done
    done
}

# sshd and the command that reaches a host. Without root, sshd cannot change its user, and a program of the tests takes its
# place.
services() {
    if [ -z "${sshd:=}" ]; then
        rsh=$bin/shell
        printf '#!/bin/sh\nexec %q serve\n' "$bin/shell" >$lab/server
        chmod +x $lab/server
        return
    fi
    printf '#!/bin/sh\nexec %q -f %s/sshd_config\n' "$sshd" $lab >$lab/server
    chmod +x $lab/server
    ssh-keygen -q -t ed25519 -N '' -f $lab/host_key
    ssh-keygen -q -t ed25519 -N '' -f $lab/key
    cat >$lab/sshd_config <<END
Port 22
HostKey $lab/host_key
AuthorizedKeysFile $lab/key.pub
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
UsePAM no
PidFile none
MaxStartups 100:30:200
END
    cat >$lab/ssh_config <<END
Host *
  IdentityFile $lab/key
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
END
    rsh="ssh -F $lab/ssh_config"
}

on() {
    local i=$1
    shift
    nsenter -t "$(cat $lab/pid$i)" --net --uts --ipc --pid --mount -- "$@"
}

cut() { ip link set p$1 down; }
heal() { ip link set p$1 up; }
crash() { kill -9 "$(cat $lab/pid$1)"; }

# All processes of a host but its first one and sshd's listener.
processes() {
    local pid
    for pid in $(pgrep --ns "$(cat $lab/pid$1)" --nslist pid .); do
        [ "$pid" = "$(cat $lab/pid$1)" ] || echo "$pid"
    done
}
freeze() { processes $1 | xargs -r kill -STOP; }
# nsenter stops itself with its child.
thaw() { { processes $1; pgrep -x nsenter; } | xargs -r kill -CONT; }

# firewall I RULES…: rules for what arrives at a host.
firewall() {
    local i=$1 rule
    shift
    {
        echo "table inet lab {"
        echo "chain in {"
        echo "type filter hook input priority 0"
        for rule; do echo "$rule"; done
        echo "}"
        echo "}"
    } | on $i nft -f -
}
