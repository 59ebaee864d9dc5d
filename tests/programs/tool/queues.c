// ranks: 1 2 5
// one-host: it counts all messages, and between hosts the library sends more of its own
// The lengths of the queues are right: of unexpected messages, by communicator and by sender, with
// their memory, and of posted receives. Messages up to the eager limit arrive without a receive,
// longer ones stay with their sender.
#include "tool.h"

enum { MESSAGES = 7, BYTES = 100 };
static MPI_T_pvar_session session;

// Messages arrive when the rank makes progress.
static void look(void) {
    int flag;
    for (int i = 0; i < 20; i++) MPI_Iprobe(MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    start_tool();
    CODE(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Barrier(MPI_COMM_WORLD);
    const char *on_comm = "oxmpi_unexpected_messages_on_comm", *receives = "oxmpi_posted_receives_on_comm";
    const int class = MPI_T_PVAR_CLASS_LEVEL;
    MPI_T_pvar_handle all = level(session, "oxmpi_unexpected_messages"), on_world = pvar(session, on_comm, class, MPI_COMM_WORLD),
                      on_other = pvar(session, on_comm, class, other), memory = level(session, "oxmpi_unexpected_memory"),
                      posted = level(session, "oxmpi_posted_receives"),
                      posted_world = pvar(session, receives, class, MPI_COMM_WORLD),
                      posted_other = pvar(session, receives, class, other), by_rank;
    MPI_Comm world = MPI_COMM_WORLD;
    int count = -1, left = (rank + size - 1) % size, right = (rank + 1) % size;
    CODE(MPI_T_pvar_handle_alloc(session, pvar_index("oxmpi_unexpected_messages_by_rank", class), &world, &by_rank, &count),
         MPI_SUCCESS);
    CHECK_EQ(count, size);

    const unsigned long long before = number(session, all), before_memory = number(session, memory);
    CHECK_EQ(number(session, on_world), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    char out[BYTES], in[BYTES];
    fill(out, BYTES, 1);
    for (int i = 0; i < MESSAGES; i++) MPI_Send(out, BYTES, MPI_BYTE, right, i, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) MPI_Send(out, BYTES, MPI_BYTE, right, i, other);
    MPI_Barrier(MPI_COMM_WORLD);
    look();
    CHECK_EQ(number(session, all), before + MESSAGES + 3);
    CHECK_EQ(number(session, on_world), MESSAGES);
    CHECK_EQ(number(session, on_other), 3);
    CHECK(number(session, memory) >= before_memory + BYTES * (MESSAGES + 3));
    unsigned long long by[6] = {9, 9, 9, 9, 9, 9};
    CODE(MPI_T_pvar_read(session, by_rank, by), MPI_SUCCESS);
    for (int i = 0; i < size; i++) CHECK_EQ(by[i], i == left ? MESSAGES : 0);
    CHECK_EQ(by[size], 9);
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Recv(in, BYTES, MPI_BYTE, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_PATTERN(in, BYTES, 1);
        CHECK_EQ(number(session, on_world), MESSAGES - 1 - i);
    }
    for (int i = 0; i < 3; i++) MPI_Recv(in, BYTES, MPI_BYTE, left, i, other, MPI_STATUS_IGNORE);
    CHECK_EQ(number(session, on_other), 0);
    CHECK_EQ(number(session, all), before);
    CHECK_EQ(number(session, memory), before_memory);
    MPI_Barrier(MPI_COMM_WORLD);

    // Receives that wait, until their messages have come.
    const unsigned long long waiting = number(session, posted);
    MPI_Request requests[5];
    static char rooms[5][BYTES];
    for (int i = 0; i < 5; i++)
        MPI_Irecv(rooms[i], BYTES, MPI_BYTE, i < 2 ? MPI_ANY_SOURCE : left, 50 + i, i < 4 ? MPI_COMM_WORLD : other, &requests[i]);
    CHECK_EQ(number(session, posted), waiting + 5);
    CHECK_EQ(number(session, posted_world), 4);
    CHECK_EQ(number(session, posted_other), 1);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(number(session, posted_world), 4);
    for (int i = 0; i < 5; i++) MPI_Send(out, BYTES, MPI_BYTE, right, 50 + i, i < 4 ? MPI_COMM_WORLD : other);
    MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
    CHECK_EQ(number(session, posted), waiting);
    CHECK_EQ(number(session, posted_world), 0);
    CHECK_EQ(number(session, posted_other), 0);
    MPI_Irecv(in, BYTES, MPI_BYTE, left, 77, MPI_COMM_WORLD, &requests[0]);
    CHECK_EQ(number(session, posted_world), 1);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK_EQ(number(session, posted_world), 0);
    MPI_Barrier(MPI_COMM_WORLD);

    // At the limit a message is gone at once, beyond it waits for its receiver.
    MPI_T_cvar_handle limit;
    unsigned long long eager = 0;
    CODE(MPI_T_cvar_handle_alloc(cvar_index("oxmpi_eager_limit"), NULL, &limit, &count), MPI_SUCCESS);
    CODE(MPI_T_cvar_read(limit, &eager), MPI_SUCCESS);
    CHECK(eager > 0 && eager < 1 << 20);
    if (size > 1) {
        char *long_out = get_memory(eager + 1), *long_in = get_memory(eager + 1);
        int done[2] = {-1, -1};
        fill(long_out, eager + 1, 2);
        MPI_Isend(long_out, (int)eager, MPI_BYTE, right, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(long_out, (int)eager + 1, MPI_BYTE, right, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Barrier(MPI_COMM_WORLD);
        look();
        MPI_Test(&requests[0], &done[0], MPI_STATUS_IGNORE);
        MPI_Test(&requests[1], &done[1], MPI_STATUS_IGNORE);
        CHECK_EQ(done[0], 1);
        CHECK_EQ(done[1], 0);
        CHECK_EQ(number(session, on_world), 2);
        unsigned long long stored = number(session, memory) - before_memory;
        CHECK(stored >= eager && stored < 2 * eager);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int tag = 1; tag <= 2; tag++) {
            MPI_Recv(long_in, (int)eager + 1, MPI_BYTE, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_PATTERN(long_in, eager + (unsigned long long)tag - 1, 2);
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK_EQ(number(session, on_world), 0);
        free(long_out);
        free(long_in);
    }
    MPI_Comm_free(&other);
    CODE(MPI_T_finalize(), MPI_SUCCESS);
    return finish();
}
