# Ranks on two hosts meet, started over ssh.
# hosts: 2
# sample
job --host h1:2,h2:2 "$bin/hello"
ended_with 0
says "rank 0 of 4 on h1, sum 6" "rank 1 of 4 on h1, sum 6" "rank 2 of 4 on h2, sum 6" "rank 3 of 4 on h2, sum 6"
