// ranks: 200
// one-host: where_hosts.c is the same on several hosts
// timeout: 60
// attempts: 3
// sleeps: ranks wait for seconds
// cflags: -g
// `oxmpi where` says within a second where the ranks of a large job are.
#include "where.h"
