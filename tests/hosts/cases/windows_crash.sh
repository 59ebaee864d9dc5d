# The host of a target crashes while another one puts into its memory.
# hosts: 2
start --host h1:1,h2:1 "$bin/window_life"
until_says "rank 0 puts"
now
crash 2
finish
within 10
failed
says "h2"
nothing_left 5
