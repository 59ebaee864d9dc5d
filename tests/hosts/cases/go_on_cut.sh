# A job that goes on (--with-ft) loses a host that falls silent: the others finish with status 0 within 15 s; the ranks that were
# cut off end by themselves, also when the network is back.
# hosts: 3
start --with-ft ulfm --host h1:2,h2:2,h3:1 "$bin/go_on" 2
until_says "rank 3 works" 60
now
cut 2
finish
within 15
ended_with 0
lines 1 "host h2 (ranks 2-3)"
says "nothing was heard of it"
lines 3 "goes on, one of 3"
heal 2
nothing_left 10
