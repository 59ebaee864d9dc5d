// ranks: 2
// launch: --pretend-hosts 2
// timeout: 120
// As ../spawn/path.c, between hosts: the children are dealt to the hosts of the job.
#include "../spawn/path.c"
