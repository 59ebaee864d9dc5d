# The host that starts the job has no rank of it.
# hosts: 3
job --host h2:2,h3:1 "$bin/hello"
ended_with 0
says "rank 0 of 3 on h2" "rank 2 of 3 on h3"
