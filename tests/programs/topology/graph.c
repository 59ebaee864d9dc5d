// ranks: 1 2 3 4 7 8 12
// Graphs that each process gives as a whole: nodes with any number of neighbours, more than one
// edge, loops; surplus processes.
#include "../check.h"

// The edges of a graph of `nodes` nodes: node i has i % 4 neighbours, some twice, some itself.
static int describe(int nodes, int *index, int *edges) {
    int n = 0;
    for (int i = 0; i < nodes; i++) {
        for (int k = 0; k < i % 4; k++) edges[n++] = k == 2 ? i : (i + 1) % nodes;
        index[i] = n;
    }
    return n;
}

static void check(MPI_Comm graph, int nodes) {
    int index[32], edges[96], got_index[33], got_edges[97], n = describe(nodes, index, edges), a = -1, b = -1;
    OK(MPI_Topo_test(graph, &a));
    CHECK_EQ(a, MPI_GRAPH);
    OK(MPI_Graphdims_get(graph, &a, &b));
    CHECK_EQ(a, nodes);
    CHECK_EQ(b, n);
    memset(got_index, 77, sizeof got_index);
    memset(got_edges, 77, sizeof got_edges);
    OK(MPI_Graph_get(graph, nodes, n, got_index, got_edges));
    CHECK(memcmp(index, got_index, (size_t)nodes * sizeof(int)) == 0);
    CHECK(memcmp(edges, got_edges, (size_t)n * sizeof(int)) == 0);
    CHECK_BYTES(got_index + nodes, sizeof(int), 77);
    CHECK_BYTES(got_edges + n, sizeof(int), 77);
    for (int i = 0; i < nodes; i++) {
        int first = i ? index[i - 1] : 0, neighbors[5] = {-3, -3, -3, -3, -3};
        OK(MPI_Graph_neighbors_count(graph, i, &a));
        CHECK_EQ(a, index[i] - first);
        OK(MPI_Graph_neighbors(graph, i, 5, neighbors));
        for (int k = 0; k < 5; k++) CHECK_EQ(neighbors[k], k < a ? edges[first + k] : -3);
    }
}

int main(int argc, char **argv) {
    int index[32], edges[96];
    start(&argc, &argv);
    return_errors();
    for (int nodes = 0; nodes <= size; nodes++)
        for (int reorder = 0; reorder < 2; reorder++) {
            MPI_Comm graph = MPI_COMM_WORLD, twin;
            int n = describe(nodes, index, edges), mapped = -7, own = -1;
            OK(MPI_Graph_map(MPI_COMM_WORLD, nodes, index, n ? edges : NULL, &mapped));
            OK(MPI_Graph_create(MPI_COMM_WORLD, nodes, nodes ? index : NULL, n ? edges : NULL, reorder, &graph));
            // All processes agree on whether there is a graph; with reorder its members are free,
            // but not their number.
            if (!reorder) CHECK_EQ(graph == MPI_COMM_NULL, rank >= nodes);
            if (nodes == 0) CHECK(graph == MPI_COMM_NULL);
            if (mapped != MPI_UNDEFINED) CHECK(mapped >= 0 && mapped < nodes);
            if (graph == MPI_COMM_NULL) continue;
            OK(MPI_Comm_rank(graph, &own));
            if (!reorder) CHECK_EQ(own, rank);
            if (reorder) CHECK_EQ(own, mapped);
            check(graph, nodes);
            OK(MPI_Comm_dup(graph, &twin));
            OK(MPI_Comm_free(&graph));
            check(twin, nodes);
            OK(MPI_Barrier(twin));
            OK(MPI_Comm_free(&twin));
        }
    if (size >= 4) {
        // Some neighbours more than once, on both sides.
        int ends[4] = {3, 5, 6, 9}, list[9] = {1, 1, 3, 0, 0, 3, 0, 2, 2}, counts[4] = {3, 2, 1, 3}, got[3], count;
        MPI_Comm graph;
        OK(MPI_Graph_create(MPI_COMM_WORLD, 4, ends, list, 0, &graph));
        for (int i = 0, at = 0; graph != MPI_COMM_NULL && i < 4; at += counts[i++]) {
            OK(MPI_Graph_neighbors_count(graph, i, &count));
            CHECK_EQ(count, counts[i]);
            OK(MPI_Graph_neighbors(graph, i, count, got));
            for (int k = 0; k < count; k++) CHECK_EQ(got[k], list[at + k]);
        }
        if (graph != MPI_COMM_NULL) OK(MPI_Comm_free(&graph));
    }
    return finish();
}
