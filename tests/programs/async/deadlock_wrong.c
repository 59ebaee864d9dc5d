// ranks: 3
// launch: --async-progress
// one-host: ../hosts has deadlocks between hosts
// timeout: 30
// sleeps: a deadlock is told after half a second of silence
// expect-exit: 121
// expect-stderr: deadlock:
// expect-stderr: the job was stopped
// args: recv_recv
// args: long_sends
// args: barrier_recv
// args: never_started
// With asynchronous progress deadlocks are found as without: its thread is no rank that could act.
#include "../deadlock/wrong.c"
