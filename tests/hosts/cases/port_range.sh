# Each host listens on a port of the range; a range that other jobs have taken is an error that names the host.
# hosts: 2
# needs: ss
start --port-range 20000-20001 --host h1,h2 "$bin/life" recv
until_says "rank 1 lives"
for i in 1 2; do
    on $i ss -Hltn | grep -q ':2000[01] ' || fail "h$i does not listen in the range"
    [ "$(on $i ss -Hltn | grep -vc ':22 ')" -eq 1 ] || fail "h$i listens on more than one port"
done
first=$started
mv "$out" $lab/first
job --port-range 20000-20000 --host h1,h2 "$bin/hello"
failed
says "none of the ports 20000 to 20000 is free on host h"
job --port-range 20000-20001 --host h1,h2 "$bin/hello"
ended_with 0
pkill -TERM -f "^$stage/bin/mpirun --launcher-exec"
wait $first
