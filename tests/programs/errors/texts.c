// ranks: 1 2 3 4 7 8
// The texts of errors say what was wrong: the value that came, what was allowed, the peer.
#include "../check.h"

int main(int argc, char **argv) {
    int value = 0, code;
    char text[64];
    start(&argc, &argv);
    return_errors();
    code = MPI_Send(&value, 1, MPI_INT, 4711, 1, MPI_COMM_WORLD);
    CHECK_TEXT(code, "4711");
    CHECK_TEXT(code, "MPI_Send");
    code = MPI_Send(&value, -4712, MPI_INT, 0, 1, MPI_COMM_WORLD);
    CHECK_TEXT(code, "-4712");
    code = MPI_Irecv(&value, 1, MPI_INT, 0, -4713, MPI_COMM_WORLD, NULL);
    CHECK_TEXT(code, "MPI_Irecv");
    code = MPI_Recv(&value, 1, MPI_INT, 0, -4713, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_TEXT(code, "-4713");
    code = MPI_Recv(&value, 1, MPI_DATATYPE_NULL, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_TEXT(code, "MPI_DATATYPE_NULL");
    code = MPI_Ssend(&value, 1, MPI_INT, 0, 1, MPI_COMM_NULL);
    CHECK_TEXT(code, "MPI_COMM_NULL");
    code = MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD);
    CHECK_TEXT(code, "MPI_ANY_TAG");
    code = MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD);
    CHECK_TEXT(code, "MPI_ANY_SOURCE");
    // Many different errors: each code keeps its own text, old ones at least their class.
    int first = MPI_Send(&value, 1, MPI_INT, 100000, 1, MPI_COMM_WORLD), codes[50];
    for (int i = 0; i < 50; i++) codes[i] = MPI_Send(&value, 1, MPI_INT, 200000 + i, 1, MPI_COMM_WORLD);
    for (int i = 0; i < 50; i++) {
        snprintf(text, sizeof text, "%d", 200000 + i);
        CHECK_TEXT(codes[i], text);
        CHECK_CLASS(codes[i], MPI_ERR_RANK);
    }
    for (int i = 0; i < 20000; i++) MPI_Send(&value, 1, MPI_INT, 300000 + i, 1, MPI_COMM_WORLD);
    CHECK_CLASS(first, MPI_ERR_RANK);
    return finish();
}
