# A host crashes.
# hosts: 3
start --host h1:1,h2:2,h3:1 "$bin/life" recv
until_says "rank 3 lives"
now
crash 2
finish
within 10
failed
says "h2"
nothing_left 5
