// ranks: 3
// launch: --pretend-hosts 3
// timeout: 60
// sleeps: ranks wait for seconds before they go on
// args: recv_late
// args: ssend_late
// args: probe_late
// args: barrier_late
// args: barrier_late_board
// args: bcast_forwarders
// args: polls
// args: sleeps
// args: signals
// args: thread_sends
// args: thread_cancels
// args: thread_starts
// args: grequest
// args: handler_posts
// args: socket_thread
// args: partition_late
// args: persistent_order
// args: dup_late
// args: lock_holder_computes
// args: shared_locks
// args: user_reduction
// args: attribute_in_finalize
// args: other_tag_first
// args: many_unexpected
// args: full_ring
// args: sends_and_ends
// args: freed_long_send
// args: waitany_last
// args: wildcard_last
// args: long_stream
// args: gatherv_nothing
// args: itimer
// args: stopped
// args: pipe
// args: error_returned
// As ../deadlock/right.c, between hosts.
#include "../deadlock/right.c"
