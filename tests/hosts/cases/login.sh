# ssh cannot log in: it wants a password, the key of the host is unknown, no server is there, the host does not answer.
# sample
# hosts: 2
# needs: sshd nft
sed "s/IdentityFile .*/IdentityFile \/nonexistent/" $lab/ssh_config >$lab/keyless
job --launcher-exec "ssh -F $lab/keyless" --host h1,h2 "$bin/hello"
failed
says "host h2" "Permission denied" "ssh-copy-id h2"
job --launcher-exec "ssh -F $lab/ssh_config -oStrictHostKeyChecking=yes" --host h1,h2 "$bin/hello"
failed
says "host h2" "Host key verification failed" "ssh h2"
job --launcher-exec "ssh -F $lab/ssh_config -p 2222" --host h1,h2 "$bin/hello"
failed
says "host h2" "Connection refused" "no ssh server"
firewall 2 "tcp dport 22 drop"
job --launcher-exec "ssh -F $lab/ssh_config -oConnectTimeout=2" --host h1,h2 "$bin/hello"
failed
says "host h2" "timed out" "firewall"
job --launcher-exec "no-such-command" --host h1,h2 "$bin/hello"
failed
says "no-such-command"
nothing_left
