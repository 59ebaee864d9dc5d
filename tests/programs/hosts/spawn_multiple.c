// ranks: 2
// launch: --pretend-hosts 2
// timeout: 120
// As ../spawn/multiple.c, between hosts: the children are dealt to the hosts of the job.
#include "../spawn/multiple.c"
