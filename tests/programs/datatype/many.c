// ranks: 1
// attempts: 3
// A million irregular blocks commit in a second and pack right; a million small types leave nothing behind.
#include "layout.h"

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void irregular(void) {
    enum { N = 1000000 };
    int *lens = get_memory(N * sizeof *lens), *disps = get_memory(N * sizeof *disps), at = 0;
    for (int i = 0; i < N; i++) {
        lens[i] = 1 + (i * 7) % 3;
        disps[i] = at;
        at += lens[i] + 1 + (i * 5) % 4;
    }
    MPI_Datatype t;
    long before_kib = resident_kib();
    double before = seconds();
    OK(MPI_Type_indexed(N, lens, disps, MPI_DOUBLE, &t));
    OK(MPI_Type_commit(&t));
    double took = seconds() - before;
    if (took > 1) CHECK_FAIL("a type of %d blocks took %.2f s", N, took);
    CHECK(resident_kib() - before_kib < N / 1024 * 128);
    int bytes, position = 0;
    OK(MPI_Type_size(t, &bytes));
    double *from = get_memory((size_t)at * sizeof *from), *packed = get_memory((size_t)bytes);
    for (int i = 0; i < at; i++) from[i] = i;
    OK(MPI_Pack(from, 1, t, packed, bytes, &position, MPI_COMM_SELF));
    double *next = packed;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < lens[i]; j++, next++)
            if (*next != disps[i] + j) CHECK_FAIL("block %d is wrong", i);
    OK(MPI_Type_free(&t));
    free(lens);
    free(disps);
    free(from);
    free(packed);
}

static void small(int n) {
    for (int i = 0; i < n; i++) {
        MPI_Datatype a, b, c;
        int lens[] = {1, 2};
        MPI_Aint disps[] = {0, 64};
        OK(MPI_Type_vector(3, 1, 2 + i % 5, MPI_INT, &a));
        MPI_Datatype members[] = {MPI_DOUBLE, a};
        OK(MPI_Type_create_struct(2, lens, disps, members, &b));
        OK(MPI_Type_commit(&b));
        OK(MPI_Type_dup(b, &c));
        OK(MPI_Type_set_name(c, "a name"));
        OK(MPI_Type_free(&a));
        OK(MPI_Type_free(&b));
        OK(MPI_Type_free(&c));
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    irregular();
    small(20000);
    long before = resident_kib();
    small(1000000);
    long grown = resident_kib() - before;
    if (grown > 1024) CHECK_FAIL("a million types grew the process by %ld KiB", grown);
    return finish();
}
