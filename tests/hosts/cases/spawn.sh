# MPI_Comm_spawn on the hosts of a job; whatever is killed then, all of both jobs ends, and nothing is left on any host.
# hosts: 3
# limit: 180
job --host h1:1,h2:1,h3:2 -n 2 "$bin/spawns" h3,h2 3
ended_with 0
says "rank 0 on h1 has spawned" "rank 1 on h2 has spawned" "child 0 on h2" "child 1 on h3" "child 2 on h3"
job --host h1:1,h2:1,h3:2 -n 2 "$bin/spawns" - 4
ended_with 0
says "child 0 on h1" "child 1 on h2" "child 2 on h3" "child 3 on h3"
job --host h1:1,h2:1 "$bin/spawns" h3 2
ended_with 0
lines 2 "cannot spawn:"
says "host h3 is not one of the hosts of the job"
nothing_left
waiting() {
    start --host h1:1,h2:2,h3:1 -n 3 "$bin/spawns" h2,h3 3 wait
    for who in "rank 0" "rank 2" "child 0" "child 2"; do until_says "$who waits"; done
}
for victim in "$bin/spawns child" "$bin/spawns h2" "$stage/bin/mpirun --spawned" "$stage/bin/mpirun --agent" \
    "$stage/bin/mpirun --launcher-exec"; do
    waiting
    pid=$(pgrep -f "^$victim" | shuf -n 1)
    [ -n "$pid" ] || fail "there is no $victim: $(left)"
    now
    kill -9 $pid
    finish
    [ $status -ne 0 ] && [ $status -ne 124 ] || fail "$victim: status $status"
    within 2
    echo "$victim: ended after $(($(milliseconds) - event)) ms"
    nothing_left 5
done
