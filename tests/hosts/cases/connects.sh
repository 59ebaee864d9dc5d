# Two jobs that share one host of two connect and disconnect 1,000 times; then two jobs of one machine each, on two hosts.
# hosts: 3
# limit: 600
# needs: ss
limit=500 start --host h1:1,h2:1 "$bin/connects" accept $lab/port 1000
on 2 timeout -k 5 500 "$stage/bin/mpirun" --launcher-exec "$rsh" --host h2:1,h3:1 "$bin/connects" connect $lab/port 1000 \
    >$lab/connecting 2>&1 || fail "$(cat $lab/connecting)"
finish
ended_with 0
grep -qx "connected 1000 times" $lab/connecting || fail "$(cat $lab/connecting)"
says "accepted 1000 times"
nothing_left
# A job of one machine listens where its user says, and nowhere before a program opens a port.
rm $lab/port
on 1 "$stage/bin/mpirun" -n 2 --port-range 20000-20010 "$bin/connects" accept $lab/port 20 >$lab/accepting 2>&1 &
until [ -e $lab/port ]; do sleep 0.05; done
on 1 ss -Hltn | grep -q ':20000 ' || fail "h1 does not listen on port 20000"
on 2 timeout 60 "$stage/bin/mpirun" -n 2 "$bin/connects" connect $lab/port 20 >"$out" 2>&1 || fail "from another host"
wait $!
says "connected 20 times"
on 1 "$stage/bin/mpirun" -n 1 "$bin/life" sleep >$lab/quiet 2>&1 &
quiet=$!
until grep -q lives $lab/quiet; do sleep 0.05; done
[ "$(on 1 ss -Hltn | grep -vc ':22 ')" -eq 0 ] || fail "h1 listens without a reason: $(on 1 ss -Hltnp)"
on 1 pkill -TERM -x mpirun
wait $quiet
for interface in lo 198.18.0.0/24; do
    rm -f $lab/port
    on 1 "$stage/bin/mpirun" -n 1 --net-interface $interface "$bin/connects" accept $lab/port 3 >$lab/accepting 2>&1 &
    accepting=$!
    until [ -e $lab/port ]; do sleep 0.05; done
    case $interface in lo) where=127.0.0.1 ;; *) where=198.18.0.1 ;; esac
    on 1 ss -Hltn | grep -v ':22 ' | grep -q "$where:" || fail "$interface: $(on 1 ss -Hltn)"
    [ "$(on 1 ss -Hltn | grep -vc ':22 ')" -eq 1 ] || fail "$interface: $(on 1 ss -Hltn)"
    on 1 "$stage/bin/mpirun" -n 1 "$bin/connects" connect $lab/port 3 >"$out" 2>&1 || fail "$interface: from the same host"
    wait $accepting || fail "$interface: $(cat $lab/accepting)"
done
