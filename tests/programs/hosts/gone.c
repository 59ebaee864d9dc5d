// ranks: 3
// launch: --pretend-hosts 2
// timeout: 20
// expect-exit: nonzero
// expect-stderr: has called MPI_Finalize
// As ../coll/gone.c, between hosts.
#include "../coll/gone.c"
