// ranks: 1 2 3 4 5 6 7 8 9
// cflags: -O2
// The neighbourhood collectives in all forms, on grids (periodic or not, of extent 1 and 2), graphs and distributed graphs with
// several edges between two processes, edges to oneself, and processes without any.
#include "coll.h"

enum { MOST = 40 };

// The edges of this process. Block l arrives from src[l], which sends it as number src_slot[l]; src
// is MPI_PROC_NULL at the border of a grid.
static struct {
    MPI_Comm comm;
    int in, out, src[MOST], src_slot[MOST], dst[MOST];
    const char *name;
} t;

static struct image out, in, expected;
static long to[MOST], from[MOST], unit;
static int varied, gathering;

// How many ints `who` sends as number `slot`.
static long length(int who, int slot) {
    if (!varied) return unit;
    if (gathering) slot = 0;
    return (who + 2 * slot) % 4 == 1 ? 0 : unit * ((who + slot) % 3 + 1);
}

// A border has a block too, of any length: it must not be touched.
static long arriving(int l) { return t.src[l] == MPI_PROC_NULL ? unit : length(t.src[l], t.src_slot[l]); }
static long leaving(int k) { return length(rank, k); }

static void prepare(void) {
    wipe(&in);
    wipe(&expected);
    for (int k = 0; k < (gathering ? 1 : t.out); k++) put(&out, to[k], leaving(k), 0, rank, k);
    for (int l = 0; l < t.in; l++)
        if (t.src[l] != MPI_PROC_NULL) put(&expected, from[l], arriving(l), 0, t.src[l], gathering ? 0 : t.src_slot[l]);
}

static int counts[2][MOST], displs[2][MOST];
static MPI_Count counts_c[2][MOST];
static MPI_Aint displs_c[2][MOST], bytes[2][MOST];
static MPI_Datatype types[2][MOST];

// The blocks lie in order, or backwards with gaps.
static long lay_out(int kind, int arrays, int n, long *at) {
    long next = varied ? 1 : 0;
    for (int k = 0; k < n; k++) {
        int i = varied ? n - 1 - k : k;
        long count = elements(kind, arrays ? arriving(i) : leaving(i));
        at[i] = next;
        next += count + (varied ? i % 2 : 0);
        counts_c[arrays][i] = count, counts[arrays][i] = (int)count;
        displs_c[arrays][i] = at[i], displs[arrays][i] = (int)at[i];
        bytes[arrays][i] = at[i] * kinds[kind].extent * (MPI_Aint)sizeof(int);
        types[arrays][i] = kinds[kind].type;
    }
    return next + 1;
}

static void exchange(long n, int choice, int with_counts, int gather) {
    unit = n, varied = with_counts, gathering = gather;
    int mine = kind_for(n, choice < 0 ? -1 : choice + rank), theirs = kind_for(n, choice < 0 ? -1 : choice + 3 * rank);
    out = new_image(mine, lay_out(mine, 0, gather ? 1 : t.out, to));
    in = new_image(theirs, lay_out(theirs, 1, t.in, from));
    expected = new_image(theirs, lay_out(theirs, 1, t.in, from));
    MPI_Datatype send = kinds[mine].type, receive = kinds[theirs].type;
    describe("%s%s of %ld ints, kinds %d to %d, %s", gather ? "Neighbor_allgather" : "Neighbor_alltoall",
             with_counts ? "v" : "", n, mine, theirs, t.name);
    if (gather && !varied)
        CASE(Neighbor_allgather, neighbor_allgather, prepare(), same(&in, &expected), out.base, counts[0][0], send, in.base,
             (int)elements(theirs, n), receive, t.comm);
    else if (gather)
        CASE_V(Neighbor_allgatherv, neighbor_allgatherv, prepare(), same(&in, &expected),
               (address(&out, to[0]), counts[0][0], send, in.base, counts[1], displs[1], receive, t.comm),
               (address(&out, to[0]), counts[0][0], send, in.base, counts_c[1], displs_c[1], receive, t.comm));
    else if (!varied)
        CASE(Neighbor_alltoall, neighbor_alltoall, prepare(), same(&in, &expected), out.base, (int)elements(mine, n), send,
             in.base, (int)elements(theirs, n), receive, t.comm);
    else {
        CASE_V(Neighbor_alltoallv, neighbor_alltoallv, prepare(), same(&in, &expected),
               (out.base, counts[0], displs[0], send, in.base, counts[1], displs[1], receive, t.comm),
               (out.base, counts_c[0], displs_c[0], send, in.base, counts_c[1], displs_c[1], receive, t.comm));
        describe("Neighbor_alltoallw of %ld ints, kinds %d to %d, %s", n, mine, theirs, t.name);
        CASE_V(Neighbor_alltoallw, neighbor_alltoallw, prepare(), same(&in, &expected),
               (out.base, counts[0], bytes[0], types[0], in.base, counts[1], bytes[1], types[1], t.comm),
               (out.base, counts_c[0], bytes[0], types[0], in.base, counts_c[1], bytes[1], types[1], t.comm));
    }
    drop(&out);
    drop(&in);
    drop(&expected);
}

