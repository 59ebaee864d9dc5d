// ranks: 2 5
// launch: --pretend-hosts 3
// timeout: 120
// As ../coll/barrier.c, between hosts: each has a segment of its own, and messages between them go over TCP.
#include "../coll/barrier.c"
