// ranks: 2 3
// launch: --pretend-hosts 2
// args: 1
// args: 2
// timeout: 120
// As ../dynamic/two_jobs.c, between hosts: a job on several hosts and one on its own connect, communicate and disconnect.
#include "../dynamic/two_jobs.c"
