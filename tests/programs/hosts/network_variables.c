// ranks: 4
// launch: --pretend-hosts 2
// timeout: 60
// The performance variables of the network: bytes and packets for each rank, connections, packets of TCP that were sent again.
// Ranks 0 and 1 are on one host, 2 and 3 on the other.
#include "../tool/tool.h"

enum { MESSAGES = 5, BYTES = 3000 };
static MPI_T_pvar_session session;

static void by_rank(const char *name, unsigned long long values[4]) {
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_pvar_handle handle;
    int count = -1;
    CODE(MPI_T_pvar_handle_alloc(session, pvar_index(name, MPI_T_PVAR_CLASS_LEVEL), &world, &handle, &count), MPI_SUCCESS);
    CHECK_EQ(count, 4);
    CODE(MPI_T_pvar_read(session, handle, values), MPI_SUCCESS);
    CODE(MPI_T_pvar_handle_free(session, &handle), MPI_SUCCESS);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    start_tool();
    CODE(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    const int near = rank ^ 1, far = rank ^ 2;
    unsigned long long bytes[4], packets[4], before[4];
    char out[BYTES], in[BYTES];
    fill(out, BYTES, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    by_rank("oxmpi_network_bytes_sent_by_rank", before);
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Sendrecv(out, BYTES, MPI_BYTE, far, i, in, BYTES, MPI_BYTE, far, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(out, BYTES, MPI_BYTE, near, i, in, BYTES, MPI_BYTE, near, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    by_rank("oxmpi_network_bytes_sent_by_rank", bytes);
    CHECK(bytes[far] - before[far] >= MESSAGES * BYTES && bytes[far] - before[far] < 2 * MESSAGES * BYTES);
    CHECK_EQ(bytes[near], 0);
    CHECK_EQ(bytes[rank], 0);
    by_rank("oxmpi_network_bytes_received_by_rank", bytes);
    CHECK(bytes[far] >= MESSAGES * BYTES);
    CHECK_EQ(bytes[near], 0);
    by_rank("oxmpi_network_packets_sent_by_rank", packets);
    CHECK(packets[far] >= MESSAGES);
    by_rank("oxmpi_network_packets_received_by_rank", packets);
    CHECK(packets[far] >= MESSAGES);
    CHECK_EQ(packets[near], 0);
    const unsigned long long connections = number(session, level(session, "oxmpi_network_connections"));
    CHECK(connections >= 1 && connections <= 2);
    // Nothing is lost on this machine, but the value is one that the kernel has given.
    CHECK(number(session, level(session, "oxmpi_network_retransmits")) < 1000000);
    return finish();
}
