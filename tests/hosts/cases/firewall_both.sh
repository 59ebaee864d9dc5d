# Two hosts cannot reach each other at all: each address is named with its error.
# hosts: 3
# needs: nft
for closed in 2 3; do
    firewall $closed "ct state established,related accept" "iif lo accept" "tcp dport 22 accept" "tcp flags & (syn | ack) == syn reject with tcp reset"
done
job --host h2:1,h3:1 "$bin/hello"
failed
says "198.18.0." "refused" "h3"
[ $took -lt 30000 ] || fail "took $took ms"
says_not "do not match"
