# A name that nobody knows, and an address where no host is.
# sample
# hosts: 2
job --host h1,h9 "$bin/hello"
failed
says "h9"
nothing_left
