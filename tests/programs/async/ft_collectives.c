// ranks: 4
// no-check: leaves a communicator after a death
// sleeps: each case waits until a death is noticed
// args: allreduce-long
// args: ibarrier
// args: iallreduce
// launch: --with-ft ulfm --async-progress
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// Collective operations of which a rank dies, with asynchronous progress.
#include "../ft/collectives.c"
