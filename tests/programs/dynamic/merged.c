// ranks: 1 2
// args: 1
// args: 2
// timeout: 60
// An intracommunicator of two jobs works like one of a single job: collective operations, parts, windows, groups, files.
#include "jobs.h"

// Whether a job is on several hosts: then the jobs share no memory, and have no window together.
static int all, me, hosts;

static void collectives(MPI_Comm comm) {
    for (int turn = 0; turn < 20; turn++) {
        int own = me + turn, sum = -1;
        MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK_EQ(sum, all * (all - 1) / 2 + all * turn);
        int word = me == turn % all ? turn : -1;
        MPI_Bcast(&word, 1, MPI_INT, turn % all, comm);
        CHECK_EQ(word, turn);
        MPI_Barrier(comm);
    }
    size_t bytes = 300000;
    char *long_ones = get_memory(bytes * (size_t)all), *own = get_memory(bytes);
    fill(own, bytes, (unsigned)me);
    MPI_Allgather(own, (int)bytes, MPI_BYTE, long_ones, (int)bytes, MPI_BYTE, comm);
    for (int from = 0; from < all; from++) CHECK_PATTERN(long_ones + bytes * (size_t)from, bytes, from);
    MPI_Request request;
    memset(long_ones, 0, bytes * (size_t)all);
    MPI_Iallgather(own, (int)bytes, MPI_BYTE, long_ones, (int)bytes, MPI_BYTE, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int from = 0; from < all; from++) CHECK_PATTERN(long_ones + bytes * (size_t)from, bytes, from);
    free(own);
    free(long_ones);
}

static void parts(MPI_Comm comm) {
    MPI_Comm half, shared, twin, reversed;
    MPI_Comm_split(comm, me % 2, -me, &half);
    int rank_in, size_in, sum = 0;
    MPI_Comm_rank(half, &rank_in);
    MPI_Comm_size(half, &size_in);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, half);
    int expected = 0;
    for (int i = me % 2; i < all; i += 2) expected += i;
    CHECK_EQ(sum, expected);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
    MPI_Comm_size(shared, &size_in);
    CHECK(hosts ? size_in < all : size_in == all);
    MPI_Request request;
    MPI_Comm_idup(comm, &twin, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(twin);
    MPI_Comm_free(&twin);
    MPI_Group group, upside_down;
    int range[1][3] = {{all - 1, 0, -1}};
    MPI_Comm_group(comm, &group);
    MPI_Group_range_incl(group, 1, range, &upside_down);
    MPI_Comm_create(comm, upside_down, &reversed);
    int here = -1, result;
    MPI_Comm_rank(reversed, &here);
    CHECK_EQ(here, all - 1 - me);
    MPI_Comm_compare(comm, reversed, &result);
    CHECK_EQ(result, all == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
    MPI_Comm_free(&reversed);
    MPI_Comm_create_group(comm, upside_down, 5, &reversed);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, reversed);
    CHECK_EQ(sum, all * (all - 1) / 2);
    MPI_Group_free(&group);
    MPI_Group_free(&upside_down);
    MPI_Comm_free(&reversed);
    MPI_Comm_free(&half);
    MPI_Comm_free(&shared);
}

static void windows(MPI_Comm comm) {
    int next = (me + 1) % all, *memory, mine[4] = {0};
    MPI_Win win;
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
    memset(memory, 0, 4 * sizeof(int));
    MPI_Win_fence(0, win);
    MPI_Put(&me, 1, MPI_INT, next, 1, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK_EQ(memory[1], (me + all - 1) % all);
    MPI_Win_lock_all(0, win);
    int one = 1;
    for (int to = 0; to < all; to++) MPI_Accumulate(&one, 1, MPI_INT, to, 2, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(comm);
    CHECK_EQ(memory[2], all);
    MPI_Win_free(&win);
    MPI_Win_create(mine, sizeof mine, sizeof(int), MPI_INFO_NULL, comm, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&me, 1, MPI_INT, next, 3, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK_EQ(mine[3], (me + all - 1) % all);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    int got = -1;
    MPI_Get(&got, 1, MPI_INT, 0, 3, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    CHECK_EQ(got, all - 1);
    MPI_Win_free(&win);
    int *base, *theirs, unit;
    MPI_Aint bytes;
    MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &base, &win);
    *base = me;
    MPI_Win_fence(0, win);
    MPI_Win_shared_query(win, next, &bytes, &unit, &theirs);
    CHECK_EQ(*theirs, next);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

static void files(MPI_Comm comm) {
    MPI_File file;
    MPI_File_open(comm, "merged.out", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, me * 4, &me, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(comm);
    int got = -1, next = (me + 1) % all;
    MPI_File_read_at(file, next * 4, &got, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK_EQ(got, next);
    MPI_File_write_ordered(file, &me, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    char port[MPI_MAX_PORT_NAME] = "";
    int server = argc < 3, clients = atoi(argv[1]);
    pid_t job = 0;
    MPI_Comm inter, comm;
    if (server) {
        if (rank == 0) {
            MPI_Open_port(MPI_INFO_NULL, port);
            job = start_job(clients, argv[0], argv[1], port);
        }
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    } else {
        MPI_Comm_connect(argv[2], MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    }
    MPI_Intercomm_merge(inter, !server, &comm);
    MPI_Comm_size(comm, &all);
    MPI_Comm_rank(comm, &me);
    if (server) CHECK_EQ(all, size + clients);
    CHECK_EQ(me, server ? rank : all - size + rank);
    int own = on_hosts();
    MPI_Allreduce(&own, &hosts, 1, MPI_INT, MPI_MAX, comm);
    collectives(comm);
    parts(comm);
    if (!hosts) windows(comm);
    files(comm);
    collectives(comm);
    MPI_Comm_disconnect(&inter);
    collectives(comm);
    MPI_Comm_disconnect(&comm);
    if (job) {
        MPI_Close_port(port);
        end_job(job, 0);
    }
    return finish();
}
