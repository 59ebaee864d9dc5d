// ranks: 1 3
// no-check: measures memory; what was found is remembered by line
// User-defined operations: the arguments of their functions, in which pieces, and their lifetime.
#include "../check.h"
#include <sys/mman.h>

static int calls, last_length;
static MPI_Datatype last_type;
static long long total;
static char *first_in, *first_inout;

// In times 10 plus inout: the order of the operands shows.
static void append(void *in, void *inout, int *length, MPI_Datatype *datatype) {
    calls++, last_length = *length, last_type = *datatype;
    for (int i = 0; i < *length; i++) ((int *)inout)[i] += 10 * ((int *)in)[i];
}

static void append_c(void *in, void *inout, MPI_Count *length, MPI_Datatype *datatype) {
    calls++, last_length = (int)*length, last_type = *datatype;
    for (MPI_Count i = 0; i < *length; i++) ((int *)inout)[i] += 100 * ((int *)in)[i];
}

static void values(MPI_Op op, int factor) {
    int in[5] = {1, 2, 3, 4, 5}, inout[6] = {6, 7, 8, 9, 10, 11};
    calls = 0;
    OK(MPI_Reduce_local(in, inout, 5, MPI_INT, op));
    for (int i = 0; i < 5; i++) CHECK_EQ(inout[i], factor * (i + 1) + i + 6);
    CHECK_EQ(inout[5], 11);
    CHECK_EQ(calls, 1);
    CHECK_EQ(last_length, 5);
    CHECK(last_type == MPI_INT);
    OK(MPI_Reduce_local_c(in, inout, 2, MPI_INT, op));
    CHECK_EQ(inout[1], 2 * factor * 2 + 7);
    CHECK_EQ(inout[2], 3 * factor + 8);
    CHECK_EQ(calls, 2);
    OK(MPI_Reduce_local(in, inout, 0, MPI_INT, op));
    OK(MPI_Reduce_local(NULL, NULL, 0, MPI_INT, op));
    CHECK_EQ(calls, 2);
}

// The function gets the very handle of the call, and elements where the type has them.
static void add_every_second(void *in, void *inout, int *length, MPI_Datatype *datatype) {
    calls++, last_length = *length, last_type = *datatype;
    MPI_Aint lb, extent;
    OK(MPI_Type_get_extent(*datatype, &lb, &extent));
    for (int i = 0; i < *length; i++)
        for (int k = 0; k < 3; k += 2)
            ((int *)((char *)inout + i * extent))[k] += ((int *)((char *)in + i * extent))[k];
}

static void derived(void) {
    MPI_Datatype type;
    MPI_Op op;
    int in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, inout[8] = {10, 20, 30, 40, 50, 60, 70, 80};
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Op_create(add_every_second, 1, &op));
    OK(MPI_Reduce_local(in, inout, 2, type, op));
    CHECK(last_type == type);
    CHECK_EQ(last_length, 2);
    int want[8] = {11, 20, 33, 44, 50, 66, 70, 80};
    for (int i = 0; i < 8; i++) CHECK_EQ(inout[i], want[i]);
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&type));
}

static void add_up(void *in, void *inout, int *length, MPI_Datatype *datatype) {
    (void)datatype;
    if (calls++ == 0) first_in = in, first_inout = inout;
    CHECK(*length > 0);
    CHECK_EQ((char *)in - first_in, total);
    CHECK_EQ((char *)inout - first_inout, total);
    total += *length;
}

static void add_up_c(void *in, void *inout, MPI_Count *length, MPI_Datatype *datatype) {
    (void)in, (void)inout, (void)datatype;
    calls++;
    total += *length;
}

// More elements than an int can count: the int form is called several times, the other once. Nothing is touched.
static void many(void) {
    MPI_Op op, op_c;
    MPI_Count n = 2 * (MPI_Count)INT_MAX + 5;
    char *memory = mmap(NULL, 2 * (size_t)n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED);
    OK(MPI_Op_create(add_up, 1, &op));
    OK(MPI_Op_create_c(add_up_c, 1, &op_c));
    calls = 0, total = 0;
    OK(MPI_Reduce_local_c(memory, memory + n, n, MPI_BYTE, op));
    CHECK_EQ(calls, 3);
    CHECK_EQ(total, n);
    CHECK(first_in == memory && first_inout == memory + n);
    calls = 0, total = 0;
    OK(MPI_Reduce_local_c(memory, memory + n, n, MPI_BYTE, op_c));
    CHECK_EQ(calls, 1);
    CHECK_EQ(total, n);
    OK(MPI_Op_free(&op));
    OK(MPI_Op_free(&op_c));
    munmap(memory, 2 * (size_t)n);
}

static void commutative(void) {
    const MPI_Op predefined[] = {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND, MPI_BAND, MPI_LOR,
                                 MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
    int commute;
    for (size_t i = 0; i < sizeof predefined / sizeof *predefined; i++) {
        commute = -1;
        OK(MPI_Op_commutative(predefined[i], &commute));
        CHECK_EQ(commute, 1);
        CHECK(MPI_Op_fromint(MPI_Op_toint(predefined[i])) == predefined[i]);
    }
    for (int yes = 0; yes < 2; yes++) {
        MPI_Op op, op_c;
        OK(MPI_Op_create(append, yes, &op));
        OK(MPI_Op_create_c(append_c, 5 * yes, &op_c));
        OK(MPI_Op_commutative(op, &commute));
        CHECK_EQ(commute, yes);
        OK(MPI_Op_commutative(op_c, &commute));
        CHECK_EQ(commute, yes);
        values(op, 10);
        values(op_c, 100);
        CHECK(MPI_Op_fromint(MPI_Op_toint(op)) == op && MPI_Op_f2c(MPI_Op_c2f(op_c)) == op_c);
        OK(MPI_Op_free(&op));
        OK(MPI_Op_free(&op_c));
        CHECK(op == MPI_OP_NULL && op_c == MPI_OP_NULL);
    }
}

// Made and freed a hundred thousand times, none is left.
static void forget(void) {
    long before = 0;
    for (int i = 0; i < 100000; i++) {
        MPI_Op op;
        OK(MPI_Op_create(append, 0, &op));
        OK(MPI_Op_free(&op));
        if (i == 1000) before = resident_kib();
    }
    CHECK(resident_kib() - before < 1024);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    commutative();
    derived();
    many();
    forget();
    return finish();
}
