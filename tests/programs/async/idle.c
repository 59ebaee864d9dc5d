// ranks: 2
// env: OXMPI_ASYNC_PROGRESS=1
// attempts: 3
// timeout: 60
// sleeps: it looks at a thread that sleeps
// no-valgrind: counts what a thread does
// The thread of asynchronous progress sleeps while nothing is pending, while nothing can move, and while the program waits
// itself. It gets no signals. MPI_Finalize ends it.
#include "../check.h"
#include "thread.h"

enum { ROUNDS = 2000, LONG = 1 << 20 };

int main(int argc, char **argv) {
    CHECK_EQ(helper(), 0);
    start(&argc, &argv);
    const long thread = await_helper();
    int word = rank, flag = -1;

    const char *blocked = strstr(of_thread(thread, "status"), "SigBlk:");
    CHECK(blocked != NULL);
    // All but those of the C library, and those that cannot be blocked.
    const unsigned long long mask = strtoull(blocked + 7, NULL, 16), all = ~0ull;
    const unsigned long long own = 1ull << 8 | 1ull << 18 | 3ull << 31;
    CHECK_EQ(mask | own, all);

    // Nothing is pending: it does not even wake up.
    MPI_Barrier(MPI_COMM_WORLD);
    sleep_ms(50);
    long before = sleeps_of(thread);
    double cpu = cpu_ms_of(thread);
    sleep_ms(700);
    CHECK_EQ(sleeps_of(thread), before);
    CHECK(cpu_ms_of(thread) - cpu < 0.5);

    // Short messages that the program waits for are none of its business.
    before = sleeps_of(thread);
    for (int i = 0; i < ROUNDS; i++)
        MPI_Sendrecv_replace(&word, 1, MPI_INT, !rank, 1, !rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(sleeps_of(thread) - before < ROUNDS / 50);

    // Nothing can move: it sleeps, and looks seldom.
    char *in = get_memory(LONG), *out = get_memory(LONG);
    MPI_Request request;
    MPI_Irecv(in, LONG, MPI_BYTE, !rank, 2, MPI_COMM_WORLD, &request);
    sleep_ms(100);
    before = sleeps_of(thread), cpu = cpu_ms_of(thread);
    sleep_ms(1500);
    CHECK(sleeps_of(thread) - before < 20);
    CHECK(cpu_ms_of(thread) - cpu < 5);
    MPI_Barrier(MPI_COMM_WORLD);

    // It wakes up when something comes.
    fill(out, LONG, (unsigned)rank);
    MPI_Request sent;
    MPI_Isend(out, LONG, MPI_BYTE, !rank, 2, MPI_COMM_WORLD, &sent);
    sleep_ms(300);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK_EQ(flag, 1);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    CHECK_PATTERN(in, LONG, (unsigned)!rank);
    free(in);
    free(out);

    int status = finish();
    CHECK_EQ(helper(), 0);
    return status;
}
