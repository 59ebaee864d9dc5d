// ranks: 2
// Mistakes in partitioned calls give errors, and the request can still be used.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int data[8] = {0}, flag, twice[] = {1, 1}, other = 1 - rank;
    MPI_Request s, r, usual, none = MPI_REQUEST_NULL;
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Info info = MPI_INFO_NULL;
    OK(MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));

    CHECK_ERROR(MPI_Psend_init(data, 0, 1, MPI_INT, other, 0, w, info, &s), MPI_ERR_ARG, "MPI_Psend_init");
    CHECK_ERROR(MPI_Precv_init(data, -3, 1, MPI_INT, other, 0, w, info, &r), MPI_ERR_ARG, "MPI_Precv_init");
    CHECK_ERROR(MPI_Psend_init(data, 2, -1, MPI_INT, other, 0, w, info, &s), MPI_ERR_COUNT, "MPI_Psend_init");
    CHECK_ERROR(MPI_Psend_init(data, 2, 1, MPI_DATATYPE_NULL, other, 0, w, info, &s), MPI_ERR_TYPE, "MPI_Psend_init");
    CHECK_ERROR(MPI_Psend_init(data, 2, 1, MPI_INT, 2, 0, w, info, &s), MPI_ERR_RANK, "MPI_Psend_init");
    CHECK_ERROR(MPI_Psend_init(data, 2, 1, MPI_INT, other, -5, w, info, &s), MPI_ERR_TAG, "MPI_Psend_init");
    CHECK_ERROR(MPI_Precv_init(data, 2, 1, MPI_INT, MPI_ANY_SOURCE, 0, w, info, &r), MPI_ERR_RANK, "MPI_Precv_init");
    CHECK_ERROR(MPI_Precv_init(data, 2, 1, MPI_INT, other, MPI_ANY_TAG, w, info, &r), MPI_ERR_TAG, "MPI_Precv_init");
    CHECK_ERROR(MPI_Psend_init(NULL, 2, 1, MPI_INT, other, 0, w, info, &s), MPI_ERR_BUFFER, "MPI_Psend_init");
    CHECK_ERROR(MPI_Psend_init(data, 2, 1, MPI_INT, other, 0, w, info, NULL), MPI_ERR_ARG, "MPI_Psend_init");

    OK(MPI_Psend_init(data, 4, 1, MPI_INT, other, 0, w, info, &s));
    OK(MPI_Precv_init(data + 4, 2, 2, MPI_INT, other, 0, w, info, &r));
    OK(MPI_Send_init(data, 1, MPI_INT, other, 1, w, &usual));
    CHECK_ERROR(MPI_Pready(0, s), MPI_ERR_REQUEST, "MPI_Pready");
    OK(MPI_Start(&s));
    OK(MPI_Start(&r));
    CHECK_ERROR(MPI_Start(&s), MPI_ERR_REQUEST, "MPI_Start");
    CHECK_ERROR(MPI_Pready(4, s), MPI_ERR_ARG, "MPI_Pready");
    CHECK_ERROR(MPI_Pready(-1, s), MPI_ERR_ARG, "MPI_Pready");
    CHECK_ERROR(MPI_Pready_range(2, 4, s), MPI_ERR_ARG, "MPI_Pready_range");
    CHECK_ERROR(MPI_Pready_range(2, 1, s), MPI_ERR_ARG, "MPI_Pready_range");
    CHECK_ERROR(MPI_Pready_list(-1, twice, s), MPI_ERR_COUNT, "MPI_Pready_list");
    CHECK_ERROR(MPI_Pready_list(2, twice, s), MPI_ERR_ARG, "MPI_Pready_list");
    CHECK_ERROR(MPI_Pready(0, r), MPI_ERR_REQUEST, "MPI_Pready");
    CHECK_ERROR(MPI_Pready(0, usual), MPI_ERR_REQUEST, "MPI_Pready");
    CHECK_ERROR(MPI_Pready(0, none), MPI_ERR_REQUEST, "MPI_Pready");
    CHECK_ERROR(MPI_Parrived(s, 0, &flag), MPI_ERR_REQUEST, "MPI_Parrived");
    CHECK_ERROR(MPI_Parrived(usual, 0, &flag), MPI_ERR_REQUEST, "MPI_Parrived");
    CHECK_ERROR(MPI_Parrived(r, 2, &flag), MPI_ERR_ARG, "MPI_Parrived");
    CHECK_ERROR(MPI_Parrived(r, 0, NULL), MPI_ERR_ARG, "MPI_Parrived");
    flag = 0;
    OK(MPI_Parrived(none, 0, &flag));
    CHECK(flag);
    CHECK_ERROR(MPI_Request_free(&s), MPI_ERR_REQUEST, "MPI_Request_free");
    CHECK_ERROR(MPI_Cancel(&s), MPI_ERR_REQUEST, "MPI_Cancel");
    // The list with a number twice has marked nothing.
    OK(MPI_Pready_range(0, 3, s));
    CHECK_ERROR(MPI_Pready(2, s), MPI_ERR_ARG, "MPI_Pready");
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&s, MPI_STATUS_IGNORE));
    CHECK_ERROR(MPI_Pready(2, s), MPI_ERR_REQUEST, "MPI_Pready");
    OK(MPI_Request_free(&s));
    OK(MPI_Request_free(&r));
    OK(MPI_Request_free(&usual));

    // If the sizes differ, the receiver gets an error; it sees how much has arrived.
    MPI_Status status;
    for (int sent = 4; sent >= 2; sent -= 2) {
        int count;
        OK(MPI_Psend_init(data, sent, 1, MPI_INT, other, 0, w, info, &s));
        OK(MPI_Precv_init(data + 4, 1, 3, MPI_INT, other, 0, w, info, &r));
        OK(MPI_Start(&s));
        OK(MPI_Start(&r));
        OK(MPI_Pready_range(0, sent - 1, s));
        int code = MPI_Wait(&r, &status);
        CHECK_ERROR(code, MPI_ERR_TRUNCATE, "MPI_Wait");
        CHECK_TEXT(code, sent == 2 ? "2 partitions" : "4 partitions");
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK_EQ(count, sent < 3 ? sent : 3);
        OK(MPI_Wait(&s, MPI_STATUS_IGNORE));
        OK(MPI_Request_free(&s));
        OK(MPI_Request_free(&r));
    }

    // To and from MPI_PROC_NULL, and without data.
    OK(MPI_Psend_init(data, 2, 1, MPI_INT, MPI_PROC_NULL, 0, w, info, &s));
    OK(MPI_Precv_init(data, 2, 1, MPI_INT, MPI_PROC_NULL, 0, w, info, &r));
    OK(MPI_Start(&s));
    OK(MPI_Start(&r));
    OK(MPI_Test(&s, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    OK(MPI_Pready_range(0, 1, s));
    OK(MPI_Wait(&s, MPI_STATUS_IGNORE));
    OK(MPI_Parrived(r, 1, &flag));
    CHECK(flag);
    OK(MPI_Wait(&r, &status));
    CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    OK(MPI_Request_free(&s));
    OK(MPI_Request_free(&r));
    OK(MPI_Psend_init_c(NULL, 3, 0, MPI_INT, other, 0, w, info, &s));
    OK(MPI_Precv_init_c(NULL, 2, 0, MPI_INT, other, 0, w, info, &r));
    OK(MPI_Start(&s));
    OK(MPI_Start(&r));
    OK(MPI_Pready_range(0, 2, s));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&s, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&s));
    OK(MPI_Request_free(&r));
    return finish();
}
