# Only IPv6 between the hosts; then both, with an IPv4 that leads nowhere.
# hosts: 2
if ! [ -e /proc/net/if_inet6 ]; then
    echo "$name: skipped, because this kernel has no IPv6"
    exit 0
fi
printf 'fd00:18::1 six1\nfd00:18::2 six2\n' >>$lab/names
for i in 1 2; do
    on $i ip -6 addr add fd00:18::$i/64 dev eth0 nodad || fail "no IPv6 address"
    on $i ip addr del $net.$i/24 dev eth0
done
job --host six1:2,six2:2 "$bin/traffic" 1
ended_with 0
says "0 bytes wrong"
for i in 1 2; do on $i ip addr add 203.0.113.$i/32 dev eth0; done
job --host six1:2,six2:2 "$bin/traffic" 1
ended_with 0
says "0 bytes wrong"
[ $took -lt 10000 ] || fail "took $took ms"
