// ranks: 2
// launch: --pretend-hosts 2
// timeout: 120
// expect-exit: 139
// expect-stderr: in a spawned job, rank 0
// expect-stderr: signal 11
// As ../spawn/crash_child.c, between hosts: the children are dealt to the hosts of the job.
#include "../spawn/crash_child.c"
