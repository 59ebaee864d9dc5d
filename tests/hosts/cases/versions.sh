# A host has another version of OxMPI.
# sample
# hosts: 2
mkdir -p $lab/old/bin
printf '#!/bin/sh\necho "OXMPI-AGENT 0.0.9 0123456789abcdef0123456789abcdef"\nexec cat >/dev/null\n' >$lab/old/bin/mpirun
chmod +x $lab/old/bin/mpirun
on 2 mount --bind $lab/old/bin "$stage/bin"
job --host h1,h2 "$bin/hello"
failed
says "h2" "0.0.9" "$("$stage/bin/mpirun" --version | awk '{ print $NF }')"
