// ranks: 2
// launch: --pretend-hosts 2
// timeout: 120
// As ../dynamic/death.c, between hosts: a process of another job that dies is not waited for.
#include "../dynamic/death.c"
