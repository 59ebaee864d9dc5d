# A host falls silent: it is named within 10 s, its ranks end by themselves, and nothing is left anywhere.
# hosts: 3
# sample
start --host h1:1,h2:2,h3:1 "$bin/life" ring
until_says "rank 3 lives"
now
cut 2
finish
within 10
failed
says "host h2 (ranks 1-2)" "nothing was heard of it"
nothing_left 5
