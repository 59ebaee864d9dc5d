# Hosts share an address that only they themselves can reach (docker0), and have a tunnel that leads nowhere.
# sample
# hosts: 2
# needs: tun
for i in 1 2; do
    on $i sh -c "ip link add docker0 type bridge; ip addr add 172.17.0.1/16 dev docker0; ip link set docker0 up
        ip tuntap add tun0 mode tun; ip addr add 100.64.0.$i/32 dev tun0; ip link set tun0 up"
done
job --host h1:2,h2:2 "$bin/hello"
ended_with 0
[ $took -lt 10000 ] || fail "took $took ms"
job --net-interface eth0 --host h1:2,h2:2 "$bin/hello"
ended_with 0
job --net-interface 198.18.0.0/24 --host h1:2,h2:2 "$bin/hello"
ended_with 0
job --net-interface eth7 --host h1:2,h2:2 "$bin/hello"
failed
says "eth7" "docker0 172.17.0.1"
