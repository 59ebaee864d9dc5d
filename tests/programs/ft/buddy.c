// ranks: 3 4 8
// no-check: leaves a communicator after a death
// launch: --with-ft ulfm
// expect-stdout: which is right
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// The example with checkpoints in the memory of neighbours finishes although a rank dies.
#include "../../../examples/survive.c"
