// ranks: 1 2 3 4 7 8
// Handles as integers and back: the ABI's serialization and Fortran's conversions; statuses in their three forms.
#include "../check.h"

static void on_error(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    (void)code;
}

#define BOTH_WAYS(kind, handle)                                  \
    do {                                                         \
        CHECK(MPI_##kind##_fromint(MPI_##kind##_toint(handle)) == (handle)); \
        CHECK(MPI_##kind##_f2c(MPI_##kind##_c2f(handle)) == (handle));       \
    } while (0)

#define PREDEFINED(kind, handle)                                 \
    do {                                                         \
        CHECK_EQ(MPI_##kind##_toint(handle), (intptr_t)(handle)); \
        BOTH_WAYS(kind, handle);                                 \
    } while (0)

static void predefined(void) {
    PREDEFINED(Comm, MPI_COMM_WORLD);
    PREDEFINED(Comm, MPI_COMM_SELF);
    PREDEFINED(Comm, MPI_COMM_NULL);
    PREDEFINED(Type, MPI_INT);
    PREDEFINED(Type, MPI_DATATYPE_NULL);
    PREDEFINED(Op, MPI_SUM);
    PREDEFINED(Op, MPI_OP_NULL);
    PREDEFINED(Group, MPI_GROUP_EMPTY);
    PREDEFINED(Group, MPI_GROUP_NULL);
    PREDEFINED(Request, MPI_REQUEST_NULL);
    PREDEFINED(Message, MPI_MESSAGE_NULL);
    PREDEFINED(Message, MPI_MESSAGE_NO_PROC);
    PREDEFINED(Errhandler, MPI_ERRORS_RETURN);
    PREDEFINED(Errhandler, MPI_ERRHANDLER_NULL);
    PREDEFINED(Info, MPI_INFO_NULL);
    PREDEFINED(Info, MPI_INFO_ENV);
    PREDEFINED(File, MPI_FILE_NULL);
    PREDEFINED(Win, MPI_WIN_NULL);
    PREDEFINED(Session, MPI_SESSION_NULL);
}

static void dynamic(void) {
    MPI_Info info;
    MPI_Errhandler handler;
    MPI_Datatype type;
    MPI_Request request;
    MPI_Message message;
    MPI_Session session;
    int value = 7, got = -1;
    OK(MPI_Info_create(&info));
    OK(MPI_Comm_create_errhandler(on_error, &handler));
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Irecv(&got, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request));
    BOTH_WAYS(Info, info);
    BOTH_WAYS(Errhandler, handler);
    BOTH_WAYS(Type, type);
    BOTH_WAYS(Session, session);
    BOTH_WAYS(Request, request);
    // Not an integer of a predefined handle of this or another ABI.
    CHECK((unsigned)MPI_Request_toint(request) >= 0xc0000000u && (unsigned)MPI_Type_toint(type) >= 0xc0000000u);
    // The integers of predefined handles in the Fortran of MPICH and of Open MPI.
    CHECK(MPI_Comm_f2c(0x44000000) == MPI_COMM_WORLD && MPI_Comm_f2c(0) == MPI_COMM_WORLD);
    CHECK(MPI_Type_f2c(0x4c000405) == MPI_INT && MPI_Type_f2c(39) == MPI_INT && MPI_Op_f2c(0x58000003) == MPI_SUM);
    // What comes back works.
    OK(MPI_Send(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD));
    request = MPI_Request_fromint(MPI_Request_toint(request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(got, 7);
    MPI_Request sent;
    OK(MPI_Isend(&value, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &sent));
    OK(MPI_Mprobe(rank, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    BOTH_WAYS(Message, message);
    OK(MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
    // The integer of a freed object is not a valid handle, although another object may get it
    // later.
    int number = MPI_Info_toint(info), n = -1;
    OK(MPI_Info_free(&info));
    CHECK_CLASS(MPI_Info_get_nkeys(MPI_Info_fromint(number), &n), MPI_ERR_INFO);
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Type_free(&type));
    OK(MPI_Session_finalize(&session));
}

static void garbage(void) {
    static const int wrong[] = {0, -1, INT_MIN, INT_MAX, 4095, 4096, 0x40000000, 0x7c000001};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int n = -1;
        CHECK_CLASS(MPI_Comm_rank(MPI_Comm_fromint(wrong[i]), &n), MPI_ERR_COMM);
        CHECK_CLASS(MPI_Type_size(MPI_Type_fromint(wrong[i]), &n), MPI_ERR_TYPE);
        CHECK_CLASS(MPI_Info_get_nkeys(MPI_Info_fromint(wrong[i]), &n), MPI_ERR_INFO);
        CHECK_CLASS(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_Errhandler_fromint(wrong[i])), MPI_ERR_ERRHANDLER);
        CHECK_CLASS(MPI_Session_get_num_psets(MPI_Session_fromint(wrong[i]), MPI_INFO_NULL, &n), MPI_ERR_SESSION);
        MPI_Request request = MPI_Request_fromint(wrong[i]);
        CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
        CHECK_EQ(MPI_Win_toint(MPI_Win_fromint(wrong[i])), wrong[i]);
        CHECK_EQ(MPI_File_toint(MPI_File_fromint(wrong[i])), wrong[i]);
    }
}

static void statuses(void) {
    MPI_Status status, back;
    MPI_Fint fortran[MPI_F_STATUS_SIZE], fortran_too[MPI_F_STATUS_SIZE];
    MPI_F08_status f08;
    int n = -1, values[3] = {1, 2, 3}, got[3];
    MPI_Request request;
    OK(MPI_Isend(values, 3, MPI_INT, rank, 9, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(got, 3, MPI_INT, rank, 9, MPI_COMM_WORLD, &status));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    status.MPI_ERROR = 77;
    OK(MPI_Status_c2f(&status, fortran));
    CHECK_EQ(fortran[MPI_F_SOURCE], rank);
    CHECK_EQ(fortran[MPI_F_TAG], 9);
    CHECK_EQ(fortran[MPI_F_ERROR], 77);
    OK(MPI_Status_f2f08(fortran, &f08));
    OK(MPI_Status_f082c(&f08, &back));
    CHECK(!memcmp(&status, &back, sizeof status));
    OK(MPI_Get_count(&back, MPI_INT, &n));
    CHECK_EQ(n, 3);
    memset(&f08, 0, sizeof f08);
    OK(MPI_Status_c2f08(&status, &f08));
    OK(MPI_Status_f082f(&f08, fortran_too));
    CHECK(!memcmp(fortran, fortran_too, sizeof fortran));
    memset(&back, 0, sizeof back);
    OK(MPI_Status_f2c(fortran_too, &back));
    CHECK(!memcmp(&status, &back, sizeof status));
    CHECK_ERROR(MPI_Status_c2f(MPI_STATUS_IGNORE, fortran), MPI_ERR_ARG, "MPI_Status_c2f");
    CHECK_ERROR(MPI_Status_f2c(NULL, &back), MPI_ERR_ARG, "MPI_Status_f2c");
    CHECK_ERROR(MPI_Status_f2c(fortran, NULL), MPI_ERR_ARG, "c_status");
}

int main(int argc, char **argv) {
    predefined(); // also before MPI_Init
    start(&argc, &argv);
    return_errors();
    predefined();
    dynamic();
    garbage();
    statuses();
    MPI_Finalize();
    predefined();
    return 0;
}
