# Signals to mpirun reach all ranks on all hosts.
# sample
# hosts: 2
mpirun_pid() { pgrep -f "^$stage/bin/mpirun --launcher-exec"; }
for signal in INT TERM HUP QUIT; do
    start --host h1:2,h2:2 "$bin/life" recv
    until_says "rank 3 lives"
    now
    if [ $signal = QUIT ]; then
        # The first one shows where the ranks are, and the job goes on.
        kill -QUIT "$(mpirun_pid)"
        until_says "the ranks are here"
    fi
    kill -$signal "$(mpirun_pid)"
    finish
    within 3
    case $signal in INT) ended_with 130 ;; TERM) ended_with 143 ;; HUP) ended_with 129 ;; QUIT) ended_with 131 ;; esac
    says "received signal $(kill -l $signal) (" "the 4 ranks were stopped" "ranks 0-3 in MPI_Recv"
    nothing_left 2
done
# A program that handles the signal itself.
start --host h1:1,h2:1 sh -c 'trap "echo bye of \$OXMPI_RANK; exit 0" TERM; echo ready; while :; do sleep 0.1; done'
until [ "$(grep -c ready "$out")" -eq 2 ]; do sleep 0.05; done
kill -TERM "$(mpirun_pid)"
finish
says "bye of 0" "bye of 1"
# SIGUSR1.
start --host h1:1,h2:1 sh -c 'trap "echo usr1 at \$OXMPI_RANK; exit 0" USR1; echo ready; while :; do sleep 0.1; done'
until [ "$(grep -c ready "$out")" -eq 2 ]; do sleep 0.05; done
kill -USR1 "$(mpirun_pid)"
finish
ended_with 0
says "usr1 at 0" "usr1 at 1"
# A second Ctrl-C ends ranks that ignore the first.
start --host h1:1,h2:1 sh -c 'trap "" INT TERM; echo ready; while :; do sleep 0.1; done'
until [ "$(grep -c ready "$out")" -eq 2 ]; do sleep 0.05; done
now
kill -INT "$(mpirun_pid)"
kill -INT "$(mpirun_pid)"
finish
within 3
nothing_left 2
