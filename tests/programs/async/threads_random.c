// ranks: 1 2 4
// env: OXMPI_ASYNC_PROGRESS=1
// timeout: 120
// cflags: -pthread -O2
// Threads of the program and the thread of asynchronous progress exchange messages at random.
#include "../threads/random.c"
