# mpirun --check-hosts, and oxmpi doctor --host: a table, with a line for everything that is wrong.
# sample
# hosts: 4
# needs: sshd nft
job --host h1:2,h2,h3 --check-hosts
ended_with 0
says "host  state" "all 6 connections between the hosts work" "198.18.0.3:"
[ "$(grep -c ' good ' "$out")" -eq 3 ] || fail "not all hosts are good"
status=0
on 1 "$stage/bin/oxmpi" doctor --launcher-exec "$rsh" --host h1,h2 >"$out" 2>&1 || status=$?
ended_with 0
says "all 2 connections between the hosts work"
# An unknown name, a host without OxMPI, a firewall that drops, and one that refuses.
mkdir -p $lab/empty
on 2 mount --bind $lab/empty "$stage"
firewall 3 "ct state established,related accept" "iif lo accept" "tcp dport 22 accept" "tcp flags & (syn | ack) == syn drop"
firewall 4 "ct state established,related accept" "iif lo accept" "tcp dport 22 accept" \
    "tcp flags & (syn | ack) == syn reject with tcp reset"
job --host h1,h2,h3,h4,h9 --check-hosts
ended_with 1
says "BROKEN  h2: " "--prefix" "BROKEN  h9: " "the name h9 is unknown" \
    "BROKEN  from h1 to h3: " "no answer" "BROKEN  from h3 to h4: " "Connection refused" \
    "4 of 6 connections between the hosts do not work"
on 2 umount "$stage"
# The program is missing on one host; nothing is started.
mkdir -p $lab/programs
printf '#!/bin/sh\ntouch %s/started\n' $lab >$lab/programs/program
chmod +x $lab/programs/program
on 2 mount --bind $lab/empty $lab/programs
job --host h1,h2 --check-hosts $lab/programs/program
ended_with 1
says "BROKEN  h2: on host h2: cannot find the program"
[ ! -e $lab/started ] || fail "a program was started"
# Another user there.
sed 's/^root:x:0:0:/root:x:0:0:/; $a someone:x:4321:4321::'$lab/home2':/bin/bash' $lab/passwd2 >$lab/passwd
on 2 mount --bind $lab/passwd /etc/passwd
chmod 755 $lab
job --host h1,someone@h2 --check-hosts
says "the user's number there is 4321, and 0 here"
job --check-hosts
ended_with 2
says "--check-hosts needs hosts"
nothing_left
