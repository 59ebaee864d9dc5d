# A program that waits with select on descriptors of its own, while it has links.
# hosts: 2
job --host h1:2,h2:2 "$bin/select"
ended_with 0
lines 4 "select works"
