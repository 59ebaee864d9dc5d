// ranks: 1 2 3 4 7 8 12
// launch: --bind-to core
// cflags: -D_GNU_SOURCE
// Ranks that may be reordered, all of them bound to a CPU: each process has one place, MPI_Cart_map
// and MPI_Graph_map agree with the communicators, a node keeps the edges that were described for
// it, whichever process it is, and neighbours are at least as near as before. With the ranks
// distributed in turn, a chain changes the CPU once for each.
#include "../check.h"
#include <sched.h>

static int hosts, host;

// The CPU of this process, or its host where there are several: no host knows the CPUs of others.
static int first_cpu(void) {
    cpu_set_t cpus;
    CHECK(!sched_getaffinity(0, sizeof cpus, &cpus));
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &cpus)) return hosts ? host : cpu;
    return -1;
}

// What every rank of a communicator says.
static void tell_all(MPI_Comm comm, int own, int *all) {
    int n, me;
    OK(MPI_Comm_size(comm, &n));
    OK(MPI_Comm_rank(comm, &me));
    for (int i = 0; i < n; i++) {
        MPI_Request request;
        OK(MPI_Isend(&own, 1, MPI_INT, i, 77, comm, &request));
        OK(MPI_Request_free(&request));
    }
    for (int i = 0; i < n; i++) OK(MPI_Recv(&all[i], 1, MPI_INT, i, 77, comm, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(comm));
}

// How many edges of a chain or a ring lie between two CPUs.
static int between(const int *cpus, int n, int ring) {
    int count = 0;
    for (int i = 0; i + 1 < n; i++) count += cpus[i] != cpus[i + 1];
    return count + (ring && n > 2 && cpus[0] != cpus[n - 1]);
}

static int parts(const int *cpus, int n) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        int seen = 0;
        for (int j = 0; j < i; j++) seen |= cpus[j] == cpus[i];
        count += !seen;
    }
    return count;
}

// Each of the first n processes has one place in the new communicator; returns the CPUs by new
// rank.
static void check_places(MPI_Comm made, int n, int mapped, int *cpus) {
    int all[64], me = -1, count = 0;
    CHECK_EQ(made == MPI_COMM_NULL, rank >= n);
    if (rank >= n) {
        CHECK_EQ(mapped, MPI_UNDEFINED);
        return;
    }
    OK(MPI_Comm_size(made, &count));
    CHECK_EQ(count, n);
    OK(MPI_Comm_rank(made, &me));
    CHECK_EQ(mapped, me);
    tell_all(made, rank, all);
    CHECK_EQ(all[me], rank);
    for (int i = 0; i < n; i++) {
        int times = 0;
        for (int j = 0; j < n; j++) times += all[j] == i;
        CHECK_EQ(times, 1);
    }
    tell_all(made, first_cpu(), cpus);
}

static void grids(const int *before) {
    for (int n = size > 2 ? size - 1 : size; n <= size; n++)
        for (int periodic = 0; periodic < 2; periodic++) {
            MPI_Comm made;
            int mapped = -5, cpus[64], coords = -1, me;
            OK(MPI_Cart_map(MPI_COMM_WORLD, 1, &n, &periodic, &mapped));
            OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &periodic, 1, &made));
            check_places(made, n, mapped, cpus);
            if (made == MPI_COMM_NULL) continue;
            CHECK(between(cpus, n, periodic) <= between(before, n, periodic));
            int least = parts(before, n) - 1;
            CHECK_EQ(between(cpus, n, periodic), periodic && n > 2 && least ? least + 1 : least);
            OK(MPI_Comm_rank(made, &me));
            OK(MPI_Cart_coords(made, me, 1, &coords));
            CHECK_EQ(coords, me);
            OK(MPI_Comm_free(&made));
        }
    int dims[3] = {0, 0, 0}, periods[3] = {0, 1, 0}, mapped = -5, cpus[64];
    MPI_Comm made;
    OK(MPI_Dims_create(size, 3, dims));
    OK(MPI_Cart_map(MPI_COMM_WORLD, 3, dims, periods, &mapped));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 1, &made));
    check_places(made, size, mapped, cpus);
    OK(MPI_Comm_free(&made));
    // Without reorder, each process keeps its rank.
    OK(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &made));
    check_places(made, size, rank, cpus);
    OK(MPI_Comm_free(&made));
}

// A chain as a graph; node 0 has an edge to itself besides.
static void graphs(const int *before) {
    int index[64], edges[128], count = 0, mapped = -5, cpus[64];
    MPI_Comm made;
    for (int node = 0; node < size; node++) {
        if (node == 0) edges[count++] = 0;
        if (node > 0) edges[count++] = node - 1;
        if (node + 1 < size) edges[count++] = node + 1;
        index[node] = count;
    }
    OK(MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &mapped));
    OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 1, &made));
    check_places(made, size, mapped, cpus);
    CHECK_EQ(between(cpus, size, 0), parts(before, size) - 1);
    OK(MPI_Comm_free(&made));
}

// The same chain, each process describing its own node; weights say whose node it is.
static void distributed(const int *before, int adjacent) {
    int peers[2], weights[2], back[2], count = 0, me, in, out, weighted, cpus[64];
    int sources[2], in_weights[2], dests[2], out_weights[2];
    MPI_Comm made;
    // The later neighbour first: with MPI_Dist_graph_create_adjacent the order stays.
    for (int step = 1; step >= -1; step -= 2)
        if (rank + step >= 0 && rank + step < size) {
            weights[count] = 100 * rank + rank + step + 1;
            back[count] = 100 * (rank + step) + rank + 1;
            peers[count++] = rank + step;
        }
    if (adjacent)
        OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, count, peers, back, count, peers, weights, MPI_INFO_NULL, 1, &made));
    else
        OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &count, peers, weights, MPI_INFO_NULL, 1, &made));
    OK(MPI_Comm_rank(made, &me));
    check_places(made, size, me, cpus);
    CHECK(between(cpus, size, 0) <= between(before, size, 0));
    OK(MPI_Dist_graph_neighbors_count(made, &in, &out, &weighted));
    int expected = (me > 0) + (me + 1 < size);
    CHECK_EQ(in, expected);
    CHECK_EQ(out, expected);
    OK(MPI_Dist_graph_neighbors(made, in, sources, in_weights, out, dests, out_weights));
    for (int i = 0; i < out; i++) {
        int peer = (i == 0) == (adjacent != 0) ? me + 1 : me - 1;
        if (out == 1) peer = me > 0 ? me - 1 : me + 1;
        CHECK_EQ(dests[i], peer);
        CHECK_EQ(sources[i], peer);
        CHECK_EQ(out_weights[i], 100 * me + peer + 1);
        CHECK_EQ(in_weights[i], 100 * peer + me + 1);
    }
    OK(MPI_Comm_free(&made));
}

int main(int argc, char **argv) {
    int before[64];
    start(&argc, &argv);
    return_errors();
    hosts = on_hosts();
    host = host_number();
    tell_all(MPI_COMM_WORLD, first_cpu(), before);
    grids(before);
    graphs(before);
    distributed(before, 0);
    distributed(before, 1);
    return finish();
}
