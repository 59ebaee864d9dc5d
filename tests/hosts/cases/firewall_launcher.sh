# The host that starts the job accepts no connections but ssh, as login hosts do.
# sample
# hosts: 3
# needs: nft
firewall 1 "ct state established,related accept" "iif lo accept" "tcp dport 22 accept" "tcp flags & (syn | ack) == syn drop"
job --host h2:2,h3:2 "$bin/hello"
ended_with 0
