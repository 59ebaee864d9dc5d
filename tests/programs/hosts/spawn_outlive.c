// ranks: 2
// launch: --pretend-hosts 2
// timeout: 120
// expect-stdout: the parents are done
// expect-stdout: child 0 of 2 is done
// expect-stdout: child 1 of 2 is done
// As ../spawn/outlive.c, between hosts: the children are dealt to the hosts of the job.
#include "../spawn/outlive.c"
