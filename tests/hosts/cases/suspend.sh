# Ctrl-Z stops all ranks for longer than a silent host would live; fg continues them.
# hosts: 2
# limit: 90
limit=80 start --host h1:2,h2:2 "$bin/traffic" 4
sleep 2
mpirun=$(pgrep -f "^$stage/bin/mpirun --launcher-exec")
kill -TSTP "$mpirun"
sleep 1
for pid in "$mpirun" $(pgrep -f "^$bin/traffic"); do
    grep -q '^State:.T' /proc/$pid/status || fail "process $pid ($(cat /proc/$pid/comm)) is not stopped"
done
sleep 20
kill -CONT "$mpirun"
finish
ended_with 0
says "0 bytes wrong"
