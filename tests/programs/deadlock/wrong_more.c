// ranks: 3
// one-host: the waits of windows over hosts are not described
// timeout: 30
// sleeps: a deadlock is told after half a second of silence
// expect-exit: 121
// expect-stderr: deadlock:
// expect-stderr: the job was stopped
// args: comm_create
// args: comm_create_group
// args: comm_idup
// args: intercomm_create
// args: intercomm_merge
// args: intercomm_barrier
// args: intercomm_bcast
// args: cart_create
// args: dist_graph
// args: win_allocate
// args: win_free
// args: win_wait
// args: win_complete
// args: lock_all
// args: lock_exclusive
// args: lock_finalize
// args: fence_barrier
// args: first_bcast
// args: first_alltoall
// args: reduce_recv
// args: scan_recv
// args: gather_ssend
// args: ialltoall_waitany
// args: many_requests
// args: persistent_send
// args: startall_half
// args: isendrecv
// args: sendrecv_replace
// args: mrecv
// args: improbe_then_probe
// args: file_open
// args: file_close
// args: file_write_all
// args: file_ordered
// args: file_iwrite_all
// args: file_set_view
// args: session_group
// args: session_finalize
// args: disconnect
// args: buffer_flush
// args: freed_request
// More ranks that wait for each other for ever, by call: each case is told, and ends the job.
#include "../check.h"
#include <string.h>

static int rank, size;
static char many[1 << 20], more[1 << 20];
static MPI_Comm world;

static void recv_from(int source, int tag) {
    int x;
    MPI_Recv(&x, 1, MPI_INT, source, tag, world, MPI_STATUS_IGNORE);
}

static void send_to(int dest, int tag) {
    MPI_Send(&rank, 1, MPI_INT, dest, tag, world);
}

/* Rank 0 waits for a message that rank 1 sends only after the call between these two, in which it needs rank 0. */
static void before_call(void) {
    if (rank == 0) recv_from(1, 1);
}

static void after_call(void) {
    if (rank == 1) send_to(0, 1);
}

