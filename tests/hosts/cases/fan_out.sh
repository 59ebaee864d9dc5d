# A tree of depth 8, also with a host in the middle that crashes.
# hosts: 8
job --fan-out 1 --host 'h[1-8]:2' "$bin/hello"
ended_with 0
lines 16 "of 16 on h"
start --fan-out 1 --host 'h[1-8]' "$bin/life" recv
until_says "rank 7 lives"
now
crash 4
finish
within 12
failed
says "h4"
nothing_left 8
