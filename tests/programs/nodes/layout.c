// ranks: 6
// launch: --pretend-nodes 3,1,2
// args: 000122
// Ranks on three pretended nodes of different sizes: which of them share memory, and what they can do with those
// that do not. The argument says the node of each rank.
#include "../check.h"

static const char *nodes;
static int own_node, on_node, before; // this rank's node, the ranks there, and those of them before this one

static int node_of(int r) { return nodes[r] - '0'; }

// The communicator has the ranks of this node, in their order.
static void is_node(MPI_Comm comm, int line) {
    int r = -1, n = -1, world[64];
    OK(MPI_Comm_rank(comm, &r));
    OK(MPI_Comm_size(comm, &n));
    if (n != on_node || r != before) CHECK_FAIL("line %d: rank %d of %d, not %d of %d", line, r, n, before, on_node);
    OK(MPI_Allgather(&rank, 1, MPI_INT, world, 1, MPI_INT, comm));
    for (int i = 0; i < n; i++) CHECK_EQ(node_of(world[i]), own_node);
    for (int i = 1; i < n; i++) CHECK(world[i] > world[i - 1]);
}

static void split(void) {
    MPI_Comm comm, again;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
    is_node(comm, __LINE__);
    OK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &again));
    is_node(again, __LINE__);
    OK(MPI_Comm_free(&again));
    OK(MPI_Comm_free(&comm));
    const char *kinds[] = {"mpi_shared_memory", "hwloc://Machine"};
    for (int i = 0; i < 2; i++) {
        MPI_Info info;
        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, "mpi_hw_resource_type", kinds[i]));
        OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm));
        is_node(comm, __LINE__);
        OK(MPI_Comm_free(&comm));
        OK(MPI_Info_free(&info));
    }
    // Of all kinds of hardware the largest that divides them is the node.
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &comm));
    is_node(comm, __LINE__);
    OK(MPI_Comm_free(&comm));
}

static void names(void) {
    char all[64][MPI_MAX_PROCESSOR_NAME] = {{0}}, own[MPI_MAX_PROCESSOR_NAME] = {0};
    int length;
    OK(MPI_Get_processor_name(own, &length));
    OK(MPI_Allgather(own, sizeof own, MPI_CHAR, all, sizeof own, MPI_CHAR, MPI_COMM_WORLD));
    for (int r = 0; r < size; r++) CHECK_EQ(strcmp(own, all[r]) == 0, node_of(r) == own_node);
}

static void environment(void) {
    CHECK_EQ(atoi(getenv("OXMPI_LOCAL_SIZE")), on_node);
    CHECK_EQ(atoi(getenv("OXMPI_LOCAL_RANK")), before);
}

// Windows inside a node work; between nodes all ranks get the error, and all can go on.
static void windows(void) {
    MPI_Win win;
    int *base, memory[4] = {0};
    CHECK_ERROR(MPI_Win_allocate_shared(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_RMA_SHARED,
                "several nodes");
    CHECK_ERROR(MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_OTHER, "several nodes");
    CHECK_ERROR(MPI_Win_create(memory, 16, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_OTHER, "several nodes");
    CHECK_ERROR(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_OTHER, "several nodes");
    MPI_Comm node;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node, &base, &win));
    OK(MPI_Win_fence(0, win));
    int next = (before + 1) % on_node;
    OK(MPI_Put(&rank, 1, MPI_INT, next, 0, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK_EQ(node_of(*base), own_node);
    MPI_Aint bytes;
    int unit, *first;
    OK(MPI_Win_shared_query(win, 0, &bytes, &unit, &first));
    CHECK_EQ(node_of(first[0]), own_node);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_create(memory, 16, 4, MPI_INFO_NULL, node, &win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    int sum = 0;
    for (int r = 0; r < size; r++) sum += node_of(r) == own_node ? r : 0;
    if (before == 0) CHECK_EQ(memory[0], sum);
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_free(&node));
}

// The order of a grid that may be changed has neighbours on one node where it can; the same on all ranks.
static void grid(void) {
    int dims[2] = {size / 2, 2}, periods[2] = {0, 0}, world[64], r;
    MPI_Comm comm;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm));
    OK(MPI_Comm_rank(comm, &r));
    OK(MPI_Allgather(&rank, 1, MPI_INT, world, 1, MPI_INT, comm));
    CHECK_EQ(world[r], rank);
    int apart = 0, as_given = 0;
    for (int i = 0; i < size; i += 2) {
        apart += node_of(world[i]) != node_of(world[i + 1]);
        as_given += node_of(i) != node_of(i + 1);
    }
    CHECK(apart <= as_given);
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    nodes = argv[1];
    CHECK_EQ(strlen(nodes), size);
    own_node = node_of(rank);
    for (int r = 0; r < size; r++) {
        on_node += node_of(r) == own_node;
        before += r < rank && node_of(r) == own_node;
    }
    names();
    environment();
    split();
    windows();
    grid();
    return finish();
}
