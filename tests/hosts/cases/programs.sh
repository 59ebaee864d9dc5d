# A few test programs of each kind on four hosts, over ssh: messages, collective operations, communicators, windows, files,
# partitioned messages, spawned processes, topologies and tools.
# hosts: 4
# needs: sshd
# limit: 600
test_programs --sample pt2pt/sendrecv pt2pt/mprobe coll/predefined comm/split comm/from_group rma/put_get rma/passive \
    file/shared partitioned/ring requests/cancel_send spawn/basic spawn/merge topology/cart tool/events errors/fatal_abort ||
    fail "test programs failed"
