# Messages between hosts over libfabric, with its provider tcp: --net ofi:tcp.
# hosts: 2
# needs: sshd lib:libfabric.so.1
# limit: 240
job --host h1:2,h2:2 --net ofi:tcp -x OXMPI_EXPLAIN=1 "$bin/hello"
ended_with 0
lines 4 "of 4 on h"
says "go through a stream over libfabric"
nothing_left
# A sample of the test programs.
OXMPI_NET=ofi:tcp test_programs --sample pt2pt/sendrecv pt2pt/mprobe coll/predefined comm/split rma/put_get file/together >"$out" 2>&1 || fail "a test program failed over libfabric"
# The job ends when a rank dies.
for death in abort kill; do
    now
    job --host h1,h2 --net ofi:tcp -n 2 "$bin/life" ring $death 1
    within 15
    [ $status -ne 0 ] && [ $status -ne 124 ] || fail "status $status, an error was expected"
    nothing_left 5
done
# What cannot be is said, and the job goes over TCP.
job --host h1,h2 --net ofi:no-such-provider "$bin/hello"
ended_with 0
says "there is no provider no-such-provider" "go over TCP"
job --host h1,h2 --net infiniband "$bin/hello"
ended_with 2
says "\`infiniband\` is no network"
