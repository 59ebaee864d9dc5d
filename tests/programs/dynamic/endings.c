// ranks: 1 3
// timeout: 40
// no-check: communicators are left at the end
// Jobs that are connected end at different times, with and without a disconnect, and messages on the way still arrive; a third job
// joins two that are connected already.
#include "jobs.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter, merged, again, three;
    int all, got = -1;
    if (argc > 1) {
        int late = argv[1][0] == 'l', third = argv[1][0] == 't';
        MPI_Comm_connect(argv[2], MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        MPI_Intercomm_merge(inter, 1, &merged);
        if (third) {
            // The first two jobs are one group of what it connected with.
            MPI_Comm_size(merged, &all);
            MPI_Allreduce(&(int){1}, &got, 1, MPI_INT, MPI_SUM, merged);
            CHECK_EQ(got, all);
            MPI_Comm_disconnect(&merged);
            MPI_Comm_disconnect(&inter);
            return finish();
        }
        if (late) {
            MPI_Comm_accept(argv[2], MPI_INFO_NULL, 0, merged, &three);
            MPI_Intercomm_merge(three, 0, &again);
            MPI_Comm_size(again, &all);
            MPI_Allreduce(&(int){1}, &got, 1, MPI_INT, MPI_SUM, again);
            CHECK_EQ(got, all);
            MPI_Comm_disconnect(&again);
            MPI_Comm_disconnect(&three);
            sleep_ms(300);
        }
        if (rank == 0) MPI_Send(&(int){42}, 1, MPI_INT, 0, 5, inter);
        return finish();
    }
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    static const char *ends[] = {"early", "late"};
    for (int turn = 0; turn < 2; turn++) {
        pid_t other = rank == 0 ? start_job(2, argv[0], ends[turn], port) : 0;
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        MPI_Intercomm_merge(inter, 0, &merged);
        if (turn) {
            pid_t third = rank == 0 ? start_alone(argv[0], "third", port) : 0;
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, merged, &three);
            MPI_Intercomm_merge(three, 0, &again);
            MPI_Comm_size(again, &all);
            CHECK_EQ(all, size + 3);
            MPI_Allreduce(&(int){1}, &got, 1, MPI_INT, MPI_SUM, again);
            CHECK_EQ(got, all);
            MPI_Comm_disconnect(&again);
            MPI_Comm_disconnect(&three);
            if (rank == 0) end_job(third, 0);
        }
        if (rank == 0) {
            // It may have ended when its message is received.
            if (!turn) end_job(other, 0);
            MPI_Recv(&got, 1, MPI_INT, 0, 5, inter, MPI_STATUS_IGNORE);
            CHECK_EQ(got, 42);
            if (turn) end_job(other, 0);
        }
    }
    if (rank == 0) MPI_Close_port(port);
    return finish();
}
