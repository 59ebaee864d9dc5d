// ranks: 3
// launch: --async-progress
// one-host: some cases use shared memory
// timeout: 60
// sleeps: ranks wait for seconds before they go on
// args: recv_late
// args: barrier_late_board
// args: bcast_forwarders
// args: partition_late
// With asynchronous progress a rank whose thread still moves something is not accused.
#include "../deadlock/right.c"
