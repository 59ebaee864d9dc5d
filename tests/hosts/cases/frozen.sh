# A host stands still for 3 s: the job goes on. For 15 s: it is named. All hosts for 15 s: the job goes on.
# hosts: 3
# limit: 150
limit=80 start --host h2:2,h3:2 "$bin/traffic" 6
sleep 2
freeze 3
sleep 3
thaw 3
finish
ended_with 0
says "0 bytes wrong"
start --host h2:2,h3:2 "$bin/life" ring
until_says "rank 3 lives"
now
freeze 3
finish
within 10
failed
says "host h3 (ranks 2-3)"
sleep 5
thaw 3
nothing_left 3
limit=80 start --host h2:2,h3:2 "$bin/traffic" 6
sleep 2
freeze 1; freeze 2; freeze 3
sleep 15
thaw 1; thaw 2; thaw 3
finish
ended_with 0
says "0 bytes wrong"
