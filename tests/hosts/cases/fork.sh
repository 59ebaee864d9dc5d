# A rank that has forked is killed: its child holds its sockets open, and the others are told at once all the same.
# sample
# hosts: 2
start --host h1:2,h2:1 "$bin/forks"
until_says "rank 2 forked"
now
finish
within 3
ended_with 137
says "rank 2" "on h2" "signal 9" "the other 2 ranks were stopped"
nothing_left 2
