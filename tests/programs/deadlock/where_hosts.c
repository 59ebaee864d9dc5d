// ranks: 6
// one-host: it names its hosts itself
// timeout: 60
// attempts: 3
// sleeps: ranks wait for seconds
// cflags: -g
// launch: --pretend-hosts 3
// `oxmpi where` of an mpirun whose agents are on this machine shows the ranks of all of them.
#include "where.h"
