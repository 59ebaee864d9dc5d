# Ranks that another launcher starts: what must be right under each of them. Sourced by the cases, which define
#
#   launch HOSTS TASKS COMMAND…   runs a command with the launcher, the tasks dealt in blocks to the hosts

root=$(realpath "$here/../..")

# others HOSTS TASKS COMMAND…: the text of both streams is in $out, the status in $status, the time in $took (ms).
others() {
    local begun
    begun=$(milliseconds)
    status=0
    launch "$@" >"$out" 2>&1 </dev/null || status=$?
    took=$(($(milliseconds) - begun))
}

# start_others HOSTS TASKS COMMAND…: the same in the background; `finish` waits for it.
start_others() {
    begun=$(milliseconds)
    : >"$out"
    launch "$@" >"$out" 2>&1 </dev/null &
    started=$!
}

# The launcher may end with the status of a rank that was killed.
ended_badly() { [ "$status" -ne 0 ] && [ "$status" -ne 124 ] || fail "status $status, an error was expected"; }

# others_places HOSTS TASKS: every rank is where it belongs.
others_places() {
    local rank
    others $1 $2 "$bin/hello"
    ended_with 0
    for ((rank = 0; rank < $2; rank++)); do says "rank $rank of $2 on h$((rank * $1 / $2 + 1)), sum $(($2 * ($2 - 1) / 2))"; done
    nothing_left
}

# others_programs HOSTS TASKS: a test program of each kind, in a folder that all hosts share.
others_programs() {
    local program
    mkdir -p "$lab/shared"
    for program in pt2pt/sendrecv pt2pt/mprobe coll/predefined comm/split rma/put_get rma/passive file/shared file/together; do
        "$stage/bin/mpicc" -O1 "$root/tests/programs/$program.c" -o "$lab/shared/program" -lm || fail "cannot compile $program"
        others $1 $2 bash -c "cd $lab/shared && exec ./program"
        [ $status -eq 0 ] || fail "$program ended with status $status"
        nothing_left
    done
}

# others_one_sided: windows are accessed while every rank of the target's node computes; the first rank of each node leaves.
others_one_sided() {
    others 2 2 "$bin/window_no_help"
    ended_with 0
    others $1 $2 "$bin/leave_first"
    ended_with 0
    says "all well"
    nothing_left
}

# others_aborts HOSTS TASKS: what a rank has written before it aborts is seen to the last line, and the job ends.
others_aborts() {
    local turn lines
    for ((turn = 0; turn < ${OXMPI_ABORTS:-4}; turn++)); do
        lines=$((turn % 2 * 2999 + 1))
        now
        others $1 $2 "$bin/last_words" $lines
        within 15
        ended_badly
        says "MPI_Abort(MPI_COMM_WORLD, 5)"
        # The launcher may put the two messages into the middle of a line.
        sed 's/OxMPI: rank.*//; s/mpirun: rank.*//' "$out" | tr -d '\n' | grep -qF "line $lines of those that rank $(($2 - 1)) writes before it aborts" ||
            fail "output was lost: $(wc -c <"$out") bytes of $lines lines"
    done
    nothing_left 5
}

# others_failures HOSTS TASKS: a rank aborts, is killed, or leaves without MPI_Finalize, and the job ends.
others_failures() {
    local death
    for death in abort kill exit; do
        now
        others $1 $2 "$bin/life" recv $death $(($2 - 1))
        within 15
        ended_badly
        nothing_left 5
        case $death in
        abort) says "MPI_Abort(MPI_COMM_WORLD, 5)" ;;
        *) says "has ended without MPI_Finalize" ;;
        esac
    done
    # The first rank of a node, and with it the one that has started the helper.
    others $1 $2 "$bin/life" sleep kill 0
    ended_badly
    nothing_left 5
    # The helper itself.
    start_others $1 $2 "$bin/life" recv
    until_says "rank $(($2 - 1)) lives"
    now
    kill -9 "$(pgrep -f "^$stage/bin/mpirun --node-helper" | shuf -n 1)"
    finish
    within 10
    ended_badly
    nothing_left 5
}

# others_identity HOSTS TASKS NAME: doctor and MPI_T say which launcher it is.
others_identity() {
    others $1 $2 "$stage/bin/oxmpi" doctor
    says "$3 has started this command, and programs join its job"
    others $1 $2 "$bin/launcher"
    ended_with 0
    lines $2 "oxmpi_launcher is $3"
}

# others_spawn: what the launcher cannot do is said.
others_spawn() {
    others $1 $2 "$bin/spawns" - 1
    ended_with 0
    says "which OxMPI cannot ask for more processes"
    nothing_left 5
}