static MPI_Comm from_session(MPI_Session session, const char *tag) {
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

int main(int argc, char **argv) {
    if (argc < 2) return 1;
    MPI_Init(&argc, &argv);
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size, x = rank, y = 0, flag, all[64], periodic = 1;
    for (int i = 0; i < 64; i++) all[i] = 0;
    MPI_Request requests[200];
    for (int i = 0; i < 200; i++) requests[i] = MPI_REQUEST_NULL;
    MPI_Comm one, two;
    MPI_Group group, other;
    MPI_Win win;
    MPI_File file;
    MPI_Session session;
    MPI_Message message;
    void *base;
    MPI_Comm_group(world, &group);
#define CASE(name) else if (strcmp(argv[1], #name) == 0)
    if (0) {
    }
    CASE(comm_create) { before_call(); MPI_Comm_create(world, group, &one); after_call(); }
    CASE(comm_create_group) { before_call(); MPI_Comm_create_group(world, group, 3, &one); after_call(); }
    CASE(comm_idup) {
        before_call();
        MPI_Comm_idup(world, &one, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        after_call();
    }
    CASE(intercomm_create) {
        MPI_Comm_split(world, rank == 0, 0, &one);
        before_call();
        MPI_Intercomm_create(one, 0, world, rank == 0 ? 1 : 0, 5, &two);
        after_call();
    }
    CASE(intercomm_merge) {
        MPI_Comm_split(world, rank == 0, 0, &one);
        MPI_Intercomm_create(one, 0, world, rank == 0 ? 1 : 0, 5, &two);
        before_call();
        MPI_Intercomm_merge(two, 0, &one);
        after_call();
    }
    CASE(intercomm_barrier) {
        MPI_Comm_split(world, rank == 0, 0, &one);
        MPI_Intercomm_create(one, 0, world, rank == 0 ? 1 : 0, 5, &two);
        before_call();
        MPI_Barrier(two);
        after_call();
    }
    CASE(intercomm_bcast) {
        MPI_Comm_split(world, rank == 0, 0, &one);
        MPI_Intercomm_create(one, 0, world, rank == 0 ? 1 : 0, 5, &two);
        before_call();
        MPI_Bcast(&x, 1, MPI_INT, rank == 0 ? MPI_ROOT : 0, two);
        after_call();
    }
    CASE(cart_create) { before_call(); MPI_Cart_create(world, 1, &size, &periodic, 1, &one); after_call(); }
    CASE(dist_graph) {
        before_call();
        MPI_Dist_graph_create_adjacent(world, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &one);
        MPI_Neighbor_alltoall(&x, 1, MPI_INT, all, 1, MPI_INT, one);
        after_call();
    }
    CASE(win_allocate) { before_call(); MPI_Win_allocate(8, 1, MPI_INFO_NULL, world, &base, &win); after_call(); }
    CASE(win_free) {
        MPI_Win_create(many, sizeof many, 1, MPI_INFO_NULL, world, &win);
        before_call();
        MPI_Win_free(&win);
        after_call();
    }
    CASE(win_wait) {
        MPI_Win_create(many, sizeof many, 1, MPI_INFO_NULL, world, &win);
        MPI_Group_incl(group, 1, &before, &other);
        MPI_Win_post(other, 0, win);
        MPI_Win_wait(win);
    }
    CASE(win_complete) {
        MPI_Win_create(many, sizeof many, 1, MPI_INFO_NULL, world, &win);
        MPI_Group_incl(group, 1, &next, &other);
        MPI_Win_start(other, 0, win);
        MPI_Put(&x, 1, MPI_INT, next, 0, 1, MPI_INT, win);
        MPI_Win_complete(win);
        MPI_Win_post(other, 0, win);
        MPI_Win_wait(win);
    }
    CASE(lock_all) {
        MPI_Win_create(many, sizeof many, 1, MPI_INFO_NULL, world, &win);
        if (rank == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Barrier(world);
        before_call();
        MPI_Win_lock_all(0, win);
        after_call();
    }
    CASE(lock_exclusive) {
        MPI_Win_create(many, sizeof many, 1, MPI_INFO_NULL, world, &win);
        if (rank == 0) MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        MPI_Barrier(world);
        before_call();
        if (rank) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        after_call();
    }
    CASE(lock_finalize) {
        MPI_Win_create(many, sizeof many, 1, MPI_INFO_NULL, world, &win);
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
        recv_from(next, 1);
    }
    CASE(fence_barrier) {
        MPI_Win_create(many, sizeof many, 1, MPI_INFO_NULL, world, &win);
        for (int i = 0; i < 20; i++) MPI_Barrier(world);
        MPI_Win_fence(0, win);
        if (rank == 0) MPI_Barrier(world);
        MPI_Win_fence(0, win);
        if (rank) MPI_Barrier(world);
    }
    CASE(first_bcast) {
        MPI_Comm_dup(world, &one);
        before_call();
        MPI_Bcast(&x, 1, MPI_INT, 0, one);
        after_call();
    }
    CASE(first_alltoall) {
        MPI_Comm_dup(world, &one);
        before_call();
        MPI_Alltoall(many, 4, MPI_INT, more, 4, MPI_INT, one);
        after_call();
    }
    CASE(reduce_recv) {
        before_call();
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, world);
        after_call();
    }
    CASE(scan_recv) { before_call(); MPI_Scan(&x, &y, 1, MPI_INT, MPI_SUM, world); MPI_Barrier(world); after_call(); }
    CASE(gather_ssend) {
        if (rank == 1) MPI_Ssend(&x, 1, MPI_INT, 0, 4, world);
        MPI_Gather(&x, 1, MPI_INT, all, 1, MPI_INT, 0, world);
        if (rank == 0) recv_from(1, 4);
    }
    CASE(ialltoall_waitany) {
        before_call();
        MPI_Ialltoall(many, 4, MPI_INT, more, 4, MPI_INT, world, &requests[0]);
        MPI_Irecv(&x, 1, MPI_INT, next, 9, world, &requests[1]);
        MPI_Waitany(2, requests, &flag, MPI_STATUS_IGNORE);
        after_call();
    }
    CASE(many_requests) {
        for (int i = 0; i < 100; i++) {
            MPI_Irecv(&all[i % 64], 1, MPI_INT, next, 100 + i, world, &requests[2 * i]);
            MPI_Issend(&x, 1, MPI_INT, before, 300 + i, world, &requests[2 * i + 1]);
        }
        MPI_Waitall(200, requests, MPI_STATUSES_IGNORE);
    }
    CASE(persistent_send) {
        MPI_Ssend_init(&x, 1, MPI_INT, next, 1, world, &requests[0]);
        MPI_Start(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        recv_from(before, 1);
    }
    CASE(startall_half) {
        MPI_Barrier_init(world, MPI_INFO_NULL, &requests[0]);
        MPI_Recv_init(&y, 1, MPI_INT, next, 1, world, &requests[1]);
        MPI_Startall(rank == 0 ? 1 : 2, rank == 0 ? &requests[1] : requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    CASE(isendrecv) {
        MPI_Isendrecv(&x, 1, MPI_INT, next, 1, &y, 1, MPI_INT, before, 2, world, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    CASE(sendrecv_replace) { MPI_Sendrecv_replace(&x, 1, MPI_INT, next, 1, before, 2, world, MPI_STATUS_IGNORE); }
    CASE(mrecv) {
        send_to(next, 1);
        MPI_Mprobe(before, 1, world, &message, MPI_STATUS_IGNORE);
        recv_from(before, 1);
        MPI_Mrecv(&x, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    }
    CASE(improbe_then_probe) {
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &flag, &message, MPI_STATUS_IGNORE);
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);
    }
    CASE(file_open) {
        before_call();
        MPI_File_open(world, "wrong_more.tmp", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
        after_call();
    }
#define OPEN                                                                                                       \
    MPI_File_open(world, "wrong_more.tmp", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, \
                  &file)
    CASE(file_close) { OPEN; before_call(); MPI_File_close(&file); after_call(); }
    CASE(file_write_all) {
        MPI_Datatype column;
        OPEN;
        MPI_Type_vector(1000, 1, size, MPI_INT, &column);
        MPI_Type_commit(&column);
        MPI_File_set_view(file, rank * 4, MPI_INT, column, "native", MPI_INFO_NULL);
        before_call();
        MPI_File_write_all(file, many, 1000, MPI_INT, MPI_STATUS_IGNORE);
        MPI_File_sync(file);
        MPI_Barrier(world);
        after_call();
    }
    CASE(file_ordered) {
        OPEN;
        before_call();
        MPI_File_write_ordered(file, many, 1000, MPI_INT, MPI_STATUS_IGNORE);
        after_call();
        MPI_Barrier(world);
    }
    CASE(file_iwrite_all) {
        MPI_Datatype column;
        OPEN;
        MPI_Type_vector(1000, 1, size, MPI_INT, &column);
        MPI_Type_commit(&column);
        MPI_File_set_view(file, rank * 4, MPI_INT, column, "native", MPI_INFO_NULL);
        before_call();
        MPI_File_iwrite_all(file, many, 1000, MPI_INT, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Barrier(world);
        after_call();
    }
    CASE(file_set_view) {
        OPEN;
        before_call();
        MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
        after_call();
    }
    CASE(session_group) {
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        before_call();
        one = from_session(session, "org.example");
        after_call();
    }
    CASE(session_finalize) {
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        one = from_session(session, "org.example");
        MPI_Recv(&x, 1, MPI_INT, next == 0 ? 1 : 0, 4, one, MPI_STATUS_IGNORE);
        MPI_Session_finalize(&session);
    }
    CASE(disconnect) {
        MPI_Comm_dup(world, &one);
        MPI_Issend(&x, 1, MPI_INT, next, 4, one, &requests[0]);
        MPI_Comm_disconnect(&one);
    }
    CASE(buffer_flush) {
        MPI_Buffer_attach(malloc(2 << 20), 2 << 20);
        MPI_Bsend(many, sizeof many, MPI_CHAR, next, 1, world);
        MPI_Buffer_flush();
        MPI_Recv(more, sizeof more, MPI_CHAR, before, 1, world, MPI_STATUS_IGNORE);
    }
    CASE(freed_request) {
        MPI_Issend(&x, 1, MPI_INT, next, 1, world, &requests[0]);
        MPI_Request_free(&requests[0]);
        recv_from(before, 2);
    }
    else return 1;
    MPI_Finalize();
    return 0;
}
