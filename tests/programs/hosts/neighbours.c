// ranks: 6
// launch: --pretend-hosts 3 --map-by node
// Ranks that are dealt to hosts in turn: MPI_COMM_TYPE_SHARED is a host, and a ring that may be reordered has neighbours on one
// host wherever it can.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Comm host, ring;
    int on_host, name = rank, names[8], reordered[8], periodic = 1, crossing = 0;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    OK(MPI_Comm_size(host, &on_host));
    CHECK_EQ(on_host, 2);
    // The lowest rank of a host is its name.
    OK(MPI_Bcast(&name, 1, MPI_INT, 0, host));
    OK(MPI_Allgather(&name, 1, MPI_INT, names, 1, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++) CHECK_EQ(names[i], i % 3);
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 1, &ring));
    OK(MPI_Allgather(&name, 1, MPI_INT, reordered, 1, MPI_INT, ring));
    for (int i = 0; i < size; i++) crossing += reordered[i] != reordered[(i + 1) % size];
    CHECK_EQ(crossing, 3);
    OK(MPI_Comm_free(&ring));
    OK(MPI_Comm_free(&host));
    return finish();
}
