// ranks: 2
// launch: --pretend-hosts 2
// timeout: 120
// expect-stdout: parent 0 is done
// expect-stdout: child 1 is done
// As ../spawn/finalize.c, between hosts: the children are dealt to the hosts of the job.
#include "../spawn/finalize.c"
