// ranks: 1 2 3 4 7 8
// no-check: edges that only one end gives
// Wrong arguments of the topology functions: the class, and that the text names the call. Where the arguments of one process
// are wrong and those of the others are not, the others get an error, too.
#include "../check.h"

static MPI_Comm cart, graph, dist, out;
static int n, a[64], b[64], c[64];

static void bad_communicators(void) {
    MPI_Comm stale, wrong = (MPI_Comm)MPI_GROUP_EMPTY;
    OK(MPI_Comm_dup(MPI_COMM_SELF, &out));
    stale = out;
    OK(MPI_Comm_free(&out));
    MPI_Comm bad[] = {MPI_COMM_NULL, wrong, stale, (MPI_Comm)12345678};
    int one = 1, zero = 0;
    for (int i = 0; i < 4; i++) {
        MPI_Comm x = bad[i];
        CHECK_ERROR(MPI_Topo_test(x, &n), MPI_ERR_COMM, "MPI_Topo_test");
        CHECK_ERROR(MPI_Cart_create(x, 1, &one, &zero, 0, &out), MPI_ERR_COMM, "MPI_Cart_create");
        CHECK_ERROR(MPI_Cart_map(x, 1, &one, &zero, &n), MPI_ERR_COMM, "MPI_Cart_map");
        CHECK_ERROR(MPI_Cart_sub(x, &one, &out), MPI_ERR_COMM, "MPI_Cart_sub");
        CHECK_ERROR(MPI_Cartdim_get(x, &n), MPI_ERR_COMM, "MPI_Cartdim_get");
        CHECK_ERROR(MPI_Cart_get(x, 1, a, b, c), MPI_ERR_COMM, "MPI_Cart_get");
        CHECK_ERROR(MPI_Cart_rank(x, a, &n), MPI_ERR_COMM, "MPI_Cart_rank");
        CHECK_ERROR(MPI_Cart_coords(x, 0, 1, a), MPI_ERR_COMM, "MPI_Cart_coords");
        CHECK_ERROR(MPI_Cart_shift(x, 0, 1, a, b), MPI_ERR_COMM, "MPI_Cart_shift");
        CHECK_ERROR(MPI_Graph_create(x, 1, &one, &zero, 0, &out), MPI_ERR_COMM, "MPI_Graph_create");
        CHECK_ERROR(MPI_Graph_map(x, 1, &one, &zero, &n), MPI_ERR_COMM, "MPI_Graph_map");
        CHECK_ERROR(MPI_Graphdims_get(x, &n, &n), MPI_ERR_COMM, "MPI_Graphdims_get");
        CHECK_ERROR(MPI_Graph_get(x, 1, 1, a, b), MPI_ERR_COMM, "MPI_Graph_get");
        CHECK_ERROR(MPI_Graph_neighbors_count(x, 0, &n), MPI_ERR_COMM, "MPI_Graph_neighbors_count");
        CHECK_ERROR(MPI_Graph_neighbors(x, 0, 1, a), MPI_ERR_COMM, "MPI_Graph_neighbors");
        CHECK_ERROR(MPI_Dist_graph_create(x, 0, a, b, c, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &out), MPI_ERR_COMM,
                    "MPI_Dist_graph_create");
        CHECK_ERROR(MPI_Dist_graph_create_adjacent(x, 0, a, MPI_UNWEIGHTED, 0, b, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &out),
                    MPI_ERR_COMM, "MPI_Dist_graph_create_adjacent");
        CHECK_ERROR(MPI_Dist_graph_neighbors_count(x, a, b, c), MPI_ERR_COMM, "MPI_Dist_graph_neighbors_count");
        CHECK_ERROR(MPI_Dist_graph_neighbors(x, 1, a, b, 1, a, b), MPI_ERR_COMM, "MPI_Dist_graph_neighbors");
    }
}

