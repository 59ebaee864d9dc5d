// ranks: 1 2 3 4 7 8 12 24
// Cartesian grids: their places, their shifts, surplus processes, duplicates, and messages along a dimension.
#include "../check.h"

// A grid of n dimensions that covers all processes, checked from every side.
static void grid(int n, int periodic, int reorder) {
    int dims[6] = {0}, periods[6], coords[6], got_dims[6], got_periods[6], own, count, status;
    MPI_Comm cart;
    OK(MPI_Dims_create(size, n, dims));
    for (int i = 0; i < n; i++) periods[i] = (periodic >> i & 1) * 17;
    OK(MPI_Cart_create(MPI_COMM_WORLD, n, dims, periods, reorder, &cart));
    OK(MPI_Comm_size(cart, &count));
    CHECK_EQ(count, size);
    OK(MPI_Comm_rank(cart, &own));
    if (!reorder) CHECK_EQ(own, rank);
    OK(MPI_Topo_test(cart, &status));
    CHECK_EQ(status, MPI_CART);
    OK(MPI_Cartdim_get(cart, &count));
    CHECK_EQ(count, n);
    memset(got_dims, 77, sizeof got_dims);
    OK(MPI_Cart_get(cart, n, got_dims, got_periods, coords));
    int expected = 0, left = own;
    for (int i = 0; i < n; i++) {
        CHECK_EQ(got_dims[i], dims[i]);
        CHECK_EQ(got_periods[i], periods[i] != 0);
        expected = expected * dims[i] + coords[i];
    }
    CHECK_EQ(expected, own);
    CHECK_BYTES(&got_dims[n], sizeof(int), 77);
    // Row-major, there and back, with more room than needed.
    for (int r = 0; r < size; r++) {
        int at[7] = {0}, back = -1;
        at[n] = 99;
        OK(MPI_Cart_coords(cart, r, 7, at));
        CHECK_EQ(at[n], 99);
        left = r;
        for (int i = n - 1; i >= 0; i--) {
            CHECK_EQ(at[i], left % dims[i]);
            left /= dims[i];
        }
        OK(MPI_Cart_rank(cart, at, &back));
        CHECK_EQ(back, r);
        for (int i = 0; i < n; i++) {
            if (!periods[i]) continue;
            at[i] += 3 * dims[i];
            OK(MPI_Cart_rank(cart, at, &back));
            CHECK_EQ(back, r);
            at[i] -= 5 * dims[i];
            OK(MPI_Cart_rank(cart, at, &back));
            CHECK_EQ(back, r);
        }
    }
    // Shifts, and that messages follow them.
    for (int d = 0; d < n; d++)
        for (int step = -3; step <= 3; step++) {
            int source = -9, dest = -9, to[6], got = -1;
            OK(MPI_Cart_shift(cart, d, step, &source, &dest));
            for (int back = 0; back < 2; back++) {
                int found = back ? source : dest, wanted = MPI_PROC_NULL;
                memcpy(to, coords, sizeof to);
                to[d] += back ? -step : step;
                if (periods[d] || (to[d] >= 0 && to[d] < dims[d])) OK(MPI_Cart_rank(cart, to, &wanted));
                CHECK_EQ(found, wanted);
            }
            OK(MPI_Sendrecv(&own, 1, MPI_INT, dest, d, &got, 1, MPI_INT, source, d, cart, MPI_STATUS_IGNORE));
            CHECK_EQ(got, source == MPI_PROC_NULL ? -1 : source);
        }
    // A duplicate has the topology, and keeps it when the original is gone; what is made from the group does not.
    MPI_Comm twin, later, part;
    MPI_Request request;
    OK(MPI_Comm_dup(cart, &twin));
    OK(MPI_Comm_idup(cart, &later, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_split(cart, 0, 0, &part));
    OK(MPI_Topo_test(part, &status));
    CHECK_EQ(status, MPI_UNDEFINED);
    OK(MPI_Comm_free(&part));
    OK(MPI_Comm_free(&cart));
    MPI_Comm copies[2] = {twin, later};
    for (int i = 0; i < 2; i++) {
        int at[6];
        OK(MPI_Cart_get(copies[i], n, got_dims, got_periods, at));
        CHECK(memcmp(got_dims, dims, (size_t)n * sizeof(int)) == 0);
        CHECK(memcmp(at, coords, (size_t)n * sizeof(int)) == 0);
        OK(MPI_Barrier(copies[i]));
        OK(MPI_Comm_free(&copies[i]));
    }
}

// Processes that have no place get no communicator.
static void surplus(MPI_Comm from, int own, int total) {
    for (int used = 1; used <= total; used++) {
        MPI_Comm cart = MPI_COMM_WORLD;
        int dims[2] = {1, used}, periods[2] = {1, 0}, r = -1, n = -1, mapped = -7;
        OK(MPI_Cart_map(from, 2, dims, periods, &mapped));
        OK(MPI_Cart_create(from, 2, dims, periods, 0, &cart));
        CHECK_EQ(mapped, own < used ? own : MPI_UNDEFINED);
        CHECK_EQ(cart == MPI_COMM_NULL, own >= used);
        if (cart == MPI_COMM_NULL) continue;
        OK(MPI_Comm_rank(cart, &r));
        OK(MPI_Comm_size(cart, &n));
        CHECK_EQ(r, own);
        CHECK_EQ(n, used);
        OK(MPI_Barrier(cart));
        OK(MPI_Comm_free(&cart));
    }
}

// A grid without dimensions has one process.
static void no_dimensions(void) {
    MPI_Comm cart = MPI_COMM_WORLD, sub;
    int n = -1, a = 5, b = 6, c = 7, mapped = -7;
    OK(MPI_Cart_map(MPI_COMM_WORLD, 0, NULL, NULL, &mapped));
    CHECK_EQ(mapped, rank == 0 ? 0 : MPI_UNDEFINED);
    OK(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 1, &cart));
    CHECK_EQ(cart == MPI_COMM_NULL, rank != 0);
    if (rank != 0) return;
    OK(MPI_Comm_size(cart, &n));
    CHECK_EQ(n, 1);
    OK(MPI_Topo_test(cart, &n));
    CHECK_EQ(n, MPI_CART);
    OK(MPI_Cartdim_get(cart, &n));
    CHECK_EQ(n, 0);
    OK(MPI_Cart_get(cart, 0, &a, &b, &c));
    OK(MPI_Cart_get(cart, 0, NULL, NULL, NULL));
    OK(MPI_Cart_coords(cart, 0, 0, &a));
    CHECK(a == 5 && b == 6 && c == 7);
    OK(MPI_Cart_rank(cart, NULL, &n));
    CHECK_EQ(n, 0);
    OK(MPI_Cart_sub(cart, NULL, &sub));
    OK(MPI_Cartdim_get(sub, &n));
    CHECK_EQ(n, 0);
    OK(MPI_Comm_set_errhandler(cart, MPI_ERRORS_RETURN));
    CHECK_ERROR(MPI_Cart_shift(cart, 0, 1, &a, &b), MPI_ERR_DIMS, "MPI_Cart_shift");
    OK(MPI_Comm_free(&sub));
    OK(MPI_Comm_free(&cart));
}

