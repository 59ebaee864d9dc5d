// ranks: 1 2 3 4 7 8
// launch: --memory-alloc-kinds mpi:alloc_mem,tape
// The hints of a communicator: all are reported with their values, given ones take effect where the
// standard accepts an info, and none is inherited. Unknown or invalid hints are dropped.
#include "../check.h"

static const char *assertions[] = {
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
};
enum { ASSERTIONS = 5 };

// NULL when the communicator does not have the key.
static const char *hint(MPI_Comm comm, const char *key) {
    static char value[256];
    int length = sizeof value, found = 0;
    MPI_Info used = MPI_INFO_NULL;
    OK(MPI_Comm_get_info(comm, &used));
    CHECK(used != MPI_INFO_NULL);
    OK(MPI_Info_get_string(used, key, &length, value, &found));
    OK(MPI_Info_free(&used));
    return found ? value : NULL;
}

#define CHECK_HINT(comm, key, expected)                                                                  \
    do {                                                                                                 \
        const char *got_ = hint(comm, key), *expected_ = (expected);                                     \
        if (!got_ != !expected_ || (got_ && strcmp(got_, expected_)))                                    \
            CHECK_FAIL("%s of %s is %s, not %s", key, #comm, got_ ? got_ : "(none)", expected_ ? expected_ : "(none)"); \
    } while (0)

#define CHECK_DEFAULTS(comm, kinds)                                                       \
    do {                                                                                  \
        for (int i_ = 0; i_ < ASSERTIONS; i_++) CHECK_HINT(comm, assertions[i_], "false"); \
        CHECK_HINT(comm, "mpi_assert_memory_alloc_kinds", NULL);                          \
        CHECK_HINT(comm, "mpi_memory_alloc_kinds", kinds);                                \
    } while (0)

// What some_hints() gives.
#define CHECK_SOME(comm)                                                                     \
    do {                                                                                     \
        for (int i_ = 0; i_ < ASSERTIONS; i_++) CHECK_HINT(comm, assertions[i_], i_ % 2 ? "false" : "true"); \
        CHECK_HINT(comm, "mpi_assert_memory_alloc_kinds", " system, mpi:win_allocate");      \
        CHECK_HINT(comm, "unheard_of", NULL);                                                \
    } while (0)

static MPI_Info some_hints(void) {
    MPI_Info info;
    OK(MPI_Info_create(&info));
    for (int i = 0; i < ASSERTIONS; i += 2) OK(MPI_Info_set(info, assertions[i], i ? "true" : " true "));
    OK(MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", " system, mpi:win_allocate"));
    OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", "tape"));
    OK(MPI_Info_set(info, "unheard_of", "1"));
    return info;
}

static void give(MPI_Comm comm, const char *key, const char *value) {
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, value));
    OK(MPI_Comm_set_info(comm, info));
    OK(MPI_Info_free(&info));
}