static void need_cart(MPI_Comm x) {
    CHECK_ERROR(MPI_Cart_sub(x, a, &out), MPI_ERR_TOPOLOGY, "MPI_Cart_sub");
    CHECK_ERROR(MPI_Cartdim_get(x, &n), MPI_ERR_TOPOLOGY, "MPI_Cartdim_get");
    CHECK_ERROR(MPI_Cart_get(x, 1, a, b, c), MPI_ERR_TOPOLOGY, "MPI_Cart_get");
    CHECK_ERROR(MPI_Cart_rank(x, a, &n), MPI_ERR_TOPOLOGY, "MPI_Cart_rank");
    CHECK_ERROR(MPI_Cart_coords(x, 0, 1, a), MPI_ERR_TOPOLOGY, "MPI_Cart_coords");
    CHECK_ERROR(MPI_Cart_shift(x, 0, 1, a, b), MPI_ERR_TOPOLOGY, "MPI_Cart_shift");
}

static void need_graph(MPI_Comm x) {
    CHECK_ERROR(MPI_Graphdims_get(x, &n, &n), MPI_ERR_TOPOLOGY, "MPI_Graphdims_get");
    CHECK_ERROR(MPI_Graph_get(x, 1, 1, a, b), MPI_ERR_TOPOLOGY, "MPI_Graph_get");
    CHECK_ERROR(MPI_Graph_neighbors_count(x, 0, &n), MPI_ERR_TOPOLOGY, "MPI_Graph_neighbors_count");
    CHECK_ERROR(MPI_Graph_neighbors(x, 0, 1, a), MPI_ERR_TOPOLOGY, "MPI_Graph_neighbors");
}

static void need_dist(MPI_Comm x) {
    CHECK_ERROR(MPI_Dist_graph_neighbors_count(x, a, b, c), MPI_ERR_TOPOLOGY, "MPI_Dist_graph_neighbors_count");
    CHECK_ERROR(MPI_Dist_graph_neighbors(x, 1, a, b, 1, a, b), MPI_ERR_TOPOLOGY, "MPI_Dist_graph_neighbors");
}

