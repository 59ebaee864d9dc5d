# Connections work in one direction only: each direction.
# hosts: 2
# needs: nft
for closed in 1 2; do
    firewall $closed "ct state established,related accept" "iif lo accept" "tcp dport 22 accept" "tcp flags & (syn | ack) == syn drop"
    job --host h1:2,h2:2 "$bin/traffic" 1
    ended_with 0
    says "0 bytes wrong"
    on $closed nft flush ruleset
done
