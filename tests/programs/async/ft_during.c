// ranks: 3
// no-check: leaves a message after a death
// sleeps: each case waits until a death is noticed
// args: recv-long
// args: send-long
// args: wait
// args: waitall
// args: persistent
// launch: --with-ft ulfm --async-progress
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// With asynchronous progress calls end when the process dies that they wait for.
#include "../ft/during.c"
