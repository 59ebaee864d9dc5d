// ranks: 1
// What a program prints that makes a mistake under the default error handler: the first line names the rank, the call, the
// communicator by its name and the class; then a line for each cause with the argument's value. The program runs itself
// once for every mistake, as a world of one, and reads what it says.
#include "../check.h"
#include <sys/wait.h>

static MPI_Comm ocean, out;
static int x[4];

static void bad_dest(void) { MPI_Send(x, 1, MPI_INT, 17, 0, ocean); }
static void bad_source(void) { MPI_Sendrecv(x, 1, MPI_INT, 0, 0, x + 2, 1, MPI_INT, -17, 0, ocean, MPI_STATUS_IGNORE); }
static void bad_count(void) { MPI_Sendrecv(x, -1, MPI_INT, 0, 0, x, 1, MPI_INT, 0, 0, ocean, MPI_STATUS_IGNORE); }
static void bad_tag(void) { MPI_Recv(x, 1, MPI_INT, 0, -5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
static void null_comm(void) { MPI_Comm_rank(MPI_COMM_NULL, x); }
static void stale_comm(void) {
    MPI_Comm copy = ocean;
    MPI_Comm_free(&ocean);
    MPI_Comm_rank(copy, x);
}
static void wrong_kind(void) { MPI_Comm_set_errhandler(ocean, (MPI_Errhandler)ocean); }
static void bad_grid(void) { MPI_Cart_create(ocean, 2, (int[]){3, 5}, (int[]){0, 0}, 0, &out); }
static void no_grid(void) { MPI_Cartdim_get(ocean, x); }
static void bad_color(void) { MPI_Comm_split(ocean, -3, 0, &out); }
static void no_key(void) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_delete(info, "salt");
}
static void too_long(void) {
    MPI_Request requests[4];
    int in[2];
    for (int i = 0; i < 2; i++) MPI_Isend(x, 2 + i, MPI_INT, 0, 7 + i, ocean, &requests[i]);
    for (int i = 0; i < 2; i++) MPI_Irecv(in + i, 1, MPI_INT, 0, 7 + i, ocean, &requests[2 + i]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}
static void no_name(void) {
    MPI_Comm_dup(ocean, &out);
    MPI_Send(NULL, 1, MPI_INT, 0, 0, out);
}
static void no_session(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, NULL, &group);
}

static const struct {
    void (*make)(void);
    const char *report[4];
} mistakes[] = {
    {bad_dest, {"MPI_Send on ocean failed: MPI_ERR_RANK", "    dest is 17; it must be a rank of ocean, 0 to 0, or MPI_PROC_NULL"}},
    {bad_source,
     {"MPI_Sendrecv on ocean failed: MPI_ERR_RANK",
      "    the receive: source is -17; it must be a rank of ocean, 0 to 0, or MPI_ANY_SOURCE or MPI_PROC_NULL"}},
    {bad_count, {"MPI_Sendrecv on ocean failed: MPI_ERR_COUNT", "    the send: the count is -1, which is negative"}},
    {bad_tag,
     {"MPI_Recv on MPI_COMM_WORLD failed: MPI_ERR_TAG",
      "    the tag is -5; it must lie between 0 and 2147483647 (MPI_TAG_UB), or be MPI_ANY_TAG"}},
    {null_comm, {"MPI_Comm_rank failed: MPI_ERR_COMM", "    the communicator is MPI_COMM_NULL"}},
    {stale_comm, {"MPI_Comm_rank failed: MPI_ERR_COMM", "    the communicator 0x", " has been freed"}},
    {wrong_kind, {"MPI_Comm_set_errhandler on ocean failed: MPI_ERR_ERRHANDLER", " is a communicator, not an error handler"}},
    {bad_grid,
     {"MPI_Cart_create on ocean failed: MPI_ERR_DIMS",
      "    the grid [3, 5] is larger than the communicator, which has 1 processes"}},
    {no_grid, {"MPI_Cartdim_get on ocean failed: MPI_ERR_TOPOLOGY", "    ocean has no topology; this function needs a Cartesian"}},
    {bad_color,
     {"MPI_Comm_split on ocean failed: MPI_ERR_ARG", "    the color is -3; it must be MPI_UNDEFINED or not negative"}},
    {no_key, {"MPI_Info_delete failed: MPI_ERR_INFO_NOKEY", "    the info object has no key \"salt\""}},
    {too_long,
     {"MPI_Waitall on ocean failed: MPI_ERR_TRUNCATE",
      "    request 2: MPI_ERR_TRUNCATE: the message from rank 0 with tag 7 has 8 bytes, but the receive buffer has room for 4",
      "    request 3: MPI_ERR_TRUNCATE: the message from rank 0 with tag 8 has 12 bytes, but the receive buffer has room for 4"}},
    {no_name,
     {"MPI_Send on a communicator of 1 process failed: MPI_ERR_BUFFER",
      "    the buffer is a null pointer, but the count is not zero"}},
    {no_session,
     {"MPI_Group_from_session_pset on a session failed: MPI_ERR_ARG", "    the argument pset_name is a null pointer"}},
};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

// What a run of this program says on stderr.
static char *said(const char *program, int which) {
    static char text[4096];
    int ends[2], status = 0;
    size_t length = 0;
    ssize_t more;
    char number[8];
    snprintf(number, sizeof number, "%d", which);
    CHECK(!pipe(ends));
    pid_t child = fork();
    CHECK(child >= 0);
    if (!child) {
        // Not a rank of the job around it.
        unsetenv("OXMPI_JOB");
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, number, (char *)NULL);
        _exit(99);
    }
    close(ends[1]);
    while (length + 1 < sizeof text && (more = read(ends[0], text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)more;
    text[length] = 0;
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) && WEXITSTATUS(status) != 99);
    return text;
}

int main(int argc, char **argv) {
    if (argc > 1) {
        MPI_Init(NULL, NULL);
        MPI_Comm_dup(MPI_COMM_WORLD, &ocean);
        MPI_Comm_set_name(ocean, "ocean");
        mistakes[atoi(argv[1])].make();
        return 0;
    }
    for (int i = 0; i < MISTAKES; i++) {
        const char *text = said(argv[0], i), *rest = text, *first = "OxMPI: rank 0 of 1: ";
        if (strncmp(text, first, strlen(first))) CHECK_FAIL("mistake %d: \"%.600s\"", i, text);
        rest += strlen(first);
        // In this order, the first part at once.
        for (int part = 0; part < 4 && mistakes[i].report[part]; part++) {
            const char *found = strstr(rest, mistakes[i].report[part]);
            if (!found || (part == 0 && found != rest))
                CHECK_FAIL("mistake %d: \"%.600s\" does not say \"%s\"", i, text, mistakes[i].report[part]);
            else
                rest = found + strlen(mistakes[i].report[part]);
        }
    }
    return 0;
}
