// ranks: 1 2 8
// Version, library version, processor name: the same before, while and after MPI is up where the standard says so,
// within their limits, terminated, and the same on ranks of one machine.
#include "../check.h"

static void always(void) {
    int version = -1, subversion = -1, length = -1;
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    OK(MPI_Get_version(&version, &subversion));
    CHECK_EQ(version, MPI_VERSION);
    CHECK_EQ(subversion, MPI_SUBVERSION);
    memset(text, 'x', sizeof text);
    OK(MPI_Get_library_version(text, &length));
    CHECK(length > 0 && length < MPI_MAX_LIBRARY_VERSION_STRING);
    CHECK_EQ(strlen(text), length);
}

static void where(void) {
    char name[MPI_MAX_PROCESSOR_NAME], other[MPI_MAX_PROCESSOR_NAME];
    int length = -1;
    memset(name, 'x', sizeof name);
    OK(MPI_Get_processor_name(name, &length));
    CHECK(length > 0 && length < MPI_MAX_PROCESSOR_NAME);
    CHECK_EQ(strlen(name), length);
    memset(other, 0, sizeof other);
    MPI_Sendrecv(name, length + 1, MPI_CHAR, (rank + 1) % size, 1, other, sizeof other, MPI_CHAR, (rank + size - 1) % size, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    // Each host has its own name, also a pretended one.
    int host = host_number(), its_host = -1;
    MPI_Sendrecv(&host, 1, MPI_INT, (rank + 1) % size, 2, &its_host, 1, MPI_INT, (rank + size - 1) % size, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK_EQ(!strcmp(name, other), host == its_host);
}

static void mistakes(void) {
    int n;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    CHECK_ERROR(MPI_Get_version(NULL, &n), MPI_ERR_ARG, "MPI_Get_version");
    CHECK_ERROR(MPI_Get_version(&n, NULL), MPI_ERR_ARG, "MPI_Get_version");
    CHECK_ERROR(MPI_Get_library_version(NULL, &n), MPI_ERR_ARG, "MPI_Get_library_version");
    CHECK_ERROR(MPI_Get_library_version(text, NULL), MPI_ERR_ARG, "MPI_Get_library_version");
    CHECK_ERROR(MPI_Get_processor_name(NULL, &n), MPI_ERR_ARG, "MPI_Get_processor_name");
    CHECK_ERROR(MPI_Get_processor_name(text, NULL), MPI_ERR_ARG, "MPI_Get_processor_name");
    CHECK_ERROR(MPI_Comm_rank(MPI_COMM_NULL, &n), MPI_ERR_COMM, "MPI_Comm_rank");
    CHECK_ERROR(MPI_Comm_rank(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "MPI_Comm_rank");
    CHECK_ERROR(MPI_Comm_size(MPI_COMM_NULL, &n), MPI_ERR_COMM, "MPI_Comm_size");
    CHECK_ERROR(MPI_Comm_size(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "MPI_Comm_size");
    CHECK_ERROR(MPI_Query_thread(NULL), MPI_ERR_ARG, "MPI_Query_thread");
    CHECK_ERROR(MPI_Is_thread_main(NULL), MPI_ERR_ARG, "MPI_Is_thread_main");
}

int main(int argc, char **argv) {
    always();
    start(&argc, &argv);
    return_errors();
    always();
    where();
    mistakes();
    MPI_Finalize();
    always();
    return 0;
}