static void grids(void) {
    int dims[3] = {1, size, 1}, periods[3] = {0, 1, 0};
    struct {
        int n, dims[2];
    } bad[] = {{-1, {1, 1}}, {1, {-2, 1}}, {1, {-1, 1}}, {2, {0, -1}}, {2, {-1, -1}}, {1, {size + 1, 1}}, {2, {2, size}},
               {2, {INT_MAX, INT_MAX}}};
    for (int i = 0; i < 8; i++) {
        CHECK_ERROR(MPI_Cart_create(MPI_COMM_WORLD, bad[i].n, bad[i].dims, periods, 0, &out), MPI_ERR_DIMS,
                    "MPI_Cart_create");
        CHECK_ERROR(MPI_Cart_map(MPI_COMM_WORLD, bad[i].n, bad[i].dims, periods, &n), MPI_ERR_DIMS, "MPI_Cart_map");
    }
    CHECK_ERROR(MPI_Cart_create(MPI_COMM_WORLD, 3, NULL, periods, 0, &out), MPI_ERR_ARG, "MPI_Cart_create");
    CHECK_ERROR(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, NULL, 0, &out), MPI_ERR_ARG, "MPI_Cart_create");
    CHECK_ERROR(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, NULL), MPI_ERR_ARG, "MPI_Cart_create");
    CHECK_ERROR(MPI_Cart_map(MPI_COMM_WORLD, 3, dims, periods, NULL), MPI_ERR_ARG, "MPI_Cart_map");
    OK(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &cart));
    need_graph(cart);
    need_dist(cart);
    CHECK_ERROR(MPI_Cartdim_get(cart, NULL), MPI_ERR_ARG, "MPI_Cartdim_get");
    for (int room = -1; room < 3; room++) {
        CHECK_ERROR(MPI_Cart_get(cart, room, a, b, c), MPI_ERR_ARG, "MPI_Cart_get");
        CHECK_ERROR(MPI_Cart_coords(cart, 0, room, a), MPI_ERR_ARG, "MPI_Cart_coords");
    }
    CHECK_ERROR(MPI_Cart_get(cart, 3, NULL, b, c), MPI_ERR_ARG, "MPI_Cart_get");
    CHECK_ERROR(MPI_Cart_get(cart, 3, a, NULL, c), MPI_ERR_ARG, "MPI_Cart_get");
    CHECK_ERROR(MPI_Cart_get(cart, 3, a, b, NULL), MPI_ERR_ARG, "MPI_Cart_get");
    CHECK_ERROR(MPI_Cart_coords(cart, 0, 3, NULL), MPI_ERR_ARG, "MPI_Cart_coords");
    int ranks[] = {-1, size, MPI_PROC_NULL, MPI_ANY_SOURCE, INT_MAX};
    for (int i = 0; i < 5; i++) CHECK_ERROR(MPI_Cart_coords(cart, ranks[i], 3, a), MPI_ERR_RANK, "MPI_Cart_coords");
    int outside[4][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 0, 1}, {0, 0, INT_MIN}}, inside[3] = {0, -1, 0};
    for (int i = 0; i < 4; i++) CHECK_ERROR(MPI_Cart_rank(cart, outside[i], &n), MPI_ERR_ARG, "MPI_Cart_rank");
    OK(MPI_Cart_rank(cart, inside, &n));
    CHECK_EQ(n, size - 1);
    CHECK_ERROR(MPI_Cart_rank(cart, NULL, &n), MPI_ERR_ARG, "MPI_Cart_rank");
    CHECK_ERROR(MPI_Cart_rank(cart, inside, NULL), MPI_ERR_ARG, "MPI_Cart_rank");
    int directions[] = {-1, 3, INT_MAX, INT_MIN};
    for (int i = 0; i < 4; i++) CHECK_ERROR(MPI_Cart_shift(cart, directions[i], 1, a, b), MPI_ERR_DIMS, "MPI_Cart_shift");
    CHECK_ERROR(MPI_Cart_shift(cart, 0, 1, NULL, b), MPI_ERR_ARG, "MPI_Cart_shift");
    CHECK_ERROR(MPI_Cart_shift(cart, 0, 1, a, NULL), MPI_ERR_ARG, "MPI_Cart_shift");
    CHECK_ERROR(MPI_Cart_sub(cart, NULL, &out), MPI_ERR_ARG, "MPI_Cart_sub");
    CHECK_ERROR(MPI_Cart_sub(cart, dims, NULL), MPI_ERR_ARG, "MPI_Cart_sub");
    CHECK_ERROR(MPI_Topo_test(cart, NULL), MPI_ERR_ARG, "MPI_Topo_test");
    OK(MPI_Comm_set_name(cart, "the grid"));
    CHECK_TEXT(MPI_Graphdims_get(cart, &n, &n), "the grid has a Cartesian topology");
}

