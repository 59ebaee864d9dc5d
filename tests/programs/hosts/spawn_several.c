// ranks: 2
// launch: --pretend-hosts 2
// cflags: -pthread
// timeout: 120
// As ../spawn/several.c, between hosts: the children are dealt to the hosts of the job.
#include "../spawn/several.c"
