// ranks: 2
// sleeps: it waits for the time limit of mpirun
// launch: --pretend-hosts 2 --timeout 4
// expect-exit: 124
// expect-stderr: in MPI_Win_lock at where_lock_is_held.c:19 for the lock of rank 0, which rank 0 holds, on a window
// As ../errors/where_lock_is_held.c, between hosts: the agent of the target says who holds the lock.
#include "../errors/where_lock_is_held.c"