static void graphs(void) {
    int index[8], edges[8] = {0}, minus[1] = {-1}, falling[2] = {1, 0}, beyond[1] = {1}, far[1] = {size}, near[1] = {-1};
    for (int i = 0; i < 8; i++) index[i] = i < size ? i + 1 : 7;
    struct {
        int n, *index, *edges, class;
    } bad[] = {{-1, index, edges, MPI_ERR_ARG},  {size + 1, index, edges, MPI_ERR_ARG}, {1, minus, edges, MPI_ERR_ARG},
               {1, NULL, edges, MPI_ERR_ARG},    {1, index, NULL, MPI_ERR_ARG},         {1, beyond, far, MPI_ERR_RANK},
               {1, beyond, near, MPI_ERR_RANK},  {2, falling, edges, MPI_ERR_ARG}};
    for (int i = 0; i < 8; i++) {
        CHECK_ERROR(MPI_Graph_create(MPI_COMM_WORLD, bad[i].n, bad[i].index, bad[i].edges, 0, &out), bad[i].class,
                    "MPI_Graph_create");
        CHECK_ERROR(MPI_Graph_map(MPI_COMM_WORLD, bad[i].n, bad[i].index, bad[i].edges, &n), bad[i].class,
                    "MPI_Graph_map");
    }
    CHECK_ERROR(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, NULL), MPI_ERR_ARG, "MPI_Graph_create");
    CHECK_ERROR(MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, NULL), MPI_ERR_ARG, "MPI_Graph_map");
    OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph));
    need_cart(graph);
    need_dist(graph);
    CHECK_ERROR(MPI_Graphdims_get(graph, NULL, &n), MPI_ERR_ARG, "MPI_Graphdims_get");
    CHECK_ERROR(MPI_Graphdims_get(graph, &n, NULL), MPI_ERR_ARG, "MPI_Graphdims_get");
    CHECK_ERROR(MPI_Graph_get(graph, size - 1, size, a, b), MPI_ERR_ARG, "MPI_Graph_get");
    CHECK_ERROR(MPI_Graph_get(graph, size, size - 1, a, b), MPI_ERR_ARG, "MPI_Graph_get");
    CHECK_ERROR(MPI_Graph_get(graph, -1, size, a, b), MPI_ERR_ARG, "MPI_Graph_get");
    CHECK_ERROR(MPI_Graph_get(graph, size, size, NULL, b), MPI_ERR_ARG, "MPI_Graph_get");
    CHECK_ERROR(MPI_Graph_get(graph, size, size, a, NULL), MPI_ERR_ARG, "MPI_Graph_get");
    for (int i = 0; i < 2; i++) {
        int r = i ? size : -1;
        CHECK_ERROR(MPI_Graph_neighbors_count(graph, r, &n), MPI_ERR_RANK, "MPI_Graph_neighbors_count");
        CHECK_ERROR(MPI_Graph_neighbors(graph, r, 1, a), MPI_ERR_RANK, "MPI_Graph_neighbors");
    }
    CHECK_ERROR(MPI_Graph_neighbors_count(graph, 0, NULL), MPI_ERR_ARG, "MPI_Graph_neighbors_count");
    CHECK_ERROR(MPI_Graph_neighbors(graph, 0, 0, a), MPI_ERR_ARG, "MPI_Graph_neighbors");
    CHECK_ERROR(MPI_Graph_neighbors(graph, 0, -1, a), MPI_ERR_ARG, "MPI_Graph_neighbors");
    CHECK_ERROR(MPI_Graph_neighbors(graph, 0, 1, NULL), MPI_ERR_ARG, "MPI_Graph_neighbors");
}

// Wrong at one process, right at the others: no process hangs, and none gets a communicator.
static void one_is_wrong(int n, const int *sources, const int *degrees, const int *destinations, const int *weights,
                         MPI_Info info, int class) {
    for (int who = 0; who < size; who++) {
        int code, right[1] = {0};
        MPI_Comm made = MPI_COMM_NULL;
        if (who == rank)
            code = MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, destinations, weights, info, 0, &made);
        else
            code = MPI_Dist_graph_create(MPI_COMM_WORLD, 0, right, right, right, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &made);
        CHECK_ERROR(code, who == rank ? class : MPI_ERR_OTHER, "MPI_Dist_graph_create");
        CHECK(made == MPI_COMM_NULL);
    }
}

static void one_is_wrong_adjacent(int in, const int *sources, const int *inw, int outd, const int *dests, const int *outw,
                                  MPI_Info info, int class) {
    for (int who = 0; who < size; who++) {
        int code;
        MPI_Comm made = MPI_COMM_NULL;
        if (who == rank)
            code = MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, inw, outd, dests, outw, info, 0, &made);
        else
            code = MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY,
                                                  MPI_INFO_NULL, 0, &made);
        CHECK_ERROR(code, who == rank ? class : MPI_ERR_OTHER, "MPI_Dist_graph_create_adjacent");
        CHECK(made == MPI_COMM_NULL);
    }
}

