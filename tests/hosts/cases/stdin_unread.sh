# 100 MiB of input for a rank that never reads it, and for one that does.
# hosts: 2
status=0
on 1 timeout 60 "$stage/bin/mpirun" --launcher-exec "$rsh" --host h2,h1 sleep 3 >"$out" 2>&1 < <(head -c 100M /dev/zero) || status=$?
ended_with 0
on 1 timeout 60 "$stage/bin/mpirun" --launcher-exec "$rsh" --host h2,h1 sh -c 'if [ $OXMPI_RANK = 0 ]; then wc -c; fi' \
    >"$out" 2>&1 < <(head -c 100M /dev/zero) || status=$?
ended_with 0
says 104857600
