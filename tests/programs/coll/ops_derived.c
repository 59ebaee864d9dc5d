// ranks: 1 2
// Predefined operations on derived types of one predefined type: the data is combined, the gaps stay as they are.
#include "../check.h"

enum { INTS = 400 };

static int in[INTS], inout[INTS], want[INTS];

// Where the elements of `count` of the type are is found by unpacking marks into an empty array.
static void sums(MPI_Datatype type, int count) {
    static int marks[INTS], ones[INTS];
    int bytes, position = 0;
    OK(MPI_Type_commit(&type));
    OK(MPI_Type_size(type, &bytes));
    for (int i = 0; i < INTS; i++) in[i] = 1000 + 3 * i, inout[i] = 7 * i, marks[i] = 0, ones[i] = 1;
    OK(MPI_Unpack(ones, count * bytes, &position, marks, count, type, MPI_COMM_SELF));
    for (int i = 0; i < INTS; i++) want[i] = inout[i] + marks[i] * in[i];
    OK(MPI_Reduce_local(in, inout, count, type, MPI_SUM));
    for (int i = 0; i < INTS; i++)
        if (inout[i] != want[i]) CHECK_FAIL("%d at %d instead of %d", inout[i], i, want[i]);
    OK(MPI_Type_free(&type));
}

static void layouts(void) {
    MPI_Datatype type, inner;
    for (int count = 0; count < 4; count++) {
        OK(MPI_Type_contiguous(7, MPI_INT, &type));
        sums(type, count);
        OK(MPI_Type_vector(5, 3, 4, MPI_INT, &type));
        sums(type, count);
        OK(MPI_Type_vector(30, 1, 2, MPI_INT, &type));
        sums(type, count);
        OK(MPI_Type_indexed(3, (int[]){2, 1, 5}, (int[]){20, 3, 8}, MPI_INT, &type));
        sums(type, count);
        OK(MPI_Type_create_resized(MPI_INT, 0, 12, &inner));
        OK(MPI_Type_contiguous(4, inner, &type));
        OK(MPI_Type_free(&inner));
        sums(type, count);
        OK(MPI_Type_create_subarray(2, (int[]){6, 9}, (int[]){3, 4}, (int[]){2, 1}, MPI_ORDER_C, MPI_INT, &type));
        sums(type, count);
        OK(MPI_Type_dup(MPI_INT, &type));
        sums(type, count);
        OK(MPI_Type_contiguous(0, MPI_INT, &type));
        sums(type, count);
    }
}

// Data at absolute addresses: both buffers are the same MPI_BOTTOM, which is the same memory, so not allowed; one with a
// type that begins somewhere else is.
static void shifted(void) {
    MPI_Datatype type;
    double a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40};
    OK(MPI_Type_create_hindexed(1, (int[]){2}, (MPI_Aint[]){8}, MPI_DOUBLE, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Reduce_local(a, b, 1, type, MPI_PROD));
    CHECK(b[0] == 10 && b[1] == 40 && b[2] == 90 && b[3] == 40);
    OK(MPI_Type_free(&type));
}

// Pairs with gaps inside and behind them.
static void pairs(void) {
    struct pair {
        short value;
        int place;
    } a[6], b[6];
    MPI_Datatype type;
    memset(a, 0x11, sizeof a);
    memset(b, 0x22, sizeof b);
    for (int i = 0; i < 6; i++) a[i].value = (short)i, a[i].place = 1, b[i].value = 2, b[i].place = i % 2 ? 0 : 2;
    OK(MPI_Type_vector(2, 1, 2, MPI_SHORT_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Reduce_local(a, b, 2, type, MPI_MAXLOC));
    // Elements 0, 2, 3 and 5 take part.
    int value[6] = {2, 2, 2, 3, 2, 5}, place[6] = {2, 0, 1, 1, 2, 1};
    for (int i = 0; i < 6; i++) {
        CHECK_EQ(b[i].value, value[i]);
        CHECK_EQ(b[i].place, place[i]);
        CHECK_BYTES((char *)&b[i] + 2, 2, 0x22);
    }
    OK(MPI_Type_free(&type));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    layouts();
    shifted();
    pairs();
    return finish();
}
