// ranks: 3
// no-check: leaves a message after a death
// sleeps: each case waits until a death is noticed
// args: recv
// args: recv-long
// args: ssend
// args: send-long
// args: probe
// args: mprobe
// args: wait
// args: test
// args: waitany
// args: waitsome
// args: waitall
// args: sendrecv
// args: persistent
// args: any
// launch: --with-ft ulfm
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// A process dies while others are in a call that needs it. Rank 2 dies, rank 0 waits for it, rank 1 for nobody.
#include "ft.h"

enum { DEAD = 2, LENGTH = 4 << 20 };

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "recv";
    char *buf = get_memory(LENGTH);
    memset(buf, 1, LENGTH);
    int value = 1, in = 0, flag = 0, index = -1, count = -1, code = MPI_SUCCESS, indices[2];
    MPI_Request requests[2];
    MPI_Status status, statuses[2];
    MPI_Message message;
    meet_at(DEAD);
    if (rank == DEAD) {
        sleep_ms(300);
        die();
    }
    if (rank == 0) {
#define IS(word) (strcmp(what, word) == 0)
        if (IS("recv"))
            FAILS(MPI_Recv(&in, 1, MPI_INT, DEAD, 1, MPI_COMM_WORLD, &status), PROC_FAILED);
        else if (IS("recv-long"))
            FAILS(MPI_Recv(buf, LENGTH, MPI_BYTE, DEAD, 1, MPI_COMM_WORLD, &status), PROC_FAILED);
        else if (IS("ssend"))
            FAILS(MPI_Ssend(&value, 1, MPI_INT, DEAD, 1, MPI_COMM_WORLD), PROC_FAILED);
        else if (IS("send-long"))
            FAILS(MPI_Send(buf, LENGTH, MPI_BYTE, DEAD, 1, MPI_COMM_WORLD), PROC_FAILED);
        else if (IS("probe"))
            FAILS(MPI_Probe(DEAD, 1, MPI_COMM_WORLD, &status), PROC_FAILED);
        else if (IS("mprobe"))
            FAILS(MPI_Mprobe(DEAD, 1, MPI_COMM_WORLD, &message, &status), PROC_FAILED);
        else if (IS("wait")) {
            OK(MPI_Irecv(&in, 1, MPI_INT, DEAD, 1, MPI_COMM_WORLD, &requests[0]));
            FAILS(MPI_Wait(&requests[0], &status), PROC_FAILED);
            CHECK(requests[0] == MPI_REQUEST_NULL);
        } else if (IS("test")) {
            OK(MPI_Irecv(&in, 1, MPI_INT, DEAD, 1, MPI_COMM_WORLD, &requests[0]));
            while (!flag && code == MPI_SUCCESS) code = MPI_Test(&requests[0], &flag, &status);
            CHECK_EQ(code, PROC_FAILED);
            CHECK(requests[0] == MPI_REQUEST_NULL);
        } else if (IS("waitany") || IS("waitsome") || IS("waitall")) {
            OK(MPI_Irecv(&in, 1, MPI_INT, DEAD, 1, MPI_COMM_WORLD, &requests[0]));
            OK(MPI_Irecv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[1]));
            if (IS("waitany")) {
                FAILS(MPI_Waitany(2, requests, &index, &status), PROC_FAILED);
                CHECK_EQ(index, 0);
                OK(MPI_Wait(&requests[1], &status));
            } else if (IS("waitsome")) {
                CHECK_CLASS(MPI_Waitsome(2, requests, &count, indices, statuses), MPI_ERR_IN_STATUS);
                CHECK(count == 1 && indices[0] == 0 && statuses[0].MPI_ERROR == PROC_FAILED);
                OK(MPI_Wait(&requests[1], &status));
            } else {
                CHECK_CLASS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
                CHECK_EQ(statuses[0].MPI_ERROR, PROC_FAILED);
                if (statuses[1].MPI_ERROR == MPI_ERR_PENDING) {
                    OK(MPI_Wait(&requests[1], &status));
                } else {
                    CHECK_EQ(statuses[1].MPI_ERROR, MPI_SUCCESS);
                }
            }
            CHECK_EQ(value, 77);
        } else if (IS("sendrecv"))
            FAILS(MPI_Sendrecv(&value, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, DEAD, 1, MPI_COMM_WORLD, &status), PROC_FAILED);
        else if (IS("persistent")) {
            OK(MPI_Recv_init(&in, 1, MPI_INT, DEAD, 1, MPI_COMM_WORLD, &requests[0]));
            OK(MPI_Start(&requests[0]));
            FAILS(MPI_Wait(&requests[0], &status), PROC_FAILED);
            CHECK(requests[0] != MPI_REQUEST_NULL);
            OK(MPI_Request_free(&requests[0]));
        } else if (IS("any"))
            // Rank 1 could still send, but the failed one could have, too.
            FAILS(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status), PROC_FAILED);
        else
            CHECK_FAIL("there is no case %s", what);
        CHECK_EQ(failures(MPI_COMM_WORLD), 1);
        // The library goes on.
        OK(MPI_Send(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD));
    } else {
        await_failures(MPI_COMM_WORLD, 1);
        if (!strncmp(what, "wait", 4) && strlen(what) > 4) {
            sleep_ms(100);
            value = 77;
            OK(MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
        }
        OK(MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &status));
    }
    free(buf);
    return finish();
}
