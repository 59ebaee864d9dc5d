// ranks: 1 2 3 4 7 8 12
// Distributed graphs: edges that any process describes arrive at both their ends, with their
// weights; edges that occur more than once, loops, processes without edges; the results of the
// adjacent form.
#include "../check.h"

enum { MOST = 4096 };

typedef struct {
    int source, dest, weight;
} Edge;

static unsigned seed;

static int draw(int bound) {
    seed = seed * 1103515245u + 12345u;
    return (int)(seed >> 16 & 0x7fff) % bound;
}

static int compare(const void *a, const void *b) { return memcmp(a, b, 2 * sizeof(int)); }

// The lists contain the edges, in any order.
static void check_side(int n, const int *peers, const int *weights, const Edge *edges, int count, int incoming) {
    int got[MOST][2], wanted[MOST][2], m = 0;
    for (int i = 0; i < count; i++) {
        if ((incoming ? edges[i].dest : edges[i].source) != rank) continue;
        wanted[m][0] = incoming ? edges[i].source : edges[i].dest;
        wanted[m++][1] = weights ? edges[i].weight : 0;
    }
    CHECK_EQ(n, m);
    for (int i = 0; i < n; i++) {
        got[i][0] = peers[i];
        got[i][1] = weights ? weights[i] : 0;
    }
    qsort(got, (size_t)n, sizeof got[0], compare);
    qsort(wanted, (size_t)n, sizeof wanted[0], compare);
    CHECK(memcmp(got, wanted, (size_t)n * sizeof got[0]) == 0);
}

static int in_peers[MOST], in_weights[MOST], out_peers[MOST], out_weights[MOST];

static void check(MPI_Comm graph, const Edge *edges, int count, int weighted) {
    int in = -1, out = -1, has = -1, own = -1, members = -1, kind = -1;
    OK(MPI_Topo_test(graph, &kind));
    CHECK_EQ(kind, MPI_DIST_GRAPH);
    OK(MPI_Comm_rank(graph, &own));
    OK(MPI_Comm_size(graph, &members));
    CHECK_EQ(own, rank);
    CHECK_EQ(members, size);
    OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &has));
    CHECK_EQ(has, weighted);
    memset(in_weights, 77, sizeof in_weights);
    memset(out_weights, 77, sizeof out_weights);
    OK(MPI_Dist_graph_neighbors(graph, in, in_peers, in_weights, out, out_peers, out_weights));
    check_side(in, in_peers, weighted ? in_weights : NULL, edges, count, 1);
    check_side(out, out_peers, weighted ? out_weights : NULL, edges, count, 0);
    if (!weighted) CHECK_BYTES(in_weights, sizeof in_weights, 77);
    // The same again, then without weights, then a part of it.
    int again[MOST], weights[MOST], none[1] = {-5};
    OK(MPI_Dist_graph_neighbors(graph, in, again, MPI_UNWEIGHTED, out, out_peers, MPI_UNWEIGHTED));
    CHECK(memcmp(again, in_peers, (size_t)in * sizeof(int)) == 0);
    int half = in / 2;
    again[half] = weights[half] = -5;
    OK(MPI_Dist_graph_neighbors(graph, half, again, weights, 0, none, none));
    CHECK(memcmp(again, in_peers, (size_t)half * sizeof(int)) == 0);
    if (weighted) CHECK(memcmp(weights, in_weights, (size_t)half * sizeof(int)) == 0);
    CHECK(again[half] == -5 && weights[half] == -5 && none[0] == -5);
    OK(MPI_Dist_graph_neighbors(graph, 0, NULL, NULL, 0, NULL, MPI_WEIGHTS_EMPTY));
    // A message along every edge, as many as there are edges.
    MPI_Request requests[2 * MOST];
    int got[MOST];
    OK(MPI_Dist_graph_neighbors(graph, MOST, in_peers, MPI_UNWEIGHTED, MOST, out_peers, MPI_UNWEIGHTED));
    for (int i = 0; i < in; i++) OK(MPI_Irecv(&got[i], 1, MPI_INT, in_peers[i], 0, graph, &requests[i]));
    for (int i = 0; i < out; i++) OK(MPI_Isend(&rank, 1, MPI_INT, out_peers[i], 0, graph, &requests[in + i]));
    OK(MPI_Waitall(in + out, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < in; i++) CHECK_EQ(got[i], in_peers[i]);
}

