// ranks: 1 2 3 5 8
// Around a ring, again and again: both sides cut the data as they like, partitions become ready in any order and by all three
// calls, and what was received lies where it should, in a type with gaps, too.
#include "../check.h"

enum { TOTAL = 720, ROUNDS = 20 };

static void mark(MPI_Request r, int partitions, int how) {
    int list[TOTAL];
    switch (how % 4) {
    case 0:
        for (int i = 0; i < partitions; i++) OK(MPI_Pready(i, r));
        break;
    case 1:
        for (int i = partitions - 1; i >= 0; i--) OK(MPI_Pready(i, r));
        break;
    case 2:
        OK(MPI_Pready_range(partitions / 2, partitions - 1, r));
        if (partitions > 1) OK(MPI_Pready_range(0, partitions / 2 - 1, r));
        break;
    default:
        for (int i = 0; i < partitions; i++) list[i] = (i * 7 + 3) % partitions;
        if (partitions % 7) OK(MPI_Pready_list(partitions, list, r));
        else OK(MPI_Pready_range(0, partitions - 1, r));
        OK(MPI_Pready_list(0, list, r));
    }
}

static void around(int out_partitions, int in_partitions, int gaps) {
    static double out[TOTAL], in[2 * TOTAL];
    int next = (rank + 1) % size, before = (rank + size - 1) % size, flag, count;
    MPI_Request r[2];
    MPI_Status status;
    MPI_Datatype type = MPI_DOUBLE;
    if (gaps) {
        OK(MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * sizeof(double), &type));
        OK(MPI_Type_commit(&type));
    }
    OK(MPI_Psend_init(out, out_partitions, TOTAL / out_partitions, MPI_DOUBLE, next, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]));
    OK(MPI_Precv_init(in, in_partitions, TOTAL / in_partitions, type, before, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]));
    OK(MPI_Parrived(r[1], 0, &flag));
    CHECK(flag);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < TOTAL; i++) out[i] = rank * 1e6 + round * 1e3 + i;
        for (int i = 0; i < 2 * TOTAL; i++) in[i] = -1;
        if (round % 2) OK(MPI_Startall(2, r));
        else {
            OK(MPI_Start(&r[1]));
            OK(MPI_Start(&r[0]));
        }
        mark(r[0], out_partitions, round);
        for (int p = 0; p < in_partitions && round % 3; p++)
            for (flag = 0; !flag;) OK(MPI_Parrived(r[1], (p + round) % in_partitions, &flag));
        OK(MPI_Wait(&r[1], &status));
        CHECK_EQ(status.MPI_SOURCE, before);
        CHECK_EQ(status.MPI_TAG, 7);
        OK(MPI_Get_count(&status, MPI_DOUBLE, &count));
        CHECK_EQ(count, TOTAL);
        OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
        CHECK(r[0] != MPI_REQUEST_NULL && r[1] != MPI_REQUEST_NULL);
        for (int i = 0; i < TOTAL; i++) {
            CHECK(in[gaps ? 2 * i : i] == before * 1e6 + round * 1e3 + i);
            if (gaps) CHECK(in[2 * i + 1] == -1);
        }
    }
    OK(MPI_Request_free(&r[0]));
    OK(MPI_Request_free(&r[1]));
    if (gaps) OK(MPI_Type_free(&type));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    static const int cuts[] = {1, 2, 5, 8, 9, 80, 720};
    for (int i = 0; i < 7; i++)
        for (int k = 0; k < 7; k++) around(cuts[i], cuts[k], (i + k) % 2);
    return finish();
}
