# kill -9 of a rank, an agent, mpirun, ssh or sshd's child, each time at another moment, also while the job starts: the job
# ends within 2 s of it, the message names what was killed, and nothing is left on any host. A host whose wire is cut is
# named within 10 s. OXMPI_HOST_KILLS: how often.
# sample
# hosts: 4
# limit: 3600
# needs: sshd
kills=${OXMPI_HOST_KILLS:-20}
RANDOM=${OXMPI_SOAK_SEED:-1}
# one COMMAND…: one of the processes that a command lists.
one() { "$@" 2>/dev/null | shuf -n 1 --random-source=<(yes $RANDOM); }
# The lowest number: a process that was just forked has the same command line until it executes another program.
agent() { pgrep --ns "$(cat $lab/pid$host)" --nslist pid -f "^$stage/bin/mpirun --agent" | head -n 1; }
# The process of sshd that holds the connection is the agent's parent; others of the same name live for a moment only.
sshd_of_agent() { ps -o ppid= -p "$(agent)" | tr -d ' '; }
# The lists are indexed here, not in a subshell, which would have random numbers of its own.
victims=(rank rank agent agent mpirun mpirun ssh ssh sshd sshd wire)
waits=(recv ring sleep)
# Writes how late timers were at most, in ms, until it is ended: a machine with much other work cannot end a job in time.
measure_lateness() {
    local begun late most=0
    while :; do
        begun=$(milliseconds)
        sleep 0.1
        late=$(($(milliseconds) - begun - 100))
        if [ $late -gt $most ]; then most=$late; fi
        echo $most >$lab/lateness
    done
}
repeated=0
for ((turn = 1; turn <= kills; turn++)); do
    what=${victims[RANDOM % 11]}
    wait=${waits[RANDOM % 3]}
    fan_out=$((RANDOM % 2 ? 8 : RANDOM % 3 + 1))
    host=$((RANDOM % 3 + 2))
    pause=$((RANDOM % 1500))
    about="turn $turn: $what of h$host after $pause ms, $wait, fan-out $fan_out"
    start --fan-out $fan_out --host h1:1,h2:2,h3:2,h4:1 "$bin/life" $wait
    # In a tree, mpirun starts a host itself that another host could not start, and the job goes on.
    if [ $what = wire ] || [ $fan_out -lt 4 ] && [[ $what != rank && $what != mpirun ]]; then until_says "rank 5 lives"; fi
    sleep $((pause / 1000)).$(printf %03d $((pause % 1000)))
    victim=
    for ((try = 0; try < 400; try++)); do
        case $what in
        rank) victim=$(one pgrep --ns "$(cat $lab/pid$host)" --nslist pid -f "^$bin/life") ;;
        agent | wire) victim=$(agent) ;;
        mpirun) victim=$(pgrep -f "^$stage/bin/mpirun --launcher-exec" | head -n 1) ;;
        ssh) victim=$(one pgrep -f "^ssh .*h$host exec") ;;
        sshd) victim=$(sshd_of_agent 2>/dev/null) ;;
        esac
        [ -z "$victim" ] || break
        sleep 0.02
    done
    [ -n "$victim" ] || fail "$about: there is none"
    now
    most=2000
    case $what in
    wire) cut $host && most=10000 ;;
    *) kill -9 $victim ;;
    esac
    # If it takes too long: what is there then.
    (
        sleep $((most / 1000))
        pgrep -a -f "$stage/bin/mpirun|^ssh |^sshd: |^$bin/" | while read -r pid rest; do
            echo "    $pid $(awk '/^State/ { print $2 }' /proc/$pid/status) $(cat /proc/$pid/wchan) ${rest:0:150}"
        done >$lab/late
    ) 2>/dev/null &
    watcher=$!
    echo 0 >$lab/lateness
    measure_lateness &
    meter=$!
    finish
    kill $watcher $meter 2>/dev/null
    since=$(($(milliseconds) - event))
    if [ $what = wire ]; then heal $host; fi
    echo "$about: ended after $since ms"
    if [ $since -gt $most ]; then
        lateness=$(cat $lab/lateness)
        [ $lateness -gt 100 ] && [ $((++repeated)) -le 20 ] ||
            fail "$about: ended after $since ms (timers were $lateness ms late); when it was late:"$'\n'"$(cat $lab/late)"
        echo "turn $turn does not count: timers were $lateness ms late, so others use this machine"
        nothing_left 20
        turn=$((turn - 1))
        continue
    fi
    if [ $what != wire ] && [ $since -gt ${slowest:=0} ]; then slowest=$since; fi
    case $what in
    mpirun) ended_with 137 ;;
    rank)
        [ $status -eq 137 ] || fail "$about: status $status"
        grep -q "rank [1-5] .* on h$host) was killed by signal 9" "$out" || fail "$about: the rank is not named"
        ;;
    *)
        [ $status -eq 1 ] || fail "$about: status $status"
        grep -q "^mpirun: host h[1-4] (rank" "$out" || fail "$about: no host is named"
        grep -q "h$host\b" "$out" || fail "$about: the host is not named"
        ;;
    esac
    says_not panicked
    nothing_left 8
done
echo "$kills kills, the slowest end of a job after ${slowest:-0} ms, $repeated repeated"
