// ranks: 1 2 3 4 7 8
// expect-stdout: all callbacks ran
// MPI_Finalize first deletes the attributes of MPI_COMM_SELF, the last one set first, while MPI
// still works; those of MPI_COMM_WORLD do not serve as exit functions.
#include "../check.h"

static int order[8], calls;

static int at_exit(MPI_Comm comm, int key, void *value, void *extra) {
    int number = *(int *)value, finalized = -1, initialized = -1, got = -1;
    (void)key, (void)extra;
    CHECK(comm == MPI_COMM_SELF);
    order[calls++] = number;
    OK(MPI_Finalized(&finalized));
    CHECK_EQ(finalized, 0);
    OK(MPI_Initialized(&initialized));
    CHECK_EQ(initialized, 1);
    // A message to each neighbour, from inside MPI_Finalize.
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, number, &got, 1, MPI_INT, (rank + size - 1) % size, number,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(got, (rank + size - 1) % size);
    return MPI_SUCCESS;
}

static int sets_another(MPI_Comm comm, int key, void *value, void *extra) {
    static int four = 4;
    (void)key;
    order[calls++] = *(int *)value;
    OK(MPI_Comm_set_attr(comm, *(int *)extra, &four));
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    static int one = 1, two = 2, three = 3;
    static int key_a, key_b, key_c;
    start(&argc, &argv);
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_exit, &key_a, NULL));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_exit, &key_b, NULL));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, sets_another, &key_c, &key_b));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key_b, &two));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key_a, &one));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key_c, &three));
    MPI_Finalize();
    // What a callback sets on the way is deleted too: here anew for key_b, whose old value went with that.
    CHECK_EQ(calls, 4);
    CHECK_EQ(order[0], 3);
    CHECK_EQ(order[1], 2);
    CHECK_EQ(order[2], 4);
    CHECK_EQ(order[3], 1);
    if (rank == 0) puts("all callbacks ran");
    return 0;
}
