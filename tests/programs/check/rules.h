// Rules of ready sends, intercommunicators, graphs, assertions and windows; with `wrong` one is broken.
#include "../check.h"

static int is(const char *name, const char *what) { return strcmp(name, what) == 0; }

CHECK_UNUSED static const char *const ALL[] = {"rsend",      "irsend", "rsend-init", "unstarted", "freed",     "inter-root",
                                               "inter-op",   "inter-call", "merge",  "edges",     "nostore",   "noput",
                                               "post-noput", "noprecede",  "stored", "file-name", "idup"};

static void act_ready(const char *name, int wrong) {
    int value = rank, got = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 1 && !wrong) MPI_Irecv(&got, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && is(name, "rsend")) MPI_Rsend(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
    if (rank == 0 && is(name, "irsend")) {
        MPI_Irsend(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (rank == 0 && is(name, "rsend-init")) {
        MPI_Rsend_init(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && wrong) MPI_Irecv(&got, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 1) CHECK_EQ(got, 0);
}

static void act_between_groups(const char *name, int wrong) {
    MPI_Comm own, inter, merged;
    int value = rank, sum = 0;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &own);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &inter);
    if (is(name, "inter-root")) {
        // Ranks 1 and 3 get what rank 0 has; with the mistake rank 3 expects it from rank 2.
        int root = rank == 0 ? MPI_ROOT : rank == 2 ? MPI_PROC_NULL : 0;
        MPI_Request request;
        if (wrong && rank == 3) root = 1;
        MPI_Ibcast(&value, 1, MPI_INT, root, inter, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (is(name, "inter-op")) {
        // The groups may have different operations, their ranks not.
        MPI_Op op = rank % 2 == 0 ? MPI_SUM : MPI_MAX;
        if (wrong && (rank == 2 || rank == 3)) op = MPI_PROD;
        MPI_Allreduce(&value, &sum, 1, MPI_INT, op, inter);
    }
    if (is(name, "inter-call")) {
        MPI_Request request;
        if (wrong && rank % 2) MPI_Ibarrier(inter, &request);
        else MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, inter, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (is(name, "merge")) {
        // The groups may both be high.
        MPI_Intercomm_merge(inter, 1, &merged);
        MPI_Comm_free(&merged);
        MPI_Intercomm_merge(inter, wrong && rank == 2, &merged);
        MPI_Comm_free(&merged);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&own);
}

static void act_asserting(const char *name, int wrong) {
    int *memory, value = rank;
    MPI_Win win;
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < 4; i++) memory[i] = 0;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    if (is(name, "nostore")) {
        // Puts of others are no stores, and who stores does not say NOSTORE.
        if (rank == 0) MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        if (rank == 1) memory[1] = 5;
        MPI_Win_fence(rank == 1 && !wrong ? 0 : MPI_MODE_NOSTORE, win);
    }
    if (is(name, "noput")) {
        MPI_Win_fence(rank == 1 || (rank == 2 && !wrong) ? 0 : MPI_MODE_NOPUT, win);
        if (rank == 0) MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        if (rank == 0) MPI_Accumulate(&value, 1, MPI_INT, 2, 0, 1, MPI_INT, MPI_SUM, win);
        if (rank == 1) MPI_Get(&value, 1, MPI_INT, 3, 0, 1, MPI_INT, win);
    }
    if (is(name, "noprecede")) MPI_Win_fence(rank == 3 && wrong ? 0 : MPI_MODE_NOPRECEDE, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (is(name, "post-noput")) {
        MPI_Group all, one, zero;
        int first = 0, second = 1;
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_incl(all, 1, &first, &zero);
        MPI_Group_incl(all, 1, &second, &one);
        if (rank == 1) {
            MPI_Win_post(zero, MPI_MODE_NOPUT, win);
            MPI_Win_wait(win);
        }
        if (rank == 0) {
            MPI_Win_start(one, 0, win);
            if (wrong) MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
            else MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
            MPI_Win_complete(win);
        }
        MPI_Group_free(&all);
        MPI_Group_free(&one);
        MPI_Group_free(&zero);
    }
    if (is(name, "stored")) {
        // A store that nobody has been told of, where another rank puts.
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, win);
        if (rank == 1) memory[1] = 5;
        if (rank == 1 && wrong) memory[0] = 6;
        if (rank == 0) MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Win_unlock_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
        // Told, it is right: the value is initialised, or an answer.
        MPI_Win_lock_all(0, win);
        if (rank == 1) memory[2] = 7;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) MPI_Put(&value, 1, MPI_INT, 1, 2, 1, MPI_INT, win);
        MPI_Win_flush_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) memory[3] = 8;
        MPI_Win_sync(win);
        while (rank == 0 && value != 8) {
            MPI_Get(&value, 1, MPI_INT, 1, 3, 1, MPI_INT, win);
            MPI_Win_flush(1, win);
        }
        if (rank == 0) MPI_Put(&value, 1, MPI_INT, 1, 3, 1, MPI_INT, win);
        MPI_Win_unlock_all(win);
    }
    MPI_Win_free(&win);
}

static void act(const char *name, int wrong) {
    int value = rank;
    if (is(name, "rsend") || is(name, "irsend") || is(name, "rsend-init")) act_ready(name, wrong);
    if (is(name, "unstarted")) {
        MPI_Request request;
        MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
        if (!wrong) MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        // An inactive request is complete.
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    }
    if (is(name, "freed")) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 3, comm);
        if (rank == 1 && !wrong) MPI_Recv(&value, 1, MPI_INT, 0, 3, comm, MPI_STATUS_IGNORE);
        MPI_Comm_free(&comm);
    }
    if (strncmp(name, "inter-", 6) == 0 || is(name, "merge")) act_between_groups(name, wrong);
    if (is(name, "edges")) {
        int before[] = {(rank + size - 1) % size, rank, rank}, after[] = {(rank + 1) % size, rank, rank};
        MPI_Comm graph;
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, before, MPI_UNWEIGHTED, wrong && rank == 2 ? 2 : 3, after,
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
        MPI_Comm_free(&graph);
    }
    if (is(name, "file-name")) {
        const char *file = wrong && rank == 1 ? "other" : rank == 2 ? "./one" : "one";
        MPI_File fh;
        if (rank == 1) fclose(fopen("other", "w"));
        MPI_File_open(MPI_COMM_WORLD, file, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &fh);
        if (!wrong) MPI_File_close(&fh);
    }
    if (is(name, "idup")) {
        MPI_Comm copy;
        MPI_Request request;
        MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
        if (wrong) MPI_Comm_rank(copy, &value);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Barrier(copy);
        MPI_Comm_free(&copy);
    }
    if (is(name, "nostore") || is(name, "noput") || is(name, "post-noput") || is(name, "noprecede") || is(name, "stored"))
        act_asserting(name, wrong);
}
