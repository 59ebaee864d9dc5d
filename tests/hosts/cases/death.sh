# A rank ends in each way: the job ends within 2 s of it, and names rank, host and what happened.
# sample
# hosts: 2
for wait in recv ring sleep; do
    for death in "kill|signal 9|137" "segv|signal 11|139" "exit|3|3" "abort|5|5"; do
        IFS='|' read -r how text code <<<"$death"
        job --host h1:2,h2:2 "$bin/life" $wait $how 2
        [ "$status" -eq "$code" ] || fail "$wait, $how: status $status instead of $code"
        says "rank 2" "h2" "$text"
        [ $took -lt 6000 ] || fail "$wait, $how: took $took ms, of which the rank lived 2 s"
        nothing_left 2
    done
done
