// ranks: 1 2 3 8
// MPI_BUFFER_AUTOMATIC at the process's and at a communicator's level: any amount can be sent before it
// is received, detach and flush wait, detach gives the constant back and switches it off.
#include "../check.h"

static int right, left;
enum { N = 100, SMALL = 1000, LARGE = 300000 };

static int length_of(int i) { return i % 10 ? SMALL : LARGE; }

static void send_and_receive(void) {
    char *out = get_memory(LARGE), *in = get_memory(LARGE);
    for (int i = 0; i < N; i++) {
        fill(out, length_of(i), rank + i);
        OK(MPI_Bsend(out, length_of(i), MPI_BYTE, right, 1, MPI_COMM_WORLD));
        memset(out, 0, length_of(i));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) {
        MPI_Recv(in, LARGE, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_PATTERN(in, length_of(i), left + i);
    }
    free(out);
    free(in);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    char byte = 0, room[100];
    void *got = NULL;
    int n;
    MPI_Count c;
    CHECK_CLASS(MPI_Bsend(&byte, 1, MPI_BYTE, right, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
    CHECK_CLASS(MPI_Buffer_attach(room, 100), MPI_ERR_BUFFER); // one at a level
    send_and_receive();
    OK(MPI_Buffer_flush());
    send_and_receive();
    OK(MPI_Buffer_detach(&got, &n));
    CHECK(got == MPI_BUFFER_AUTOMATIC);
    CHECK_CLASS(MPI_Bsend(&byte, 1, MPI_BYTE, right, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    OK(MPI_Comm_attach_buffer(MPI_COMM_WORLD, MPI_BUFFER_AUTOMATIC, -1)); // the size does not matter
    CHECK_CLASS(MPI_Bsend(&byte, 1, MPI_BYTE, 0, 1, MPI_COMM_SELF), MPI_ERR_BUFFER);
    send_and_receive();
    OK(MPI_Comm_flush_buffer(MPI_COMM_WORLD));
    OK(MPI_Comm_detach_buffer_c(MPI_COMM_WORLD, &got, &c));
    CHECK(got == MPI_BUFFER_AUTOMATIC);
    CHECK_CLASS(MPI_Bsend(&byte, 1, MPI_BYTE, right, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    return finish();
}
