// ranks: 1 2 3 4 7 8 12 24
// Parts of a grid: every choice of dimensions, and parts of parts.
#include "../check.h"

static void part(MPI_Comm cart, int n, const int *dims, const int *periods, const int *coords, int kept) {
    int remain[3], sub_dims[3], sub_periods[3], sub_coords[3], count, own, members, at = 0, total = 1;
    MPI_Comm sub, none;
    for (int i = 0; i < n; i++) remain[i] = (kept >> i & 1) * 5;
    OK(MPI_Cart_sub(cart, remain, &sub));
    OK(MPI_Topo_test(sub, &count));
    CHECK_EQ(count, MPI_CART);
    OK(MPI_Cartdim_get(sub, &count));
    OK(MPI_Cart_get(sub, 3, sub_dims, sub_periods, sub_coords));
    for (int i = 0; i < n; i++) {
        if (!remain[i]) continue;
        CHECK_EQ(sub_dims[at], dims[i]);
        CHECK_EQ(sub_periods[at], periods[i]);
        CHECK_EQ(sub_coords[at], coords[i]);
        total *= dims[i];
        at++;
    }
    CHECK_EQ(count, at);
    OK(MPI_Comm_size(sub, &members));
    CHECK_EQ(members, total);
    // Its members: the processes that differ in the kept dimensions only.
    OK(MPI_Comm_rank(sub, &own));
    for (int step = 0; step < members; step++) {
        int to = (own + step) % members, from = (own + members - step) % members, theirs[3] = {0};
        OK(MPI_Sendrecv(coords, n, MPI_INT, to, 1, theirs, n, MPI_INT, from, 1, sub, MPI_STATUS_IGNORE));
        int index = 0;
        for (int i = 0; i < n; i++) {
            if (!remain[i]) CHECK_EQ(theirs[i], coords[i]);
            if (remain[i]) index = index * dims[i] + theirs[i];
        }
        CHECK_EQ(index, from);
    }
    int nothing[3] = {0};
    OK(MPI_Cart_sub(sub, nothing, &none));
    OK(MPI_Comm_size(none, &members));
    CHECK_EQ(members, 1);
    OK(MPI_Cartdim_get(none, &count));
    CHECK_EQ(count, 0);
    OK(MPI_Comm_free(&none));
    OK(MPI_Comm_free(&sub));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    for (int n = 1; n <= 3; n++) {
        int dims[3] = {0}, periods[3] = {1, 0, 1}, coords[3];
        MPI_Comm cart;
        OK(MPI_Dims_create(size, n, dims));
        OK(MPI_Cart_create(MPI_COMM_WORLD, n, dims, periods, 1, &cart));
        OK(MPI_Cart_get(cart, n, dims, periods, coords));
        for (int kept = 0; kept < 1 << n; kept++) part(cart, n, dims, periods, coords, kept);
        OK(MPI_Comm_free(&cart));
    }
    return finish();
}
