// ranks: 3 5
// launch: --pretend-hosts 2
// timeout: 120
// As ../coll/alltoall.c, between hosts: each has a segment of its own, and messages between them go over TCP.
#include "../coll/alltoall.c"
