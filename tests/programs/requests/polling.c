// ranks: 2 4 8
// timeout: 15
// Programs that poll instead of waiting, also with more ranks than CPUs: a rank whose poll finds
// nothing lets others run.
#include "../check.h"

enum { TURNS = 300 };

int main(int argc, char **argv) {
    int token = 0, from_left = -1, flag, index, count;
    MPI_Request r[2];
    MPI_Status status;
    MPI_Message message;
    start(&argc, &argv);
    MPI_Comm w = MPI_COMM_WORLD;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int turn = 0; turn < TURNS; turn++) {
        OK(MPI_Ibarrier(w, r));
        do OK(MPI_Test(r, &flag, MPI_STATUS_IGNORE));
        while (!flag);
        // Each rank sends to its right neighbour, completed in one way after the other.
        int value = turn * size + rank;
        OK(MPI_Irecv(&from_left, 1, MPI_INT, left, 1, w, &r[0]));
        OK(MPI_Isend(&value, 1, MPI_INT, right, 1, w, &r[1]));
        switch (turn % 3) {
        case 0:
            do OK(MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE));
            while (!flag);
            break;
        case 1:
            for (int done = 0; done < 2; done += flag) OK(MPI_Testany(2, r, &index, &flag, &status));
            break;
        default:
            for (int done = 0, indices[2]; done < 2; done += count)
                OK(MPI_Testsome(2, r, &count, indices, MPI_STATUSES_IGNORE));
        }
        CHECK_EQ(from_left, turn * size + left);
        // A token goes round, and is looked for.
        if (rank == turn % size) OK(MPI_Send(&turn, 1, MPI_INT, right, 2, w));
        if (rank == (turn + 1) % size) {
            do OK(turn % 2 ? MPI_Iprobe(left, 2, w, &flag, &status) : MPI_Improbe(left, 2, w, &flag, &message, &status));
            while (!flag);
            OK(turn % 2 ? MPI_Recv(&token, 1, MPI_INT, left, 2, w, &status) : MPI_Mrecv(&token, 1, MPI_INT, &message, &status));
            CHECK_EQ(token, turn);
        }
    }
    return finish();
}
