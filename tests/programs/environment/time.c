// ranks: 1 2
// attempts: 3
// MPI_Wtime advances like the wall clock; MPI_Wtick is its resolution.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    double tick = MPI_Wtick(), last = MPI_Wtime(), smallest = 1;
    CHECK(tick > 0 && tick <= 1e-3);
    for (int i = 0; i < 100000; i++) {
        double now = MPI_Wtime();
        CHECK(now >= last);
        if (now > last && now - last < smallest) smallest = now - last;
        last = now;
    }
    CHECK(smallest < 1e-4); // fine enough to time a message
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    double began = MPI_Wtime();
    sleep_ms(200);
    double took = MPI_Wtime() - began;
    clock_gettime(CLOCK_MONOTONIC, &b);
    double real = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
    CHECK(took >= 0.199 && took <= real + 0.01);
    return finish();
}