// A dimension without processes leaves out all processes, whatever the other dimensions are.
static void no_processes(void) {
    const int periods[4] = {0, 1, 0, 1};
    const int grids[5][4] = {{0}, {2, size / 64}, {0, size + 1}, {size + 1, 0}, {INT_MAX, INT_MAX, INT_MAX, 0}};
    const int lengths[5] = {1, 2, 2, 2, 4};
    for (int i = 0; i < 5; i++)
        for (int reorder = 0; reorder < 2; reorder++) {
            MPI_Comm cart = MPI_COMM_WORLD;
            int mapped = -7;
            OK(MPI_Cart_map(MPI_COMM_WORLD, lengths[i], grids[i], periods, &mapped));
            CHECK_EQ(mapped, MPI_UNDEFINED);
            OK(MPI_Cart_create(MPI_COMM_WORLD, lengths[i], grids[i], periods, reorder, &cart));
            CHECK(cart == MPI_COMM_NULL);
        }
}

int main(int argc, char **argv) {
    MPI_Comm reversed;
    int n;
    start(&argc, &argv);
    return_errors();
    OK(MPI_Topo_test(MPI_COMM_WORLD, &n));
    CHECK_EQ(n, MPI_UNDEFINED);
    for (int n = 1; n <= 4; n++)
        for (int periodic = 0; periodic < 1 << n; periodic += 1 + n / 3) grid(n, periodic, periodic & 1);
    surplus(MPI_COMM_WORLD, rank, size);
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed));
    surplus(reversed, size - 1 - rank, size);
    OK(MPI_Comm_free(&reversed));
    no_dimensions();
    no_processes();
    return finish();
}
