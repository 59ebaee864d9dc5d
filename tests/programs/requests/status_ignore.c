// ranks: 1 2
// MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE wherever a status comes back.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, in[4], flag, index, count, indices[4];
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request r[4], s[4];
    MPI_Message message;
    for (int way = 0; way < 9; way++) {
        for (int i = 0; i < 4; i++) in[i] = -1;
        for (int i = 0; i < 4; i++) MPI_Irecv(&in[i], 1, MPI_INT, left, i, comm, &r[i]);
        for (int i = 0; i < 4; i++) MPI_Isend(&way, 1, MPI_INT, right, i, comm, &s[i]);
        switch (way) {
        case 0:
            for (int i = 0; i < 4; i++) OK(MPI_Wait(&r[i], MPI_STATUS_IGNORE));
            break;
        case 1:
            for (int i = 0; i < 4; i++)
                for (flag = 0; !flag;) OK(MPI_Test(&r[i], &flag, MPI_STATUS_IGNORE));
            break;
        case 2:
            for (int i = 0; i < 4; i++) OK(MPI_Waitany(4, r, &index, MPI_STATUS_IGNORE));
            break;
        case 3:
            for (int i = 0; i < 4; i++)
                for (flag = 0; !flag;) OK(MPI_Testany(4, r, &index, &flag, MPI_STATUS_IGNORE));
            break;
        case 4:
            OK(MPI_Waitall(4, r, MPI_STATUSES_IGNORE));
            break;
        case 5:
            for (flag = 0; !flag;) OK(MPI_Testall(4, r, &flag, MPI_STATUSES_IGNORE));
            break;
        case 6:
            for (int done = 0; done < 4; done += count) OK(MPI_Waitsome(4, r, &count, indices, MPI_STATUSES_IGNORE));
            break;
        case 7:
            for (int done = 0; done < 4; done += count) OK(MPI_Testsome(4, r, &count, indices, MPI_STATUSES_IGNORE));
            break;
        default:
            for (int i = 0; i < 4; i++) {
                for (flag = 0; !flag;) OK(MPI_Request_get_status(r[i], &flag, MPI_STATUS_IGNORE));
                OK(MPI_Wait(&r[i], MPI_STATUS_IGNORE));
            }
        }
        for (int i = 0; i < 4; i++) {
            CHECK(r[i] == MPI_REQUEST_NULL);
            CHECK_EQ(in[i], way);
        }
        OK(MPI_Waitall(4, s, MPI_STATUSES_IGNORE));
    }
    MPI_Barrier(comm);
    for (int way = 0; way < 4; way++) {
        in[0] = -1;
        MPI_Isend(&way, 1, MPI_INT, right, 9, comm, &s[0]);
        switch (way) {
        case 0:
            OK(MPI_Probe(left, 9, comm, MPI_STATUS_IGNORE));
            OK(MPI_Recv(in, 1, MPI_INT, left, 9, comm, MPI_STATUS_IGNORE));
            break;
        case 1:
            for (flag = 0; !flag;) OK(MPI_Iprobe(left, 9, comm, &flag, MPI_STATUS_IGNORE));
            OK(MPI_Sendrecv(in, 0, MPI_INT, rank, 8, in, 0, MPI_INT, rank, 8, comm, MPI_STATUS_IGNORE));
            OK(MPI_Sendrecv_replace(in, 1, MPI_INT, rank, 8, rank, 8, comm, MPI_STATUS_IGNORE));
            OK(MPI_Recv(in, 1, MPI_INT, left, 9, comm, MPI_STATUS_IGNORE));
            break;
        case 2:
            OK(MPI_Mprobe(left, 9, comm, &message, MPI_STATUS_IGNORE));
            OK(MPI_Mrecv(in, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
            break;
        default:
            for (flag = 0; !flag;) OK(MPI_Improbe(left, 9, comm, &flag, &message, MPI_STATUS_IGNORE));
            OK(MPI_Imrecv(in, 1, MPI_INT, &message, &r[0]));
            OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
        }
        CHECK_EQ(in[0], way);
        MPI_Wait(&s[0], MPI_STATUS_IGNORE);
    }
    return finish();
}
