// ranks: 2 4
// env: OXMPI_ASYNC_PROGRESS=1
// cflags: -pthread -O2
// Threads of the program beside the thread of asynchronous progress.
#include "../threads/pingpong.c"
