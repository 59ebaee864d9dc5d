# `mpirun --debug` on two hosts: gdb runs on the host of each rank, the screens are where mpirun is. The other ranks wait for as long
# as somebody looks.
# hosts: 2
# needs: gdb tmux
terminal() { on 1 env TMUX_TMPDIR=$lab tmux -L debug -f /dev/null "$@"; }
screens() {
    local pane
    for pane in $(terminal list-panes -a -F '#{pane_id}'); do terminal capture-pane -p -J -t "$pane"; done
}
# pane_with TEXT: waits until a pane shows it.
pane_with() {
    local end=$(($(milliseconds) + 30000)) pane
    while [ "$(milliseconds)" -lt $end ]; do
        for pane in $(terminal list-panes -a -F '#{pane_id}'); do
            if terminal capture-pane -p -J -t "$pane" | grep -qF -- "$1"; then
                found=$pane
                return
            fi
        done
        sleep 0.1
    done
    screens >"$out"
    fail "no pane shows: $1"
}
type_into() {
    pane_with "$1"
    shift
    terminal send-keys -t "$found" "$@"
}
terminal new-session -d -x 150 -y 50 "$stage/bin/mpirun --launcher-exec '$rsh' --debug=1,2 --host h1:2,h2:1 -n 3 $bin/hello; echo ended with \$?; exec sleep 100"
type_into '(gdb 1)' run Enter
type_into '(gdb 2)' 'break MPI_Allreduce' Enter run Enter
# Longer than any patience of connections, agents and ranks.
pane_with 'Breakpoint 1, '
sleep 12
type_into 'Breakpoint 1, ' 'shell hostname' Enter
pane_with 'h2'
type_into 'Breakpoint 1, ' 'bt' Enter
pane_with 'in main (argc='
type_into 'Breakpoint 1, ' continue Enter
pane_with 'rank 0 of 3 on h1, sum 3'
type_into 'rank 1 of 3 on h1, sum 3' quit Enter
type_into 'rank 2 of 3 on h2, sum 3' quit Enter
pane_with 'ended with 0'
terminal kill-server
nothing_left
# A host without gdb.
on 2 mount --bind /dev/null "$(command -v gdb)"
terminal new-session -d -x 150 -y 50 "$stage/bin/mpirun --launcher-exec '$rsh' --debug=2 --host h1:2,h2:1 -n 3 $bin/hello; echo ended with \$?; exec sleep 100"
pane_with 'on host h2: --debug needs gdb: '
pane_with 'ended with 127'
screens >"$out"
says_not 'rank 0 of 3'
terminal kill-server
