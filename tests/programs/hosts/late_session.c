// ranks: 2
// sleeps: a rank waits for seconds between two sessions
// launch: --pretend-hosts 2
// timeout: 60
// As ../comm/late_session.c, between hosts: a process that has left and comes back has new links.
#include "../comm/late_session.c"
