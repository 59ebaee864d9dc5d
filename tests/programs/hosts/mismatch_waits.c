// ranks: 3
// sleeps: a rank comes late to every call
// launch: --pretend-hosts 2
// timeout: 30
// As ../coll/mismatch_waits.c, between hosts.
#include "../coll/mismatch_waits.c"
