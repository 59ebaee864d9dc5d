// ranks: 2 3
// no-check: measures memory
// timeout: 120
// cflags: -O2
// The memory of a receiver that is slower than its senders is bounded: the senders are slowed down.
// Two GiB of small messages come in all while the receiver's memory stays small.
#include "../check.h"

enum { LARGEST = 8192, LIMIT_KIB = 128 * 1024 };

static void send_many(int n, int bytes, char *buf) {
    for (int i = 0; i < n; i++) {
        memcpy(buf, &i, sizeof i);
        MPI_Send(buf, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

static void receive_many(int n, int bytes, char *buf, long before) {
    int next[8] = {0};
    for (int i = 0; i < n * (size - 1); i++) {
        MPI_Status status;
        int number = -1, flag = -1;
        if (i % 20000 == 0) {
            sleep_ms(20);
            // Looking for something else draws in what waits: that has to have a limit too.
            for (int k = 0; k < 100; k++) MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            CHECK_EQ(flag, 0);
            long now = resident_kib();
            if (now - before > LIMIT_KIB) CHECK_FAIL("resident memory grew by %ld KiB", now - before);
        }
        MPI_Recv(buf, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        memcpy(&number, buf, sizeof number);
        if (number != next[status.MPI_SOURCE]) CHECK_EQ(number, next[status.MPI_SOURCE]);
        next[status.MPI_SOURCE]++;
    }
    (void)bytes;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    char *buf = get_memory(LARGEST);
    memset(buf, 0, LARGEST);
    long before = resident_kib();
    static const int bytes[] = {64, 1024, 4000, 8192};
    for (int i = 0; i < 4; i++) {
        int n = (int)((512l << 20) / bytes[i] / (size - 1));
        if (n > 500000) n = 500000;
        if (rank == 0)
            receive_many(n, bytes[i], buf, before);
        else
            send_many(n, bytes[i], buf);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(buf);
    return finish();
}
