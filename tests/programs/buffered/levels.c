// ranks: 1 2 3
// The communicator's own buffer goes before the process's; each is attached, detached and flushed by
// itself, and they do not lend each other room.
#include "../check.h"

static int right, left;

// The smaller buffer decides: which one a communicator uses shows in what fits.
static void which(void) {
    enum { N = 50000 };
    static char process_room[N / 2], world_room[N + MPI_BSEND_OVERHEAD], self_room[N / 4];
    char *out = get_memory(N), *in = get_memory(N), *got = NULL;
    int n = -1;
    fill(out, N, rank);
    OK(MPI_Buffer_attach(process_room, sizeof process_room));
    CHECK_CLASS(MPI_Bsend(out, N, MPI_BYTE, right, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    OK(MPI_Comm_attach_buffer(MPI_COMM_WORLD, world_room, sizeof world_room));
    OK(MPI_Bsend(out, N, MPI_BYTE, right, 1, MPI_COMM_WORLD));
    CHECK_CLASS(MPI_Bsend(out, N, MPI_BYTE, 0, 1, MPI_COMM_SELF), MPI_ERR_BUFFER);
    // A smaller one at the communicator's level hides the larger one of the process.
    OK(MPI_Comm_attach_buffer(MPI_COMM_SELF, self_room, sizeof self_room));
    CHECK_CLASS(MPI_Bsend(out, N / 3, MPI_BYTE, 0, 1, MPI_COMM_SELF), MPI_ERR_BUFFER);
    OK(MPI_Comm_detach_buffer(MPI_COMM_SELF, &got, &n));
    CHECK(got == self_room);
    CHECK_EQ(n, (int)sizeof self_room);
    OK(MPI_Bsend(out, N / 3, MPI_BYTE, 0, 1, MPI_COMM_SELF)); // now the process's again
    MPI_Recv(in, N, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    CHECK_PATTERN(in, N / 3, rank);
    MPI_Recv(in, N, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_PATTERN(in, N, left);
    OK(MPI_Comm_detach_buffer(MPI_COMM_WORLD, &got, &n));
    CHECK(got == world_room);
    CHECK_EQ(n, (int)sizeof world_room);
    OK(MPI_Buffer_detach(&got, &n));
    CHECK(got == process_room);
    free(out);
    free(in);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void misuse(void) {
    static char a[1000], b[1000];
    char *got = NULL;
    int n = -1;
    CHECK_ERROR(MPI_Comm_detach_buffer(MPI_COMM_WORLD, &got, &n), MPI_ERR_BUFFER, "MPI_Comm_detach_buffer");
    CHECK_ERROR(MPI_Comm_flush_buffer(MPI_COMM_WORLD), MPI_ERR_BUFFER, "MPI_Comm_flush_buffer");
    OK(MPI_Comm_attach_buffer(MPI_COMM_WORLD, a, 1000));
    CHECK_ERROR(MPI_Comm_attach_buffer(MPI_COMM_WORLD, b, 1000), MPI_ERR_BUFFER, "MPI_Comm_attach_buffer");
    OK(MPI_Comm_attach_buffer_c(MPI_COMM_SELF, b, 1000)); // another communicator: no conflict
    MPI_Count c = -1;
    OK(MPI_Comm_detach_buffer_c(MPI_COMM_SELF, &got, &c));
    CHECK_EQ(c, 1000);
    CHECK(got == b);
    OK(MPI_Comm_detach_buffer(MPI_COMM_WORLD, &got, &n));
    CHECK_ERROR(MPI_Comm_detach_buffer(MPI_COMM_WORLD, &got, &n), MPI_ERR_BUFFER, "MPI_Comm_detach_buffer");
    CHECK_ERROR(MPI_Buffer_detach(&got, &n), MPI_ERR_BUFFER, "MPI_Buffer_detach");
    CHECK_ERROR(MPI_Buffer_flush(), MPI_ERR_BUFFER, "MPI_Buffer_flush");
    MPI_Request r;
    CHECK_ERROR(MPI_Buffer_iflush(&r), MPI_ERR_BUFFER, "MPI_Buffer_iflush");
    CHECK_ERROR(MPI_Comm_iflush_buffer(MPI_COMM_WORLD, &r), MPI_ERR_BUFFER, "MPI_Comm_iflush_buffer");
    OK(MPI_Buffer_attach(a, 1000));
    CHECK_ERROR(MPI_Buffer_attach(b, 1000), MPI_ERR_BUFFER, "MPI_Buffer_attach");
    OK(MPI_Buffer_detach(&got, &n));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    which();
    misuse();
    return finish();
}