static void all_exchanges(const char *name) {
    static const long lengths[] = {0, 1, 7, 28, 500, 3001};
    t.name = name;
    EACH_FORM for (int l = 0; l < 6; l++) for (int v = 0; v < 4; v++)
        if (!skip(l + v)) exchange(lengths[l], (l + form + v) % 3 ? l + form + v : -1, v % 2, v / 2);
    static int longer;
    form = longer++ % FORMS;
    exchange(30000, form, form % 2, form / 2 % 2);
    OK(MPI_Comm_free(&t.comm));
}

static void grid(int n, const int *dims, const int *periods, const char *name) {
    int coords[4], product = 1;
    for (int d = 0; d < n; d++) product *= dims[d];
    if (product != size) return;
    OK(MPI_Cart_create(MPI_COMM_WORLD, n, dims, periods, 0, &t.comm));
    for (int d = n - 1, rest = rank; d >= 0; rest /= dims[d--]) coords[d] = rest % dims[d];
    t.in = t.out = 2 * n;
    for (int d = 0; d < n; d++)
        for (int up = 0; up < 2; up++) {
            int c = coords[d] + (up ? 1 : -1), r = 0;
            int outside = !periods[d] && (c < 0 || c >= dims[d]);
            for (int e = 0; e < n; e++) r = r * dims[e] + (e == d ? (c + dims[d]) % dims[d] : coords[e]);
            t.src[2 * d + up] = t.dst[2 * d + up] = outside ? MPI_PROC_NULL : r;
            // What comes from below was sent upwards.
            t.src_slot[2 * d + up] = 2 * d + !up;
        }
    all_exchanges(name);
}

// For graphs: edge number m from `s` to this process is the m-th time that `s` names it.
static int destinations(int who, int *list);
static void match(int in, const int *sources) {
    int list[MOST];
    t.in = in;
    t.out = destinations(rank, t.dst);
    for (int l = 0; l < in; l++) {
        int before = 0, n = destinations(sources[l], list), k = 0;
        t.src[l] = sources[l];
        for (int i = 0; i < l; i++) before += sources[i] == sources[l];
        for (; k < n; k++)
            if (list[k] == rank && before-- == 0) break;
        CHECK(k < n);
        t.src_slot[l] = k;
    }
}

