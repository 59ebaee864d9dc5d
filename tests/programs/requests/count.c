// ranks: 1 2
// MPI_Get_count and MPI_Get_elements in all widths: whole entries, a message that is no whole number of
// entries, nothing, and types of every size.
#include "../check.h"

static void one(int bytes, MPI_Datatype type, int type_size) {
    static char out[4096], in[4096];
    int right = (rank + 1) % size, left = (rank + size - 1) % size, n = -1;
    MPI_Count c = -1;
    MPI_Request send;
    MPI_Status status;
    MPI_Isend(out, bytes, MPI_BYTE, right, 1, MPI_COMM_WORLD, &send);
    MPI_Recv(in, 4096, MPI_BYTE, left, 1, MPI_COMM_WORLD, &status);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    int expect = bytes % type_size ? MPI_UNDEFINED : bytes / type_size;
    OK(MPI_Get_count(&status, type, &n));
    CHECK_EQ(n, expect);
    OK(MPI_Get_count_c(&status, type, &c));
    CHECK_EQ(c, expect);
    if (expect != MPI_UNDEFINED) {
        OK(MPI_Get_elements(&status, type, &n));
        CHECK_EQ(n, expect);
        OK(MPI_Get_elements_x(&status, type, &c));
        CHECK_EQ(c, expect);
        c = -1;
        OK(MPI_Get_elements_c(&status, type, &c));
        CHECK_EQ(c, expect);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    static const int lengths[] = {0, 1, 2, 3, 4, 7, 8, 12, 16, 40, 48, 64, 1000, 4096};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        one(lengths[i], MPI_BYTE, 1);
        one(lengths[i], MPI_CHAR, 1);
        one(lengths[i], MPI_SHORT, sizeof(short));
        one(lengths[i], MPI_INT, sizeof(int));
        one(lengths[i], MPI_LONG, sizeof(long));
        one(lengths[i], MPI_FLOAT, sizeof(float));
        one(lengths[i], MPI_DOUBLE, sizeof(double));
        one(lengths[i], MPI_LONG_DOUBLE, sizeof(long double));
        one(lengths[i], MPI_C_DOUBLE_COMPLEX, 16);
        one(lengths[i], MPI_AINT, sizeof(MPI_Aint));
        one(lengths[i], MPI_COUNT, sizeof(MPI_Count));
    }
    return finish();
}
