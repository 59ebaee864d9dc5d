# Slots, ranks per host, and the order of ranks.
# sample
# hosts: 3
printf 'h1 slots=2\nh2:2   # a comment\nh[3-3] slots=2 max_slots=2\n' >$lab/file
job -f $lab/file "$bin/hello"
ended_with 0
says "rank 1 of 6 on h1" "rank 2 of 6 on h2" "rank 4 of 6 on h3"
job -hostfile $lab/file -n 6 --map-by node "$bin/hello"
ended_with 0
says "rank 0 of 6 on h1" "rank 1 of 6 on h2" "rank 2 of 6 on h3" "rank 3 of 6 on h1"
job -hostfile $lab/file -n 6 --map-by slot "$bin/hello"
says "rank 1 of 6 on h1" "rank 5 of 6 on h3"
job --host 'h[1-3]' -ppn 2 "$bin/hello"
ended_with 0
says "rank 1 of 6 on h1" "rank 2 of 6 on h2" "rank 5 of 6 on h3"
job --host h1,h2,h3 -npernode 1 "$bin/hello"
says "rank 2 of 3 on h3"
# Two programs: the second one goes where slots are left.
job --host h1:1,h2:2 -n 1 "$bin/hello" : -n 2 -env WHO second sh -c 'echo "$WHO on $(hostname)"; exec '"$bin/hello"
ended_with 0
says "rank 0 of 3 on h1" "rank 1 of 3 on h2" "rank 2 of 3 on h2"
lines 2 "second on h2"
