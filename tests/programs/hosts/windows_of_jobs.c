// ranks: 1 3
// launch: --pretend-hosts 2
// args: spawn 3
// args: connect 2
// args: alone 1
// args: nested 2
// timeout: 60
// As ../dynamic/windows.c, between hosts: agents of several jobs execute one-sided operations for each other's ranks.
#include "../dynamic/windows.c"
