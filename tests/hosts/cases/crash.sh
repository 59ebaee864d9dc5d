# A host crashes: while ranks of others wait for one there, exchange messages with it, or put into its memory.
# hosts: 5
# crash_of HOST TEXT HOSTS PROGRAM…: the host crashes when the program has said the text.
crash_of() {
    local host=$1 text=$2 list=$3
    shift 3
    start --host $list "$@"
    until_says "$text"
    now
    crash $host
    finish
    within 10
    failed
    says "host h$host (ranks 1-2)"
    nothing_left 5
}
crash_of 2 "rank 3 lives" h1:1,h2:2,h5:1 "$bin/life" recv
crash_of 3 "rank 3 lives" h1:1,h3:2,h5:1 "$bin/life" ring
crash_of 4 "rank 0 puts" h1:1,h4:2 "$bin/window_life"
