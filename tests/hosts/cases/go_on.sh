# Jobs that go on (--with-ft) when ranks are killed, a whole host crashes, or one falls silent: the others finish with status 0.
# hosts: 3
# sample
job --with-ft ulfm --host h1:2,h2:2,h3:2 "$bin/go_on" 2 kill 0 kill 5
ended_with 0
lines 4 "goes on, one of 4"
says "rank 0 (" "rank 5 (" "was killed by signal 9"
nothing_left 2

start --with-ft ulfm --host h1:2,h2:2,h3:1 "$bin/go_on" 2
until_says "rank 3 works" 60
now
crash 2
finish
within 12
ended_with 0
lines 1 "host h2 (ranks 2-3)"
lines 3 "goes on, one of 3"
nothing_left 2
