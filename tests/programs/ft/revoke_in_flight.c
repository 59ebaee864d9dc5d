// ranks: 2 4 8
// sleeps: each case waits until a death is noticed
// launch: --with-ft ulfm
// A sender revokes the communicator when the receiver has asked for the bytes of its long message, and the sender has not read
// that yet. Both get REVOKED, nobody waits for the bytes, and the two go on with each other.
#include "ft.h"

enum { LENGTH = 3 << 20 };

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    int half = size / 2, other = (rank + half) % size;
    unsigned char *buf = get_memory(LENGTH);
    for (int turn = 0; turn < 4; turn++) {
        MPI_Comm comm;
        MPI_Request request;
        int flag = 0, got = -1, code = MPI_SUCCESS;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        memset(buf, rank, LENGTH);
        OK(MPI_Barrier(comm));
        if (rank < half) {
            OK(MPI_Isend(buf, LENGTH, MPI_BYTE, other, 1, comm, &request));
            sleep_ms(300);
            OK(MPIX_Comm_revoke(comm));
        } else {
            OK(MPI_Irecv(buf, LENGTH, MPI_BYTE, other, 1, comm, &request));
            for (int i = 0; i < 100 && !flag && code == MPI_SUCCESS; i++) {
                code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
                sleep_ms(1);
            }
        }
        // Where both can copy, the receiver may have got it all.
        if (!flag && code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS && code != REVOKED) CHECK_FAIL("%d: %s", code, check_text(code));
        OK(MPI_Sendrecv(&rank, 1, MPI_INT, other, 2, &got, 1, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQ(got, other);
        OK(MPI_Comm_free(&comm));
    }
    free(buf);
    return finish();
}
