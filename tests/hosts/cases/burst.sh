# Short messages in a row, which are put together: none is late although the sender computes.
# hosts: 2
job --host h1:1,h2:1 "$bin/burst"
ended_with 0
says "0 messages wrong; the last came soon"
