# What a user may type wrong: a clear error each, and nothing is started.
# sample
# hosts: 2
printf 'h1 slots=2\nh2 slot=4\n' >$lab/file
job -f $lab/file "$bin/hello"
ended_with 2
says "$lab/file:2: \`slot=4\`: the keys of a host are slots and max_slots"
printf 'h1\nh2 slots=many\n' >$lab/file
job -hostfile $lab/file "$bin/hello"
ended_with 2
says "$lab/file:2: \`slots=many\`: expected a number of slots"
job -machinefile /nonexistent "$bin/hello"
ended_with 2
says "cannot read the host file /nonexistent"
job --launcher pigeon --host h1,h2 "$bin/hello"
ended_with 2
says "pigeon" "ssh, rsh, slurm, pbs, local"
job --launcher-exec "ssh 'open" --host h1,h2 "$bin/hello"
ended_with 2
says "ssh 'open" "is not a command"
job --port-range 9-3 --host h1,h2 "$bin/hello"
ended_with 2
says "9-3" "is no range of ports"
OXMPI_PORT_RANGE=x job --host h1,h2 "$bin/hello"
ended_with 2
says "OXMPI_PORT_RANGE" "no range of ports"
job --host h1:0,h2 "$bin/hello"
ended_with 2
says "h1:0"
printf 'h1 max_slots=1\nh2 max_slots=1\n' >$lab/file
job -f $lab/file -n 3 "$bin/hello"
failed
says "max_slots"
nothing_left 1
