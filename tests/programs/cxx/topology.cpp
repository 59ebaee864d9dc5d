// ranks: 1 2 4 6
// Cartesian, graph and distributed graph communicators of the C++ interface.
#include "expect.h"

#include <vector>

static int rank, size;

static void cartesian()
{
    int dims[2] = {0, 0};
    MPI::Compute_dims(size, 2, dims);
    EXPECT_EQ(dims[0] * dims[1], size);
    const bool periods[2] = {true, false};
    MPI::Cartcomm cart = MPI::COMM_WORLD.Create_cart(2, dims, periods, false);
    EXPECT_EQ(cart.Get_dim(), 2);
    EXPECT_EQ(cart.Get_topology(), MPI::CART);
    int got[2], coords[2], again[2];
    bool got_periods[2] = {false, true};
    cart.Get_topo(2, got, got_periods, coords);
    EXPECT(got[0] == dims[0] && got[1] == dims[1] && got_periods[0] && !got_periods[1]);
    cart.Get_coords(rank, 2, again);
    EXPECT(coords[0] == again[0] && coords[1] == again[1]);
    EXPECT_EQ(cart.Get_cart_rank(coords), rank);
    int source, dest;
    cart.Shift(1, 1, source, dest);
    EXPECT((dest == MPI::PROC_NULL) == (coords[1] == dims[1] - 1));
    EXPECT((source == MPI::PROC_NULL) == (coords[1] == 0));
    cart.Shift(0, 1, source, dest);
    EXPECT(source != MPI::PROC_NULL && dest != MPI::PROC_NULL);
    const bool remain[2] = {false, true};
    MPI::Cartcomm row = cart.Sub(remain);
    EXPECT_EQ(row.Get_size(), dims[1]);
    EXPECT_EQ(row.Get_dim(), 1);
    row.Free();
    EXPECT_EQ(cart.Map(2, dims, periods), rank);
    MPI::Cartcomm dup = cart.Dup(), &clone = cart.Clone();
    EXPECT_EQ(dup.Get_dim(), 2);
    EXPECT_EQ(clone.Get_dim(), 2);
    dup.Free();
    clone.Free();
    cart.Free();
    // More dimensions than fit on the stack.
    std::vector<int> ones(40, 1);
    bool many[40], many_back[40];
    for (int i = 0; i < 40; i++) many[i] = i % 3 == 0;
    MPI::Cartcomm deep = MPI::COMM_SELF.Create_cart(40, &ones[0], many, false);
    std::vector<int> deep_dims(40), deep_coords(40);
    deep.Get_topo(40, &deep_dims[0], many_back, &deep_coords[0]);
    for (int i = 0; i < 40; i++) EXPECT_EQ(many_back[i], many[i]);
    deep.Free();
}

// A ring.
static void graph()
{
    std::vector<int> index(size), edges(2 * size);
    for (int i = 0; i < size; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
    MPI::Graphcomm ring = MPI::COMM_WORLD.Create_graph(size, &index[0], &edges[0], false);
    int nodes = -1, count = -1;
    ring.Get_dims(&nodes, &count);
    EXPECT_EQ(nodes, size);
    EXPECT_EQ(count, 2 * size);
    std::vector<int> got_index(size), got_edges(2 * size);
    ring.Get_topo(size, 2 * size, &got_index[0], &got_edges[0]);
    EXPECT(got_index == index && got_edges == edges);
    EXPECT_EQ(ring.Get_neighbors_count(rank), 2);
    int neighbors[2];
    ring.Get_neighbors(rank, 2, neighbors);
    EXPECT_EQ(neighbors[1], (rank + 1) % size);
    EXPECT_EQ(ring.Map(size, &index[0], &edges[0]), rank);
    MPI::Graphcomm dup = ring.Dup(), &clone = ring.Clone();
    EXPECT_EQ(dup.Get_topology(), MPI::GRAPH);
    EXPECT_EQ(clone.Get_topology(), MPI::GRAPH);
    dup.Free();
    clone.Free();
    ring.Free();
}

static void distributed()
{
    const int left = (rank + size - 1) % size, right = (rank + 1) % size, weight = 3 + rank, one = 1;
    int in = -1, out = -1, source = -1, dest = -1, source_weight = -1, dest_weight = -1;
    bool weighted = false;
    MPI::Distgraphcomm ring = MPI::COMM_WORLD.Dist_graph_create(1, &rank, &one, &right, &weight, MPI::INFO_NULL, false);
    ring.Get_dist_neighbors_count(in, out, weighted);
    EXPECT(in == 1 && out == 1 && weighted);
    ring.Get_dist_neighbors(1, &source, &source_weight, 1, &dest, &dest_weight);
    EXPECT(source == left && dest == right && source_weight == 3 + left && dest_weight == 3 + rank);
    MPI::Distgraphcomm dup = ring.Dup(), &clone = ring.Clone();
    EXPECT_EQ(dup.Get_topology(), MPI::DIST_GRAPH);
    clone.Free();
    dup.Free();
    ring.Free();
    ring = MPI::COMM_WORLD.Dist_graph_create(1, &rank, &one, &right, MPI::INFO_NULL, false);
    ring.Get_dist_neighbors_count(in, out, weighted);
    EXPECT(!weighted);
    ring.Free();
    ring = MPI::COMM_WORLD.Dist_graph_create_adjacent(1, &left, 1, &right, MPI::INFO_NULL, false);
    ring.Get_dist_neighbors_count(in, out, weighted);
    EXPECT(in == 1 && out == 1 && !weighted);
    ring.Free();
    ring = MPI::COMM_WORLD.Dist_graph_create_adjacent(1, &left, &weight, 1, &right, &weight, MPI::INFO_NULL, false);
    ring.Get_dist_neighbors_count(in, out, weighted);
    EXPECT(weighted);
    ring.Free();
}

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    rank = MPI::COMM_WORLD.Get_rank();
    size = MPI::COMM_WORLD.Get_size();
    cartesian();
    graph();
    distributed();
    MPI::Finalize();
    return 0;
}