static void distributed(void) {
    int zero[2] = {0, 0}, one[2] = {1, 1}, minus[2] = {-1, -1}, far[2] = {size, size}, most[2] = {INT_MAX, INT_MAX};
    MPI_Info none = MPI_INFO_NULL, wrong = (MPI_Info)MPI_COMM_WORLD;
    one_is_wrong(-1, zero, one, zero, one, none, MPI_ERR_ARG);
    one_is_wrong(1, far, one, zero, one, none, MPI_ERR_RANK);
    one_is_wrong(1, minus, one, zero, one, none, MPI_ERR_RANK);
    one_is_wrong(1, zero, one, far, one, none, MPI_ERR_RANK);
    one_is_wrong(1, zero, one, minus, one, none, MPI_ERR_RANK);
    one_is_wrong(1, zero, minus, zero, one, none, MPI_ERR_ARG);
    one_is_wrong(2, zero, most, zero, one, none, MPI_ERR_ARG);
    one_is_wrong(1, zero, one, zero, minus, none, MPI_ERR_ARG);
    one_is_wrong(1, zero, one, zero, MPI_WEIGHTS_EMPTY, none, MPI_ERR_ARG);
    one_is_wrong(1, NULL, one, zero, one, none, MPI_ERR_ARG);
    one_is_wrong(1, zero, NULL, zero, one, none, MPI_ERR_ARG);
    one_is_wrong(1, zero, one, NULL, one, none, MPI_ERR_ARG);
    one_is_wrong(1, zero, one, zero, NULL, none, MPI_ERR_ARG);
    one_is_wrong(1, zero, one, zero, one, wrong, MPI_ERR_INFO);
    one_is_wrong_adjacent(-1, zero, one, 1, zero, one, none, MPI_ERR_ARG);
    one_is_wrong_adjacent(1, zero, one, -1, zero, one, none, MPI_ERR_ARG);
    one_is_wrong_adjacent(1, far, one, 1, zero, one, none, MPI_ERR_RANK);
    one_is_wrong_adjacent(1, zero, one, 1, minus, one, none, MPI_ERR_RANK);
    one_is_wrong_adjacent(1, zero, minus, 1, zero, one, none, MPI_ERR_ARG);
    one_is_wrong_adjacent(1, zero, one, 1, zero, minus, none, MPI_ERR_ARG);
    one_is_wrong_adjacent(1, zero, MPI_WEIGHTS_EMPTY, 1, zero, one, none, MPI_ERR_ARG);
    one_is_wrong_adjacent(1, zero, one, 1, zero, MPI_WEIGHTS_EMPTY, none, MPI_ERR_ARG);
    one_is_wrong_adjacent(1, zero, MPI_UNWEIGHTED, 1, zero, one, none, MPI_ERR_ARG);
    one_is_wrong_adjacent(1, zero, one, 1, zero, MPI_UNWEIGHTED, none, MPI_ERR_ARG);
    one_is_wrong_adjacent(1, NULL, one, 1, zero, one, none, MPI_ERR_ARG);
    one_is_wrong_adjacent(1, zero, one, 1, NULL, one, none, MPI_ERR_ARG);
    one_is_wrong_adjacent(1, zero, NULL, 1, zero, one, none, MPI_ERR_ARG);
    one_is_wrong_adjacent(1, zero, one, 1, zero, one, wrong, MPI_ERR_INFO);
    CHECK_ERROR(MPI_Dist_graph_create(MPI_COMM_WORLD, 0, zero, zero, zero, one, none, 0, NULL), MPI_ERR_ARG,
                "MPI_Dist_graph_create");
    CHECK_ERROR(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, zero, one, 0, zero, one, none, 0, NULL), MPI_ERR_ARG,
                "MPI_Dist_graph_create_adjacent");
    if (size > 1) {
        // Weights at all processes or at none.
        int *mixed = rank == 1 ? MPI_UNWEIGHTED : MPI_WEIGHTS_EMPTY;
        int code = MPI_Dist_graph_create(MPI_COMM_WORLD, 0, zero, zero, zero, mixed, none, 0, &out);
        CHECK_EQ(check_class(code), MPI_ERR_ARG);
        CHECK_TEXT(code, "rank 1 passes MPI_UNWEIGHTED");
        CHECK_ERROR(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, zero, mixed, 0, zero, mixed, none, 0, &out),
                    MPI_ERR_ARG, "MPI_Dist_graph_create_adjacent");
    }
    // An edge that only one of its ends names, and weights that the ends do not agree on: taken as each process says.
    int last = size - 1, two = 2, ends = rank == last, begins = rank == 0;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, zero, one, begins, &last, one, none, 0, &out));
    OK(MPI_Dist_graph_neighbors_count(out, a, b, c));
    CHECK(a[0] == 0 && b[0] == begins && c[0]);
    OK(MPI_Comm_free(&out));
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ends, zero, &two, begins, &last, one, none, 0, &out));
    OK(MPI_Dist_graph_neighbors(out, 1, a, b, 0, c, c));
    if (ends) CHECK(a[0] == 0 && b[0] == 2);
    OK(MPI_Comm_free(&out));
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &rank, one, 1, &rank, one, none, 0, &dist));
    need_cart(dist);
    need_graph(dist);
    CHECK_ERROR(MPI_Dist_graph_neighbors_count(dist, NULL, b, c), MPI_ERR_ARG, "MPI_Dist_graph_neighbors_count");
    CHECK_ERROR(MPI_Dist_graph_neighbors_count(dist, a, NULL, c), MPI_ERR_ARG, "MPI_Dist_graph_neighbors_count");
    CHECK_ERROR(MPI_Dist_graph_neighbors_count(dist, a, b, NULL), MPI_ERR_ARG, "MPI_Dist_graph_neighbors_count");
    CHECK_ERROR(MPI_Dist_graph_neighbors(dist, -1, a, b, 1, a, b), MPI_ERR_ARG, "MPI_Dist_graph_neighbors");
    CHECK_ERROR(MPI_Dist_graph_neighbors(dist, 1, a, b, -1, a, b), MPI_ERR_ARG, "MPI_Dist_graph_neighbors");
    CHECK_ERROR(MPI_Dist_graph_neighbors(dist, 1, NULL, b, 1, a, b), MPI_ERR_ARG, "MPI_Dist_graph_neighbors");
    CHECK_ERROR(MPI_Dist_graph_neighbors(dist, 1, a, NULL, 1, a, b), MPI_ERR_ARG, "MPI_Dist_graph_neighbors");
    CHECK_ERROR(MPI_Dist_graph_neighbors(dist, 1, a, b, 1, NULL, b), MPI_ERR_ARG, "MPI_Dist_graph_neighbors");
    CHECK_ERROR(MPI_Dist_graph_neighbors(dist, 1, a, b, 1, a, MPI_WEIGHTS_EMPTY), MPI_ERR_ARG, "MPI_Dist_graph_neighbors");
}