int main(int argc, char **argv) {
    const char *kinds = "mpi,system,mpi:alloc_mem";
    start(&argc, &argv);
    return_errors();
    CHECK_DEFAULTS(MPI_COMM_WORLD, kinds);
    CHECK_DEFAULTS(MPI_COMM_SELF, kinds);

    MPI_Info some = some_hints(), none;
    MPI_Comm comm, other;
    MPI_Request request;
    OK(MPI_Info_create(&none));

    // Given to a duplicate only: not to its own duplicates, nor to communicators split from it.
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, some, &comm));
    CHECK_SOME(comm);
    CHECK_HINT(comm, "mpi_memory_alloc_kinds", kinds);
    CHECK_DEFAULTS(MPI_COMM_WORLD, kinds);
    OK(MPI_Comm_dup(comm, &other));
    CHECK_DEFAULTS(other, kinds);
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_dup_with_info(comm, none, &other));
    CHECK_DEFAULTS(other, kinds);
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_idup(comm, &other, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_DEFAULTS(other, kinds);
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_idup_with_info(comm, some, &other, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_SOME(other);
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_split(comm, rank % 2, 0, &other));
    CHECK_DEFAULTS(other, kinds);
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &other));
    CHECK_DEFAULTS(other, kinds);
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, some, &other));
    CHECK_SOME(other);
    OK(MPI_Comm_free(&other));
    MPI_Group group;
    OK(MPI_Comm_group(comm, &group));
    OK(MPI_Comm_create(comm, group, &other));
    CHECK_DEFAULTS(other, kinds);
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_create_group(comm, group, 3, &other));
    CHECK_DEFAULTS(other, kinds);
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_create_from_group(group, "hints", some, MPI_ERRORS_RETURN, &other));
    CHECK_SOME(other);
    OK(MPI_Comm_free(&other));
    OK(MPI_Group_free(&group));
    OK(MPI_Cart_create(comm, 1, &size, (int[]){1}, 0, &other));
    CHECK_DEFAULTS(other, kinds);
    OK(MPI_Comm_free(&other));

    // Graphs take hints, too; a ring.
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    OK(MPI_Dist_graph_create_adjacent(comm, 1, &previous, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, some, 0, &other));
    CHECK_SOME(other);
    OK(MPI_Comm_free(&other));
    OK(MPI_Dist_graph_create(comm, 1, &rank, (int[]){1}, &next, MPI_UNWEIGHTED, some, 0, &other));
    CHECK_SOME(other);
    MPI_Comm again;
    OK(MPI_Comm_dup(other, &again));
    CHECK_DEFAULTS(again, kinds);
    OK(MPI_Comm_free(&again));
    OK(MPI_Comm_free(&other));

    // A key that is not given stays as it was; one that makes no sense changes nothing.
    OK(MPI_Comm_set_info(comm, none));
    OK(MPI_Comm_set_info(comm, MPI_INFO_NULL));
    give(comm, assertions[0], "maybe");
    give(comm, "mpi_assert_memory_alloc_kinds", "system,tape");
    give(comm, "mpi_memory_alloc_kinds", "system");
    CHECK_SOME(comm);
    give(comm, assertions[0], "false");
    give(comm, assertions[1], "true");
    give(comm, "mpi_assert_memory_alloc_kinds", "");
    CHECK_HINT(comm, assertions[0], "false");
    CHECK_HINT(comm, assertions[1], "true");
    CHECK_HINT(comm, assertions[2], "true");
    CHECK_HINT(comm, "mpi_assert_memory_alloc_kinds", "");
    CHECK_HINT(comm, "mpi_memory_alloc_kinds", kinds);
    OK(MPI_Comm_free(&comm));

    // On the world as on any other.
    OK(MPI_Comm_set_info(MPI_COMM_WORLD, some));
    CHECK_SOME(MPI_COMM_WORLD);
    CHECK_DEFAULTS(MPI_COMM_SELF, kinds);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_DEFAULTS(comm, kinds);
    OK(MPI_Comm_free(&comm));

    // A session's communicators support what the session does.
    MPI_Session session;
    MPI_Info wish;
    OK(MPI_Info_create(&wish));
    OK(MPI_Info_set(wish, "mpi_memory_alloc_kinds", "mpi:win_allocate_shared:alloc_mem,tape"));
    OK(MPI_Session_init(wish, MPI_ERRORS_RETURN, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, "session", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    CHECK_DEFAULTS(comm, "mpi,system,mpi:win_allocate_shared:alloc_mem");
    OK(MPI_Comm_dup_with_info(comm, some, &other));
    CHECK_SOME(other);
    CHECK_HINT(other, "mpi_memory_alloc_kinds", "mpi,system,mpi:win_allocate_shared:alloc_mem");
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Session_finalize(&session));

    OK(MPI_Info_free(&wish));
    OK(MPI_Info_free(&none));
    OK(MPI_Info_free(&some));
    return finish();
}
