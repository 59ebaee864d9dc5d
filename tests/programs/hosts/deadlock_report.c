// ranks: 3
// sleeps: it waits for the time limit of mpirun
// timeout: 30
// launch: --pretend-hosts 2 --timeout 3
// env: OXMPI_DEADLOCK=report
// expect-exit: 124
// expect-stderr: deadlock: no rank can go on
// expect-stderr: rank 0 waits for tag 7 from rank 2 on MPI_COMM_WORLD, but rank 2 sent tag 8 (4 bytes, not received)
// expect-stderr: ranks 1-2 in MPI_Barrier
// expect-stderr: the time limit of 3 s was reached
// As ../deadlock/report.c, between hosts.
#include "../deadlock/report.c"
