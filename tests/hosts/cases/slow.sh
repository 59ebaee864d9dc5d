# A wire of 100 Mbit/s.
# hosts: 2
# needs: tc
for i in 1 2; do on $i tc qdisc add dev eth0 root tbf rate 100mbit burst 64kb latency 50ms; done
job --host h1:2,h2:2 "$bin/traffic" 4 2000000
ended_with 0
says "0 bytes wrong"
