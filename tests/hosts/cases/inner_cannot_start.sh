# An inner host cannot log in to the next one, which mpirun can.
# hosts: 4
# needs: sshd
sed 's/IdentityFile .*/IdentityFile \/nonexistent/' $lab/ssh_config >$lab/keyless
on 2 mount --bind $lab/keyless $lab/ssh_config
job --fan-out 1 --host h2,h3,h4 "$bin/hello"
ended_with 0
lines 3 "of 3 on h"
job -v --fan-out 1 --host h2,h3,h4 "$bin/hello"
says "host h3" "mpirun tries it itself"
# If nobody can, the reason is told.
job --fan-out 1 --host h2,h9,h4 "$bin/hello"
failed
says "host h9" "unknown"
nothing_left
