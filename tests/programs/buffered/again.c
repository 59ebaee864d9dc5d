// ranks: 2 3
// timeout: 30
// The space of messages that have been sent is reused, although only the sender's next buffered
// send looks for it: long and short messages, blocking, nonblocking and persistent, the whole
// buffer each time.
#include "../check.h"

enum { MESSAGES = 40, TIMES = 4 };

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    static const int lengths[] = {8, 3000, 100000, 1 << 20};
    for (int way = 0; way < 3; way++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            const int n = lengths[l], room = MESSAGES * (n + MPI_BSEND_OVERHEAD);
            char *data = get_memory((size_t)n), *buffer = rank == 0 ? get_memory((size_t)room) : NULL;
            MPI_Request request = MPI_REQUEST_NULL;
            if (rank == 0) {
                fill(data, (size_t)n, (unsigned)n);
                OK(MPI_Buffer_attach(buffer, room));
                if (way == 2) OK(MPI_Bsend_init(data, n, MPI_BYTE, size - 1, 3, MPI_COMM_WORLD, &request));
            }
            for (int time = 0; time < TIMES; time++) {
                for (int i = 0; i < MESSAGES; i++) {
                    if (rank == 0) {
                        if (way == 0) OK(MPI_Bsend(data, n, MPI_BYTE, size - 1, 3, MPI_COMM_WORLD));
                        if (way == 1) OK(MPI_Ibsend(data, n, MPI_BYTE, size - 1, 3, MPI_COMM_WORLD, &request));
                        if (way == 2) OK(MPI_Start(&request));
                        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
                    } else if (rank == size - 1) {
                        memset(data, 0, (size_t)n);
                        OK(MPI_Recv(data, n, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                        CHECK_PATTERN(data, n, n);
                    }
                }
                MPI_Barrier(MPI_COMM_WORLD);
            }
            if (rank == 0) {
                if (way == 2) MPI_Request_free(&request);
                OK(MPI_Buffer_detach(&buffer, &(int){0}));
            }
            free(buffer);
            free(data);
        }
    MPI_Finalize();
    return 0;
}