// All processes know all edges; each describes those that are assigned to it, whatever their ends.
static void described(int round) {
    static Edge edges[MOST];
    static int sources[MOST], degrees[MOST], destinations[MOST], weights[MOST];
    int weighted = round % 2, n = 0, mine = 0;
    seed = (unsigned)(round * 1000 + size);
    int count = round == 0 ? 0 : round == 1 ? 1 : draw(6 * size + 1);
    for (int i = 0; i < count; i++) {
        // In some rounds one process has all edges, or all are loops, or one process describes everything.
        Edge *e = &edges[i];
        e->source = round % 5 == 3 ? 0 : draw(size);
        e->dest = round % 7 == 4 ? e->source : draw(size);
        e->weight = draw(4) == 0 ? INT_MAX : draw(3);
        int teller = round % 4 == 2 ? size - 1 : draw(size);
        if (teller != rank) continue;
        // Edges of the same source in a row are one entry, and an entry may have no edges.
        if (n == 0 || sources[n - 1] != e->source) {
            sources[n] = e->source;
            degrees[n++] = 0;
        }
        degrees[n - 1]++;
        destinations[mine] = e->dest;
        weights[mine++] = e->weight;
    }
    sources[n] = 0;
    degrees[n++] = 0;
    MPI_Comm graph, twin;
    int *given = !weighted ? MPI_UNWEIGHTED : mine ? weights : MPI_WEIGHTS_EMPTY;
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, mine ? destinations : NULL, given, MPI_INFO_NULL, 0,
                             &graph));
    check(graph, edges, count, weighted);
    OK(MPI_Comm_dup(graph, &twin));
    OK(MPI_Comm_free(&graph));
    check(twin, edges, count, weighted);
    OK(MPI_Comm_free(&twin));
}

// Each gives its own edges, and gets them back in the same order.
static void adjacent(int round) {
    static Edge edges[MOST];
    static int sources[MOST], source_weights[MOST], destinations[MOST], dest_weights[MOST];
    int weighted = round % 2, in = 0, out = 0, a, b, c;
    seed = (unsigned)(round * 77 + size);
    int count = round == 0 ? 0 : draw(5 * size + 1);
    for (int i = 0; i < count; i++) {
        edges[i] = (Edge){draw(size), draw(size), draw(9)};
        if (edges[i].dest == rank) {
            sources[in] = edges[i].source;
            source_weights[in++] = edges[i].weight;
        }
        if (edges[i].source == rank) {
            destinations[out] = edges[i].dest;
            dest_weights[out++] = edges[i].weight;
        }
    }
    MPI_Comm graph, twin;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "a_hint_that_nobody_knows", "yes"));
    int *given_in = !weighted ? MPI_UNWEIGHTED : in ? source_weights : MPI_WEIGHTS_EMPTY;
    int *given_out = !weighted ? MPI_UNWEIGHTED : out ? dest_weights : MPI_WEIGHTS_EMPTY;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, in ? sources : NULL, given_in, out, out ? destinations : NULL,
                                      given_out, info, 0, &graph));
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_dup(graph, &twin));
    check(graph, edges, count, weighted);
    OK(MPI_Comm_free(&graph));
    OK(MPI_Dist_graph_neighbors_count(twin, &a, &b, &c));
    CHECK(a == in && b == out && c == weighted);
    OK(MPI_Dist_graph_neighbors(twin, in, in_peers, in_weights, out, out_peers, out_weights));
    CHECK(memcmp(in_peers, sources, (size_t)in * sizeof(int)) == 0);
    CHECK(memcmp(out_peers, destinations, (size_t)out * sizeof(int)) == 0);
    if (weighted) CHECK(memcmp(in_weights, source_weights, (size_t)in * sizeof(int)) == 0);
    if (weighted) CHECK(memcmp(out_weights, dest_weights, (size_t)out * sizeof(int)) == 0);
    OK(MPI_Comm_free(&twin));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    for (int round = 0; round < 40; round++) described(round);
    for (int round = 0; round < 20; round++) adjacent(round);
    // With reorder the ranks may change, but their number does not, and no process is left out.
    MPI_Comm graph;
    int one = 1, to = (rank + 1) % size, count;
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &graph));
    OK(MPI_Comm_size(graph, &count));
    CHECK_EQ(count, size);
    OK(MPI_Comm_free(&graph));
    return finish();
}
