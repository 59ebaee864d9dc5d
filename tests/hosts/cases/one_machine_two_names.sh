# Two names of one machine, a host that is named twice, and hosts with equal names: who shares memory is decided by the
# machine.
# hosts: 3
for i in 1 2 3; do echo "$net.2 also2" >>$lab/names; done
job --host h2:2,also2:1,h3:1 "$bin/shared"
ended_with 0
says "rank 0 shares memory with 3" "rank 2 shares memory with 3" "rank 3 shares memory with 1"
job --host h2:1,198.18.0.2:1 "$bin/shared"
ended_with 0
lines 2 "shares memory with 2"
job --host h2,h3,h2 "$bin/shared"
ended_with 0
says "rank 0 shares memory with 2" "rank 1 shares memory with 2" "rank 2 shares memory with 1"
for i in 2 3; do on $i hostname same; done
job --host h2:1,h3:1 "$bin/shared"
ended_with 0
lines 2 "shares memory with 1"
