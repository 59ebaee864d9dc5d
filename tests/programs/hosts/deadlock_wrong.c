// ranks: 3
// launch: --pretend-hosts 3
// timeout: 30
// sleeps: a deadlock is told after half a second of silence
// expect-exit: 121
// expect-stderr: deadlock:
// expect-stderr: the job was stopped
// args: recv_recv
// args: ssend_ssend
// args: long_sends
// args: probe_probe
// args: mprobe
// args: other_tag
// args: other_comm
// args: other_source
// args: barrier_recv
// args: barrier_recv_first
// args: two_comms
// args: two_comms_late
// args: never_started
// args: waitall
// args: waitany
// args: waitsome
// args: wildcard
// args: wildcard_probe
// args: itself
// args: itself_ssend
// args: ring
// args: bcast_recv
// args: ibarrier_recv
// args: ibcast_wait
// args: persistent_barrier
// args: dup_recv
// args: split_barrier
// args: intercomm
// args: win_create
// args: partitioned
// args: partitioned_recv
// args: bsend_detach
// args: sendrecv
// args: neighbor
// args: threads
// As ../deadlock/wrong.c, between hosts; waits for windows over hosts, and in MPI_Finalize, are not described.
#include "../deadlock/wrong.c"
