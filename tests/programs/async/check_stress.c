// ranks: 3
// launch: --check=default,error --async-progress
// timeout: 240
// no-check: it has the option itself
// no-valgrind: takes long
// With --check and asynchronous progress a right program has no finding: the thread of the library is no thread of the program.
#include "../coll/stress.c"
