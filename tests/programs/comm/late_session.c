// ranks: 2
// sleeps: a rank waits for seconds between two sessions
// timeout: 30
// A process ends its last session, and opens another one or the world later: processes that wait for it in between get no error
// because it has finalized.
#include "../check.h"

static MPI_Comm join(MPI_Session *session) {
    MPI_Group group;
    MPI_Comm comm;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session));
    OK(MPI_Group_from_session_pset(*session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, "late", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Group_free(&group));
    return comm;
}

int main(void) {
    int other = -1;
    MPI_Session session;
    MPI_Comm comm = join(&session);
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&session));
    if (rank == 1) sleep_ms(2000);
    comm = join(&session);
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&session));
    // The world begins later still.
    if (rank == 1) sleep_ms(2000);
    OK(MPI_Init(NULL, NULL));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, 0, &other, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(other, 1 - rank);
    // One process makes a communicator from the group of the world, the other from a session after the world.
    MPI_Group group;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    if (rank == 1) {
        OK(MPI_Group_free(&group));
        OK(MPI_Finalize());
        sleep_ms(2000);
        comm = join(&session);
    } else {
        OK(MPI_Comm_create_from_group(group, "late", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
        OK(MPI_Group_free(&group));
    }
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
    if (rank == 1) OK(MPI_Session_finalize(&session));
    else OK(MPI_Finalize());
    printf("done\n");
    return 0;
}
