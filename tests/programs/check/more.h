// What is told of persistent collective operations, arguments and buffers; with `wrong` there is a mistake.
#include "../check.h"

static int is(const char *name, const char *what) { return strcmp(name, what) == 0; }

CHECK_UNUSED static const char *const ALL[] = {"bcast", "scan", "split-type", "reduce-scatter", "rput", "rget", "send", "mprobe"};

static void act_on_window(const char *name, int wrong) {
    static int memory[4];
    int data[2] = {rank + 5, 6};
    MPI_Win win;
    MPI_Request request;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    if (rank == 0 && is(name, "rput")) {
        MPI_Rput(data, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request);
        if (wrong) data[0] = 99;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        data[0] = 98;
    }
    if (rank == 0 && is(name, "rget")) {
        MPI_Rget(data, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request);
        if (wrong) data[0] = 99;
        // A flush completes the operation, too: afterwards the buffer is the program's.
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Rget(data, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request);
        MPI_Win_flush(1, win);
        data[0] = 98;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (is(name, "send")) {
        if (rank == 0) {
            MPI_Get(data, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
            if (!wrong) MPI_Win_flush(1, win);
            MPI_Send(data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        }
        if (rank == 1) MPI_Recv(data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

static void act(const char *name, int wrong) {
    int from[4] = {1, 2, 3, 4}, to[4];
    MPI_Request request;
    if (is(name, "bcast") || is(name, "scan")) {
        if (is(name, "bcast")) MPI_Bcast_init(from, 4, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        else MPI_Scan_init(from, to, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        for (int i = 0; i < 3; i++) {
            if (!wrong || i != 1 || rank == 0) MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
    }
    if (is(name, "split-type")) {
        MPI_Comm made;
        int type = wrong && rank == 0 ? MPI_COMM_TYPE_HW_UNGUIDED : MPI_COMM_TYPE_SHARED;
        MPI_Comm_split_type(MPI_COMM_WORLD, rank == 2 ? MPI_UNDEFINED : type, 0, MPI_INFO_NULL, &made);
        if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
    }
    if (is(name, "reduce-scatter")) {
        int counts[3] = {1, 1, 1};
        if (wrong && rank == 1) counts[0] = 2, counts[1] = 0;
        MPI_Reduce_scatter(from, to, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (is(name, "rput") || is(name, "rget") || is(name, "send")) act_on_window(name, wrong);
    if (is(name, "mprobe")) {
        MPI_Message message;
        if (rank == 0) MPI_Send(from, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
        if (rank == 1) {
            MPI_Mprobe(0, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
            if (!wrong) MPI_Mrecv(to, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        }
    }
}
