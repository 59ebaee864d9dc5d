// ranks: 3
// one-host: ../hosts has the same between hosts
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
// args: fence_recv
// args: post_start
// args: lock_recv
// args: win_create
// args: partitioned
// args: partitioned_recv
// args: finalize_recv
// args: bsend_detach
// args: sendrecv
// args: neighbor
// args: threads
// Ranks that wait for each other for ever: each case is told, and ends the job.
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

static void warm_up(MPI_Comm comm) {
    for (int i = 0; i < 20; i++) MPI_Barrier(comm);
}

int main(int argc, char **argv) {
    int threads = argc > 1 && strcmp(argv[1], "threads") == 0, level;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size, x = rank, y = 0, flag;
    MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Comm one, two;
    MPI_Win win;
#define CASE(name) else if (strcmp(argv[1], #name) == 0)
    if (argc < 2) {
        return 1;
    }
    CASE(recv_recv) { recv_from(next, 1); send_to(before, 1); }
    CASE(threads) { recv_from(next, 1); send_to(before, 1); }
    CASE(ssend_ssend) { MPI_Ssend(&x, 1, MPI_INT, next, 1, world); recv_from(before, 1); }
    CASE(long_sends) {
        MPI_Send(many, sizeof many, MPI_CHAR, next, 1, world);
        MPI_Recv(more, sizeof more, MPI_CHAR, before, 1, world, MPI_STATUS_IGNORE);
    }
    CASE(probe_probe) { MPI_Probe(next, 1, world, MPI_STATUS_IGNORE); send_to(before, 1); }
    CASE(mprobe) {
        MPI_Message message;
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &message, MPI_STATUS_IGNORE);
        send_to(before, 1);
    }
    CASE(other_tag) { send_to(next, 8); recv_from(before, 7); }
    CASE(other_comm) {
        MPI_Comm_dup(world, &one);
        MPI_Send(&x, 1, MPI_INT, next, 1, one);
        recv_from(before, 1);
    }
    CASE(other_source) {
        if (rank == 0) recv_from(1, 1);
        if (rank == 2) send_to(0, 1);
        MPI_Barrier(world);
    }
    CASE(barrier_recv) {
        warm_up(world);
        if (rank == 1) recv_from(0, 1);
        MPI_Barrier(world);
        if (rank == 0) send_to(1, 1);
    }
    CASE(barrier_recv_first) {
        if (rank == 1) recv_from(0, 1);
        MPI_Barrier(world);
        if (rank == 0) send_to(1, 1);
    }
    CASE(two_comms) {
        MPI_Comm_dup(world, &one);
        MPI_Comm_dup(world, &two);
        MPI_Barrier(rank ? one : two);
        MPI_Barrier(rank ? two : one);
    }
    CASE(two_comms_late) {
        MPI_Comm_dup(world, &one);
        MPI_Comm_dup(world, &two);
        warm_up(one);
        warm_up(two);
        MPI_Barrier(rank ? one : two);
        MPI_Barrier(rank ? two : one);
    }
    CASE(never_started) {
        MPI_Send_init(&x, 1, MPI_INT, next, 1, world, &requests[0]);
        MPI_Recv_init(&y, 1, MPI_INT, before, 1, world, &requests[1]);
        MPI_Start(&requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    CASE(waitall) {
        MPI_Irecv(&x, 1, MPI_INT, next, 1, world, &requests[0]);
        MPI_Irecv(&y, 1, MPI_INT, before, 1, world, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    CASE(waitany) {
        MPI_Irecv(&x, 1, MPI_INT, next, 1, world, &requests[0]);
        MPI_Issend(&y, 1, MPI_INT, before, 2, world, &requests[1]);
        MPI_Waitany(2, requests, &flag, MPI_STATUS_IGNORE);
    }
    CASE(waitsome) {
        int list[2];
        MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, world, &requests[0]);
        MPI_Issend(&y, 1, MPI_INT, before, 2, world, &requests[1]);
        MPI_Waitsome(2, requests, &flag, list, MPI_STATUSES_IGNORE);
    }
    CASE(wildcard) { recv_from(MPI_ANY_SOURCE, 1); }
    CASE(wildcard_probe) { MPI_Probe(MPI_ANY_SOURCE, 1, world, MPI_STATUS_IGNORE); }
    CASE(itself) {
        if (rank == 0) recv_from(0, 1);
        MPI_Barrier(world);
    }
    CASE(itself_ssend) {
        if (rank == 2) MPI_Ssend(&x, 1, MPI_INT, 2, 1, world);
        MPI_Barrier(world);
    }
    CASE(ring) { if (rank < 3) { recv_from(before, 1); send_to(next, 1); } }
    CASE(bcast_recv) {
        if (rank == 0) recv_from(1, 1);
        MPI_Bcast(&x, 1, MPI_INT, 0, world);
        if (rank == 1) send_to(0, 1);
    }
    CASE(ibarrier_recv) {
        MPI_Ibarrier(world, &requests[0]);
        if (rank == 1) recv_from(0, 1);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Barrier(world);
        if (rank == 0) send_to(1, 1);
    }
    CASE(ibcast_wait) {
        if (rank == 0) recv_from(2, 1);
        MPI_Ibcast(many, sizeof many, MPI_CHAR, 0, world, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        if (rank == 2) send_to(0, 1);
    }
    CASE(persistent_barrier) {
        MPI_Barrier_init(world, MPI_INFO_NULL, &requests[0]);
        if (rank) {
            MPI_Start(&requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else {
            recv_from(1, 1);
        }
    }
    CASE(dup_recv) {
        if (rank == 0) recv_from(1, 1);
        MPI_Comm_dup(world, &one);
        if (rank == 1) send_to(0, 1);
    }
    CASE(split_barrier) {
        MPI_Comm_split(world, rank < 2, 0, &one);
        if (rank == 0) MPI_Barrier(one);
        MPI_Barrier(world);
        if (rank == 1) MPI_Barrier(one);
    }
    CASE(intercomm) {
        MPI_Comm_split(world, rank == 0, 0, &one);
        MPI_Intercomm_create(one, 0, world, rank == 0 ? 1 : 0, 5, &two);
        MPI_Recv(&x, 1, MPI_INT, 0, 1, two, MPI_STATUS_IGNORE);
    }
    CASE(fence_recv) {
        MPI_Win_create(many, sizeof many, 1, MPI_INFO_NULL, world, &win);
        if (rank == 0) recv_from(1, 1);
        MPI_Win_fence(0, win);
        if (rank == 1) send_to(0, 1);
    }
    CASE(post_start) {
        MPI_Group all, other;
        MPI_Win_create(many, sizeof many, 1, MPI_INFO_NULL, world, &win);
        MPI_Comm_group(world, &all);
        MPI_Group_incl(all, 1, &next, &other);
        MPI_Win_start(other, 0, win);
        MPI_Win_complete(win);
    }
    CASE(lock_recv) {
        MPI_Win_create(many, sizeof many, 1, MPI_INFO_NULL, world, &win);
        if (rank == 0) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Put(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            send_to(1, 1);
            recv_from(1, 2);
        } else if (rank == 1) {
            recv_from(0, 1);
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
            MPI_Get(&y, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_unlock(0, win);
            send_to(0, 2);
        }
        MPI_Barrier(world);
    }
    CASE(win_create) {
        if (rank == 0) recv_from(1, 1);
        MPI_Win_create(many, sizeof many, 1, MPI_INFO_NULL, world, &win);
        if (rank == 1) send_to(0, 1);
    }
    CASE(partitioned) {
        MPI_Psend_init(many, 2, 10, MPI_CHAR, next, 1, world, MPI_INFO_NULL, &requests[0]);
        MPI_Precv_init(more, 2, 10, MPI_CHAR, before, 1, world, MPI_INFO_NULL, &requests[1]);
        MPI_Startall(2, requests);
        MPI_Pready(1, requests[0]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    CASE(partitioned_recv) {
        MPI_Precv_init(more, 2, 10, MPI_CHAR, before, 1, world, MPI_INFO_NULL, &requests[1]);
        MPI_Start(&requests[1]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
    CASE(finalize_recv) {
        if (rank == 0) MPI_Issend(&x, 1, MPI_INT, 1, 5, world, &requests[0]);
        if (rank == 1) recv_from(0, 6);
    }
    CASE(bsend_detach) {
        void *buffer;
        MPI_Buffer_attach(malloc(2 << 20), 2 << 20);
        MPI_Bsend(many, sizeof many, MPI_CHAR, next, 1, world);
        MPI_Buffer_detach(&buffer, &flag);
        MPI_Recv(more, sizeof more, MPI_CHAR, before, 1, world, MPI_STATUS_IGNORE);
    }
    CASE(sendrecv) {
        MPI_Sendrecv(&x, 1, MPI_INT, next, 1, &y, 1, MPI_INT, before, 2, world, MPI_STATUS_IGNORE);
    }
    CASE(neighbor) {
        int periodic = 1;
        int all[2];
        MPI_Cart_create(world, 1, &size, &periodic, 0, &one);
        if (rank == 0) recv_from(1, 1);
        MPI_Neighbor_allgather(&x, 1, MPI_INT, all, 1, MPI_INT, one);
        if (rank == 1) send_to(0, 1);
    }
    else return 1;
    MPI_Finalize();
    return 0;
}
