// ranks: 2 3 4 7 8
// Collective operations between two groups: at ranks that pass MPI_PROC_NULL as the root, no other argument is significant.
// All rooted operations, blocking, nonblocking and persistent.
#include "../check.h"

enum { BCAST, REDUCE, GATHER, GATHERV, SCATTER, SCATTERV, OPERATIONS };

static MPI_Comm inter;
static int remote;

// Starts one in a form: 0 blocking, 1 nonblocking, 2 persistent.
static MPI_Request go(int what, int form, const int *send, int n, int *recv, int m, const int *counts, const int *at,
                      MPI_Datatype type, MPI_Op op, int root) {
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Info none = MPI_INFO_NULL;
    switch (3 * what + form) {
    case 3 * BCAST: OK(MPI_Bcast(recv, n, type, root, inter)); break;
    case 3 * BCAST + 1: OK(MPI_Ibcast(recv, n, type, root, inter, &r)); break;
    case 3 * BCAST + 2: OK(MPI_Bcast_init(recv, n, type, root, inter, none, &r)); break;
    case 3 * REDUCE: OK(MPI_Reduce(send, recv, n, type, op, root, inter)); break;
    case 3 * REDUCE + 1: OK(MPI_Ireduce(send, recv, n, type, op, root, inter, &r)); break;
    case 3 * REDUCE + 2: OK(MPI_Reduce_init(send, recv, n, type, op, root, inter, none, &r)); break;
    case 3 * GATHER: OK(MPI_Gather(send, n, type, recv, m, type, root, inter)); break;
    case 3 * GATHER + 1: OK(MPI_Igather(send, n, type, recv, m, type, root, inter, &r)); break;
    case 3 * GATHER + 2: OK(MPI_Gather_init(send, n, type, recv, m, type, root, inter, none, &r)); break;
    case 3 * GATHERV: OK(MPI_Gatherv(send, n, type, recv, counts, at, type, root, inter)); break;
    case 3 * GATHERV + 1: OK(MPI_Igatherv(send, n, type, recv, counts, at, type, root, inter, &r)); break;
    case 3 * GATHERV + 2: OK(MPI_Gatherv_init(send, n, type, recv, counts, at, type, root, inter, none, &r)); break;
    case 3 * SCATTER: OK(MPI_Scatter(send, m, type, recv, n, type, root, inter)); break;
    case 3 * SCATTER + 1: OK(MPI_Iscatter(send, m, type, recv, n, type, root, inter, &r)); break;
    case 3 * SCATTER + 2: OK(MPI_Scatter_init(send, m, type, recv, n, type, root, inter, none, &r)); break;
    case 3 * SCATTERV: OK(MPI_Scatterv(send, counts, at, type, recv, n, type, root, inter)); break;
    case 3 * SCATTERV + 1: OK(MPI_Iscatterv(send, counts, at, type, recv, n, type, root, inter, &r)); break;
    case 3 * SCATTERV + 2: OK(MPI_Scatterv_init(send, counts, at, type, recv, n, type, root, inter, none, &r)); break;
    }
    return r;
}

static void one(int what, int form, int side, int root_side, int root) {
    int me, data[3], all[64], counts[32], at[32];
    OK(MPI_Comm_rank(inter, &me));
    for (int i = 0; i < remote; i++) counts[i] = 3, at[i] = 3 * i;
    for (int i = 0; i < 64; i++) all[i] = what == SCATTER || what == SCATTERV ? 500 + i : -1;
    for (int i = 0; i < 3; i++) data[i] = 10 * me + i;
    MPI_Request r;
    if (side != root_side) {
        int into[3] = {-1, -1, -1};
        int receives = what == BCAST || what == SCATTER || what == SCATTERV;
        r = go(what, form, data, 3, into, 3, NULL, NULL, MPI_INT, MPI_SUM, root);
        for (int turn = 0; turn <= (form == 2); turn++) {
            if (form == 2) OK(MPI_Start(&r));
            OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        }
        for (int i = 0; receives && i < 3; i++) CHECK_EQ(into[i], what == BCAST ? 10 * root + i : 500 + 3 * me + i);
    } else if (me == root) {
        int *send = what == SCATTER || what == SCATTERV ? all : data;
        r = go(what, form, send, 3, what == BCAST ? data : all, 3, counts, at, MPI_INT, MPI_SUM, MPI_ROOT);
        for (int turn = 0; turn <= (form == 2); turn++) {
            if (form == 2) OK(MPI_Start(&r));
            OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        }
        if (what == REDUCE)
            for (int i = 0; i < 3; i++) CHECK_EQ(all[i], 10 * (remote * (remote - 1) / 2) + remote * i);
        if (what == GATHER || what == GATHERV)
            for (int i = 0; i < 3 * remote; i++) CHECK_EQ(all[i], 10 * (i / 3) + i % 3);
    } else {
        // Nothing of this makes sense: a sum of bytes, null pointers, no type and no operation, a negative count.
        switch ((me + what + form) % 3) {
        case 0: r = go(what, form, NULL, 0, NULL, 0, NULL, NULL, MPI_BYTE, MPI_SUM, MPI_PROC_NULL); break;
        case 1: r = go(what, form, NULL, 5, NULL, 5, NULL, NULL, MPI_DATATYPE_NULL, MPI_OP_NULL, MPI_PROC_NULL); break;
        default: r = go(what, form, NULL, -1, NULL, -1, NULL, NULL, MPI_INT, MPI_REPLACE, MPI_PROC_NULL); break;
        }
        for (int turn = 0; turn <= (form == 2); turn++) {
            if (form == 2) OK(MPI_Start(&r));
            OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        }
    }
    if (form == 2) OK(MPI_Request_free(&r));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    int side = rank >= size / 2, me;
    MPI_Comm local;
    OK(MPI_Comm_split(MPI_COMM_WORLD, side, 0, &local));
    OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side ? 0 : size / 2, 1, &inter));
    OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    OK(MPI_Comm_remote_size(inter, &remote));
    OK(MPI_Comm_size(inter, &me));
    for (int what = 0; what < OPERATIONS; what++)
        for (int form = 0; form < 3; form++)
            for (int root_side = 0; root_side < 2; root_side++) {
                int roots = root_side == side ? me : remote;
                for (int root = 0; root < roots; root++) one(what, form, side, root_side, root);
            }
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&local));
    return finish();
}
