// ranks: 2
// launch: --pretend-hosts 2
// args: 1
// args: 2
// timeout: 120
// As ../dynamic/merged.c, between hosts: the jobs share no memory, so there are no windows.
#include "../dynamic/merged.c"
