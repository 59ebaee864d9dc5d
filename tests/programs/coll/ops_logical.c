// ranks: 1
// Fortran LOGICALs of a compiler with its own truth values: results are values that the compiler
// knows.
#include "../check.h"

static void table(int yes, int no) {
    const int a[4] = {no, no, yes, yes}, b[4] = {no, yes, no, yes};
    const MPI_Op ops[3] = {MPI_LAND, MPI_LOR, MPI_LXOR};
    const int want[3][4] = {{no, no, no, yes}, {no, yes, yes, yes}, {no, yes, yes, no}};
    for (int o = 0; o < 3; o++) {
        int c[4];
        memcpy(c, b, sizeof c);
        OK(MPI_Reduce_local(a, c, 4, MPI_LOGICAL, ops[o]));
        for (int i = 0; i < 4; i++) CHECK_EQ(c[i], want[o][i]);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    table(1, 0);
    table(-1, 0);
    int yes = 3, no = -5, set = 1;
    int64_t a[4] = {-5, -5, 3, 3}, b[4] = {-5, 3, -5, 3};
    OK(MPI_Abi_get_fortran_booleans(4, &yes, &no, &set));
    if (!set) {
        OK(MPI_Abi_set_fortran_booleans(4, &yes, &no));
        table(3, -5);
        OK(MPI_Reduce_local(a, b, 4, MPI_LOGICAL8, MPI_LXOR));
        CHECK(b[0] == -5 && b[1] == 3 && b[2] == 3 && b[3] == -5);
    }
    return finish();
}
