// ranks: 2
// launch: --pretend-hosts 2
// timeout: 120
// As ../dynamic/join.c, between hosts: processes that share no host join.
#include "../dynamic/join.c"