static int which; // which graph: symmetric ones for MPI_Graph_create are 0 and 1
static int destinations(int who, int *list) {
    int n = 0;
    switch (which) {
        case 0: // a ring, and two edges to oneself
            list[n++] = (who + 1) % size;
            list[n++] = who;
            list[n++] = (who + size - 1) % size;
            list[n++] = who;
            break;
        case 1: // a star with double edges; the last has no neighbours
            if (who == 0)
                for (int i = 0; i < 2 * (size - 2); i++) list[n++] = 1 + i % (size - 2);
            else if (who < size - 1)
                list[n++] = 0, list[n++] = 0;
            break;
        case 2: // none, one or three edges; backwards
            for (int i = size - 1; i >= 0; i--)
                for (int k = 0; k < ((who * 3 + i * 5) % 4 == 0 ? 1 : (who + 2 * i) % 5 == 2 ? 3 : 0); k++) list[n++] = i;
            break;
        case 3: // from all to rank 0, which sends nothing
            if (who) list[n++] = 0;
            break;
        case 4: break;
    }
    return n;
}

static int sources_of(int who, int *list) {
    int n = 0, to_it[MOST];
    for (int k = 0; k < size; k++) {
        int i = (k + who) % size, many = destinations(i, to_it); // starting with itself
        for (int e = 0; e < many; e++)
            if (to_it[e] == who) list[n++] = i;
    }
    return n;
}

static void graph(const char *name) {
    int index[MOST], edges[MOST * 4], n = 0;
    if (which == 1 && size < 3) return;
    for (int i = 0; i < size; i++) {
        n += destinations(i, edges + n);
        index[i] = n;
    }
    OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &t.comm));
    int list[MOST], many = destinations(rank, list);
    match(many, list);
    all_exchanges(name);
}

static void distributed(const char *name) {
    int sources[MOST], dests[MOST], in = sources_of(rank, sources), outd = destinations(rank, dests);
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, MPI_UNWEIGHTED, outd, dests, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &t.comm));
    match(in, sources);
    all_exchanges(name);
}

// The order of neighbours is that of the library; each process sends its own to all others.
static int told[16][MOST + 1];
static void general(void) {
    int dests[MOST], degree = destinations(rank, dests), in, outd, weighted, sources[MOST], list[MOST];
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, dests, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &t.comm));
    OK(MPI_Dist_graph_neighbors_count(t.comm, &in, &outd, &weighted));
    OK(MPI_Dist_graph_neighbors(t.comm, in, sources, MPI_UNWEIGHTED, outd, list, MPI_UNWEIGHTED));
    int mine[MOST + 1] = {outd};
    memcpy(mine + 1, list, (size_t)outd * sizeof(int));
    for (int i = 0; i < size; i++)
        OK(MPI_Sendrecv(mine, MOST + 1, MPI_INT, (rank + i) % size, 3, told[(rank + size - i) % size], MOST + 1, MPI_INT,
                        (rank + size - i) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    t.in = in, t.out = outd;
    for (int l = 0; l < in; l++) {
        int s = sources[l], before = 0, k = 1;
        for (int i = 0; i < l; i++) before += sources[i] == s;
        for (; k <= told[s][0]; k++)
            if (told[s][k] == rank && before-- == 0) break;
        CHECK(k <= told[s][0]);
        t.src[l] = s, t.src_slot[l] = k - 1;
    }
    memcpy(t.dst, list, (size_t)outd * sizeof(int));
    all_exchanges("the graph of MPI_Dist_graph_create");
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    make_kinds();
    int zeros[4] = {0}, ones[4] = {1, 1, 1, 1}, half[2] = {2, size / 2}, line[3] = {1, size, 1}, mixed[3] = {1, 0, 1};
    grid(1, &size, zeros, "an open line");
    grid(1, &size, ones, "a ring");
    grid(2, half, ones, "a torus of 2 by half");
    grid(2, half, mixed, "a cylinder of 2 by half");
    grid(3, line, ones, "a torus of 1 by all by 1");
    grid(3, line, mixed, "an open line, periodic across");
    which = 0;
    graph("a graph: ring and selves");
    which = 1;
    graph("a graph: star");
    which = 0;
    distributed("a distributed graph: ring and selves");
    which = 2;
    distributed("a distributed graph of many edges");
    general();
    which = 3;
    distributed("a distributed graph: all to one");
    which = 4;
    distributed("a distributed graph without edges");
    free_kinds();
    return finish();
}
