// ranks: 1 2 8
// MPI_Initialized and MPI_Finalized at every stage; MPI_Init with null arguments.
#include "../check.h"

static void expect(int up, int down) {
    int flag = -1;
    OK(MPI_Initialized(&flag));
    CHECK_EQ(flag, up);
    flag = -1;
    OK(MPI_Finalized(&flag));
    CHECK_EQ(flag, down);
}

int main(void) {
    int provided = -1, flag = -1;
    expect(0, 0);
    OK(MPI_Init(NULL, NULL));
    expect(1, 0);
    OK(MPI_Query_thread(&provided));
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE);
    OK(MPI_Is_thread_main(&flag));
    CHECK_EQ(flag, 1);
    OK(MPI_Finalize());
    expect(1, 1);
    return 0;
}
