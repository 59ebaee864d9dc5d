// ranks: 1 2 4
// Errors that concern no communicator: the handler of MPI_COMM_WORLD gets them while the program has set none
// for MPI_COMM_SELF, as before MPI-4.0; from then on that of MPI_COMM_SELF.
#include "../check.h"

static int worlds, selfs;

static void hear(MPI_Comm *comm, int *code, ...) {
    (void)code;
    if (*comm == MPI_COMM_WORLD) worlds++;
    if (*comm == MPI_COMM_SELF) selfs++;
}

int main(int argc, char **argv) {
    MPI_Errhandler handler;
    int n = -1;
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_create_errhandler(hear, &handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_CLASS(MPI_Type_size(MPI_DATATYPE_NULL, &n), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Group_size(MPI_GROUP_NULL, &n), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Comm_size(MPI_COMM_NULL, &n), MPI_ERR_COMM);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    CHECK_CLASS(MPI_Type_size(MPI_DATATYPE_NULL, &n), MPI_ERR_TYPE);
    CHECK(worlds == 1 && selfs == 0);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
    CHECK_CLASS(MPI_Type_size(MPI_DATATYPE_NULL, &n), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Comm_size(MPI_COMM_NULL, &n), MPI_ERR_COMM);
    CHECK(worlds == 1 && selfs == 2);
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Finalize());
    return 0;
}
