// ranks: 2
// launch: --check=error
// Everything is freed, completed and received.
#include "left.h"

int main(int argc, char **argv) {
    static const char *const others[] = {"op", "group", "group-incl", "win-create", "win-allocate", "win-dynamic", "file"};
    start(&argc, &argv);
    for (int i = 0; i < COUNT(COMMS); i++) leave_comm(COMMS[i], 0);
    for (int i = 0; i < COUNT(TYPES); i++) leave_type(TYPES[i], 0);
    for (int i = 0; i < COUNT(REQUESTS); i++) leave_request(REQUESTS[i], 0);
    for (int i = 0; i < COUNT(KEPT); i++) leave_request(KEPT[i], 0);
    for (int i = 0; i < COUNT(SENT); i++) leave_message(SENT[i], 0);
    for (int i = 0; i < COUNT(others); i++) leave_other(others[i], 0);
    return finish();
}
