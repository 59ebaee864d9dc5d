// ranks: 2
// launch: --pretend-hosts 2
// timeout: 120
// As ../requests/status_fields.c, between hosts: each has a segment of its own, and messages between them go over TCP.
#include "../requests/status_fields.c"