// An intercommunicator has no topology and gets none.
static void between(void) {
    MPI_Comm half, inter;
    int one = 1, zero = 0;
    if (size < 2) return;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter));
    OK(MPI_Topo_test(inter, &n));
    CHECK_EQ(n, MPI_UNDEFINED);
    need_cart(inter);
    need_graph(inter);
    need_dist(inter);
    CHECK_ERROR(MPI_Cart_create(inter, 1, &one, &zero, 0, &out), MPI_ERR_COMM, "MPI_Cart_create");
    CHECK_ERROR(MPI_Cart_map(inter, 1, &one, &zero, &n), MPI_ERR_COMM, "MPI_Cart_map");
    CHECK_ERROR(MPI_Graph_create(inter, 1, &one, &zero, 0, &out), MPI_ERR_COMM, "MPI_Graph_create");
    CHECK_ERROR(MPI_Graph_map(inter, 1, &one, &zero, &n), MPI_ERR_COMM, "MPI_Graph_map");
    CHECK_ERROR(MPI_Dist_graph_create(inter, 0, a, b, c, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &out), MPI_ERR_COMM,
                "MPI_Dist_graph_create");
    CHECK_ERROR(MPI_Dist_graph_create_adjacent(inter, 0, a, MPI_UNWEIGHTED, 0, b, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &out),
                MPI_ERR_COMM, "MPI_Dist_graph_create_adjacent");
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    bad_communicators();
    need_cart(MPI_COMM_WORLD);
    need_graph(MPI_COMM_WORLD);
    need_dist(MPI_COMM_WORLD);
    grids();
    graphs();
    distributed();
    between();
    OK(MPI_Comm_free(&cart));
    OK(MPI_Comm_free(&graph));
    OK(MPI_Comm_free(&dist));
    return finish();
}
