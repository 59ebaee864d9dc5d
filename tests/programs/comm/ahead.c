// ranks: 2 3 4 7 8
// no-check: measures memory
// The first process makes communicators while the others do something else: it may not run ahead without bound.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    MPI_Comm comm;
    // What the first call needs, its code too, is not counted.
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    long before = resident_kib();
    if (rank > 0) sleep_ms(500);
    for (int i = 0; i < 20000; i++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        OK(MPI_Comm_free(&comm));
    }
    // A message and what is kept with it are some 200 bytes; 20,000 of them would be 4 MiB. Up to 2 MiB are code that is executed for
    // the first time while rank 0 waits. Links to other hosts have buffers,
    // and keep up to 256 KiB each before their senders must ask.
    long links_kib = on_hosts() ? 1536 : 0;
    CHECK(resident_kib() - before < 3072 + links_kib + provider_kib());
    return finish();
}
