// ranks: 2
// launch: --pretend-hosts 2
// timeout: 120
// expect-stdout: the youngest is done
// As ../spawn/nested.c, between hosts: the children are dealt to the hosts of the job.
#include "../spawn/nested.c"
