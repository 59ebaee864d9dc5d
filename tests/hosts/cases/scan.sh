# Another host scans all ports and sends garbage while ranks connect and work.
# hosts: 3
on 3 timeout 15 "$bin/scan" 198.18.0.1 198.18.0.2 >$lab/scanned 2>&1 &
scan=$!
for round in 1 2 3 4; do
    job --port-range 1100-1400 --host h1:2,h2:2 "$bin/traffic" 2
    ended_with 0
    says "0 bytes wrong"
done
wait $scan
# The scan must have found the ports of the jobs.
awk '/visits/ { sum += $1 } END { exit sum < 100 }' $lab/scanned || fail "the scan found little: $(tail -n 3 $lab/scanned)"
