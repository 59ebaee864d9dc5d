# A wire with 500 us of delay, and the same with 1 % of loss; there is no other one.
# hosts: 2
for loss in 0 10; do
    "$bin/wire" "$(cat $lab/pid1)" 198.19.0.1/24 "$(cat $lab/pid2)" 198.19.0.2/24 500 $loss >$lab/wire 2>&1 &
    wire=$!
    for ((i = 0; i < 100; i++)); do
        grep -q there $lab/wire && break
        sleep 0.05
    done
    cut 2
    job --net-interface wan0 --host h1:2,198.19.0.2:2 "$bin/traffic" 4
    ended_with 0
    says "0 bytes wrong"
    # Nobody says that only the tunnel leads there.
    job --host h1:2,198.19.0.2:2 "$bin/hello"
    ended_with 0
    lines 4 "of 4 on h"
    [ $took -lt 15000 ] || fail "took $took ms"
    heal 2
    kill $wire
    wait $wire
done
