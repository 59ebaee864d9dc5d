# The reader of the output pauses for a long time while all ranks print: no host counts as dead.
# hosts: 2
# limit: 90
status=0
on 1 "$stage/bin/mpirun" --launcher-exec "$rsh" --host h1:2,h2:2 "$bin/lines" 40000 2>$lab/errors | (sleep 20; cat >"$out") || status=$?
ended_with 0
[ ! -s $lab/errors ] || fail "$(cat $lab/errors)"
[ "$(wc -l <"$out")" -eq 160000 ] || fail "$(wc -l <"$out") lines"
