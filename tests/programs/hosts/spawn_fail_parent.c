// ranks: 2
// launch: --pretend-hosts 2
// timeout: 120
// expect-exit: 4
// expect-stdout: child 1 of 2 is done
// expect-stderr: exited with status 4
// As ../spawn/fail_parent.c, between hosts: the children are dealt to the hosts of the job.
#include "../spawn/fail_parent.c"
