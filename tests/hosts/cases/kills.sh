# kill -9 of everything that holds a job together: the job ends, says what was lost, and nothing is left on any host.
# sample
# hosts: 3
# limit: 180
agent_of() { on $1 pgrep -f -- "mpirun --agent" | head -n 1; }
for what in mpirun agent ssh sshd rank inner; do
    fan_out=8
    if [ $what = inner ]; then fan_out=1; fi
    start --fan-out $fan_out --host h1:1,h2:2,h3:1 "$bin/life" ring
    until_says "rank 3 lives"
    now
    case $what in
    mpirun) kill -9 "$(pgrep -f "^$stage/bin/mpirun --launcher-exec")" ;;
    agent) on 3 pkill -9 -f -- "mpirun --agent" ;;
    ssh) kill -9 "$(pgrep -f "^ssh .* h2 ")" 2>/dev/null || on 1 pkill -9 -f "h2 exec" ;;
    sshd) on 2 pkill -9 -f "sshd: root@notty" || on 2 pkill -9 -f "mpirun --agent" ;;
    rank) on 2 pkill -9 -o -f "^$bin/life" ;;
    inner) on 2 pkill -9 -f -- "mpirun --agent" ;;
    esac
    finish
    within 5
    case $what in mpirun | rank) ended_with 137 ;; *) failed ;; esac
    case $what in
    agent) says "host h3" "rank 3" ;;
    ssh | sshd) says "host h2" ;;
    inner) says "host h2" ;;
    rank) says "rank 1" "h2" "signal 9" ;;
    esac
    nothing_left 8
done
