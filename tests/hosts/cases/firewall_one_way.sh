# Connections work in one direction only: each direction. A rank that cannot connect is connected to by the other host,
# also if nobody there has something to send.
# sample
# hosts: 2
# needs: nft
for case in "1 reject with tcp reset" "2 drop"; do
    closed=${case%% *}
    firewall $closed "ct state established,related accept" "iif lo accept" "tcp dport 22 accept" \
        "tcp flags & (syn | ack) == syn ${case#* }"
    # Rank 0 is on h1, rank 3 on h2: the sender is the one that cannot connect.
    job --host h1:2,h2:2 "$bin/oneway" $((closed == 2 ? 0 : 3))
    ended_with 0
    lines 3 "soon"
    job --host h1:2,h2:2 "$bin/traffic" 1
    ended_with 0
    says "0 bytes wrong"
    # One-sided work is done by the agent of the other host.
    job --host h1:2,h2:2 "$bin/window_one_word"
    ended_with 0
    on $closed nft flush ruleset
done
