// ranks: 2
// launch: --pretend-hosts 2
// timeout: 120
// expect-exit: 6
// expect-stderr: called MPI_Abort with code 6
// As ../spawn/abort_parent.c, between hosts: the children are dealt to the hosts of the job.
#include "../spawn/abort_parent.c"
