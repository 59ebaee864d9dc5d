// ranks: 2 4 8
// sleeps: a rank sleeps outside MPI while the others wait
// attempts: 3
// A rank that waits uses no CPU time, whatever call it waits in: the last rank sleeps outside MPI for a
// second at a time, all others are blocked.
#include "../check.h"

enum { BIG = 8 << 20, PAUSE_MS = 700 };

typedef enum { RECV, WAIT, WAITANY, WAITALL, WAITSOME, PROBE, MPROBE, SSEND, BIG_SEND, SENDRECV, BARRIER, WAYS } Way;

static char *big;

static void blocked(Way way, int peer) {
    int value = 0, index, count;
    MPI_Request r;
    MPI_Message message;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Status *none = MPI_STATUS_IGNORE;
    switch (way) {
    case RECV: MPI_Recv(&value, 1, MPI_INT, peer, way, comm, none); break;
    case WAIT:
    case WAITANY:
    case WAITALL:
    case WAITSOME:
        MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, way, comm, &r);
        if (way == WAIT) MPI_Wait(&r, none);
        if (way == WAITANY) MPI_Waitany(1, &r, &index, none);
        if (way == WAITALL) MPI_Waitall(1, &r, MPI_STATUSES_IGNORE);
        if (way == WAITSOME) MPI_Waitsome(1, &r, &count, &index, MPI_STATUSES_IGNORE);
        break;
    case PROBE:
        MPI_Probe(peer, way, comm, none);
        MPI_Recv(&value, 1, MPI_INT, peer, way, comm, none);
        break;
    case MPROBE:
        MPI_Mprobe(peer, MPI_ANY_TAG, comm, &message, none);
        MPI_Mrecv(&value, 1, MPI_INT, &message, none);
        break;
    case SSEND: MPI_Ssend(&value, 1, MPI_INT, peer, way, comm); return;
    case BIG_SEND: MPI_Send(big, BIG, MPI_BYTE, peer, way, comm); return;
    case SENDRECV: MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, &value, 1, MPI_INT, peer, way, comm, none); break;
    default: MPI_Barrier(comm); return;
    }
    CHECK_EQ(value, 42);
}

static void release(Way way) {
    int value = 42;
    for (int r = 0; r < size - 1; r++) {
        if (way == BARRIER) break;
        if (way == SSEND)
            MPI_Recv(&value, 1, MPI_INT, r, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else if (way == BIG_SEND)
            MPI_Recv(big, BIG, MPI_BYTE, r, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&value, 1, MPI_INT, r, way, MPI_COMM_WORLD);
    }
    if (way == BARRIER) MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    big = get_memory(BIG);
    memset(big, 1, BIG);
    for (Way way = 0; way < WAYS; way++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == size - 1) {
            sleep_ms(PAUSE_MS);
            release(way);
        } else {
            double cpu = cpu_seconds(), wall = MPI_Wtime();
            blocked(way, size - 1);
            cpu = cpu_seconds() - cpu;
            wall = MPI_Wtime() - wall;
            CHECK(wall > 0.5);
            double most = way == BIG_SEND ? 0.15 : 0.05; // eight megabytes take some milliseconds themselves
            if (cpu > most) CHECK_FAIL("way %d used %.3f s of CPU in %.1f s of waiting", way, cpu, wall);
        }
    }
    free(big);
    return finish();
}
