// ranks: 2
// launch: --pretend-hosts 2
// timeout: 120
// expect-exit: 5
// expect-stderr: in a spawned job, rank 1
// expect-stderr: called MPI_Abort with code 5
// As ../spawn/abort_child.c, between hosts: the children are dealt to the hosts of the job.
#include "../spawn/abort_child.c"
