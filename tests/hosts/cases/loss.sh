# One of 100 packets is lost.
# hosts: 2
# needs: nft
for i in 1 2; do firewall $i "meta l4proto tcp numgen random mod 100 == 0 drop"; done
job --host h1:2,h2:2 "$bin/traffic" 5
ended_with 0
says "0 bytes wrong"
