// ranks: 2
// launch: --pretend-hosts 2
// timeout: 120
// expect-exit: 3
// expect-stdout: the parents are done
// expect-stderr: exited with status 3
// As ../spawn/fail_apart.c, between hosts: the children are dealt to the hosts of the job.
#include "../spawn/fail_apart.c"
