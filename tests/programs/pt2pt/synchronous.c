// ranks: 2 8
// A synchronous send of any size completes only once a matching receive has started, and completes
// then even though the receiver has not waited for it yet.
#include "../check.h"

static const int sizes[] = {0, 1, 64, 5000, 500000};

// The same clock in all processes of a machine.
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Rank 0 sends; rank 1 starts its receive only after a pause that it announced before. However the two are delayed, the send
// ends after the receive has begun.
static void blocking(int n, char *buf) {
    double began, ended;
    if (rank == 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Ssend(buf, n, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
        ended = now();
        MPI_Recv(&began, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(ended >= began);
    } else {
        MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        sleep_ms(100);
        began = now();
        MPI_Recv(buf, n, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&began, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    }
}

// MPI_Issend stays incomplete while the receiver makes other MPI calls that do not match it.
static void nonblocking(int n, char *buf) {
    int flag = -1, token = 0;
    if (rank == 0) {
        MPI_Request send;
        MPI_Issend(buf, n, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &send);
        for (int i = 0; i < 20; i++) {
            MPI_Send(&token, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
            CHECK_EQ(flag, 0);
        }
        MPI_Send(&token, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    } else {
        for (int i = 0; i < 20; i++) {
            MPI_Recv(&token, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Iprobe(0, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            CHECK_EQ(flag, 1); // a probe finds it but does not receive it
            MPI_Send(&token, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
        }
        MPI_Recv(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(buf, n, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

// A matching probe alone does not complete a synchronous send; the matched receive does.
static void matched(int n, char *buf) {
    int flag = -1, token = 0;
    if (rank == 0) {
        MPI_Request send;
        MPI_Issend(buf, n, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &send);
        MPI_Recv(&token, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
        CHECK_EQ(flag, 0);
        MPI_Send(&token, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    } else {
        MPI_Message message;
        MPI_Mprobe(0, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Send(&token, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
        MPI_Recv(&token, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Mrecv(buf, n, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    }
}

// The receive was started but is not waited for: the synchronous send must complete nevertheless,
// because the second message depends on it.
static void progress(int n, char *buf) {
    int token = 0;
    if (rank == 0) {
        MPI_Ssend(buf, n, MPI_BYTE, 1, 6, MPI_COMM_WORLD);
        MPI_Send(&token, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    } else {
        MPI_Request receive;
        MPI_Irecv(buf, n, MPI_BYTE, 0, 6, MPI_COMM_WORLD, &receive);
        MPI_Recv(&token, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    char *buf = get_memory(500000);
    if (rank < 2)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            blocking(sizes[i], buf);
            nonblocking(sizes[i], buf);
            matched(sizes[i], buf);
            progress(sizes[i], buf);
        }
    free(buf);
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
