// ranks: 1 2
// MPI_Dims_create: balanced, in order, with given dimensions; what cannot be done is an error and changes nothing.
#include "../check.h"

// The least largest factor that a product of n factors of a number can have, by trying everything.
static int least_largest(int number, int n) {
    if (n == 1) return number;
    int best = number;
    for (int d = 1; d <= number; d++)
        if (number % d == 0) {
            int rest = least_largest(number / d, n - 1), largest = d > rest ? d : rest;
            if (largest < best) best = largest;
        }
    return best;
}

static void balanced(void) {
    for (int nodes = 1; nodes <= 96; nodes++)
        for (int n = 1; n <= 4; n++) {
            int dims[5] = {0, 0, 0, 0, -7}, product = 1;
            dims[n] = -7;
            OK(MPI_Dims_create(nodes, n, dims));
            for (int i = 0; i < n; i++) {
                product *= dims[i];
                if (i > 0) CHECK(dims[i] <= dims[i - 1]);
            }
            CHECK_EQ(product, nodes);
            CHECK_EQ(dims[n], -7);
            CHECK_EQ(dims[0], least_largest(nodes, n));
        }
}

static void one(int nodes, int n, int a, int b, int c, int ra, int rb, int rc) {
    int dims[3] = {a, b, c};
    OK(MPI_Dims_create(nodes, n, dims));
    CHECK_EQ(dims[0], ra);
    CHECK_EQ(dims[1], rb);
    CHECK_EQ(dims[2], rc);
}

static void refused(int nodes, int n, int a, int b, int c, int class) {
    int dims[3] = {a, b, c};
    CHECK_ERROR(MPI_Dims_create(nodes, n, dims), class, "MPI_Dims_create");
    CHECK_EQ(dims[0], a);
    CHECK_EQ(dims[1], b);
    CHECK_EQ(dims[2], c);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    balanced();
    one(6, 2, 0, 0, 9, 3, 2, 9);
    one(7, 2, 0, 0, 9, 7, 1, 9);
    one(6, 3, 0, 3, 0, 2, 3, 1);
    one(24, 3, 0, 2, 0, 4, 2, 3);
    one(36, 3, 0, 0, 4, 3, 3, 4);
    one(8, 3, 2, 2, 2, 2, 2, 2);
    one(1, 3, 0, 0, 0, 1, 1, 1);
    one(INT_MAX, 3, 0, 0, 0, INT_MAX, 1, 1);
    one(1 << 30, 3, 0, 0, 0, 1024, 1024, 1024);
    one(1, 0, 5, 6, 7, 5, 6, 7);
    OK(MPI_Dims_create(1, 0, NULL));
    refused(7, 3, 0, 3, 0, MPI_ERR_DIMS);
    refused(8, 2, 2, 2, 0, MPI_ERR_DIMS);
    refused(8, 2, 0, -1, 0, MPI_ERR_DIMS);
    refused(8, 2, -2, -4, 0, MPI_ERR_DIMS);
    refused(4, 2, 8, 0, 0, MPI_ERR_DIMS);
    refused(2, 0, 0, 0, 0, MPI_ERR_DIMS);
    refused(2, -1, 0, 0, 0, MPI_ERR_DIMS);
    refused(0, 2, 0, 0, 0, MPI_ERR_ARG);
    refused(-6, 2, 0, 0, 0, MPI_ERR_ARG);
    CHECK_ERROR(MPI_Dims_create(4, 2, NULL), MPI_ERR_ARG, "MPI_Dims_create");
    return finish();
}
