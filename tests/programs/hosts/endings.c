// ranks: 3
// launch: --pretend-hosts 2
// timeout: 120
// As ../dynamic/endings.c, between hosts: connected jobs end at different times.
#include "../dynamic/endings.c"
