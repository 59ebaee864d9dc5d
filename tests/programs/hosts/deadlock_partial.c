// ranks: 4
// sleeps: it waits for the report
// timeout: 30
// launch: --pretend-hosts 2
// expect-exit: 121
// expect-stdout: the others have finished
// expect-stderr: deadlock: 2 ranks cannot go on, whatever the others do
// expect-stderr: ranks 1 and 2 wait for each other
// expect-stderr: no other rank is left; the job was stopped because of the deadlock
// As ../deadlock/partial.c, between hosts.
#include "../deadlock/partial.c"
