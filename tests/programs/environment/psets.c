// ranks: 1 2 3 4 7 8
// args: 0 : -n 2 {program} 1 : -n 1 --pset ocean {program} 2 : -n 3 --pset=app://ocean {program} 3
// The process sets of a job of four programs, two of them with a name of their own: the sets of a
// process, their members, also seen from outside, and communicators from them, within a set and
// between two.
#include "../check.h"

static MPI_Session session;

static int members(const char *name) {
    MPI_Info info;
    char value[16];
    int length = sizeof value, found = 0;
    OK(MPI_Session_get_pset_info(session, name, &info));
    OK(MPI_Info_get_string(info, "mpi_size", &length, value, &found));
    CHECK(found);
    OK(MPI_Info_free(&info));
    return atoi(value);
}

static int listed(const char *name) {
    int n = -1, times = 0;
    OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
    for (int i = 0; i < n; i++) {
        char got[MPI_MAX_PSET_NAME_LEN];
        int length = sizeof got;
        OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, got));
        CHECK_EQ(length, strlen(got) + 1);
        times += !strcmp(got, name);
    }
    return times;
}

// The set has so many ranks from first on, and this process sees it if it is one of them.
static MPI_Group check_set(const char *name, int first, int count, int world_rank, MPI_Group all) {
    MPI_Group group;
    OK(MPI_Group_from_session_pset(session, name, &group));
    CHECK(group != MPI_GROUP_NULL);
    int got = -1, in = -1;
    OK(MPI_Group_size(group, &got));
    CHECK_EQ(got, count);
    CHECK_EQ(members(name), count);
    for (int i = 0; i < count; i++) {
        int there = -1;
        OK(MPI_Group_translate_ranks(group, 1, &i, all, &there));
        CHECK_EQ(there, first + i);
    }
    OK(MPI_Group_rank(group, &in));
    int inside = world_rank >= first && world_rank < first + count;
    CHECK_EQ(in, inside ? world_rank - first : MPI_UNDEFINED);
    CHECK_EQ(listed(name), inside);
    return group;
}

int main(int argc, char **argv) {
    int app = atoi(argv[1]), world = -1, n = -1;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    MPI_Group all, own;
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
    OK(MPI_Group_rank(all, &rank));
    OK(MPI_Group_size(all, &world));
    int first = world - 6;
    own = check_set("mpi://SELF", rank, 1, rank, all);
    OK(MPI_Group_free(&own));
    // Neither scheme nor host of a URI is sensitive to case.
    OK(MPI_Group_from_session_pset(session, "mpi://self", &own));
    OK(MPI_Group_size(own, &n));
    CHECK_EQ(n, 1);
    OK(MPI_Group_free(&own));
    OK(MPI_Group_from_session_pset(session, "MPI://World", &own));
    OK(MPI_Group_size(own, &n));
    CHECK_EQ(n, world);
    OK(MPI_Group_free(&own));

    int starts[] = {0, first, first + 2, first + 3, world};
    MPI_Group by_number[4];
    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "app://%d", i);
        by_number[i] = check_set(name, starts[i], starts[i + 1] - starts[i], rank, all);
        CHECK_EQ(i == app, rank >= starts[i] && rank < starts[i + 1]);
    }
    // The first two are one program and so one set by name; the others were given one.
    const char *program = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    char name[256];
    snprintf(name, sizeof name, "app://%s", program);
    MPI_Group unnamed = check_set(name, 0, first + 2, rank, all), ocean = check_set("app://ocean", first + 2, 4, rank, all);
    OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
    CHECK_EQ(n, 4);

    // Names that do not exist.
    const char *wrong[] = {"app://4", "app://", "ocean", "app://oceans", "mpi://ocean", "", "app://ocean/"};
    for (int i = 0; i < 7; i++) {
        MPI_Group none = MPI_GROUP_EMPTY;
        MPI_Info info;
        CHECK_ERROR(MPI_Group_from_session_pset(session, wrong[i], &none), MPI_ERR_ARG, "app://");
        CHECK(none == MPI_GROUP_NULL);
        CHECK_ERROR(MPI_Session_get_pset_info(session, wrong[i], &info), MPI_ERR_ARG, "app://");
        CHECK_EQ(listed(wrong[i]), 0);
    }

    // A communicator of this process's program, and one between the two names.
    MPI_Comm mine, across, part;
    OK(MPI_Comm_create_from_group(by_number[app], "mine", MPI_INFO_NULL, MPI_ERRORS_RETURN, &mine));
    OK(MPI_Comm_size(mine, &size));
    CHECK_EQ(size, starts[app + 1] - starts[app]);
    MPI_Group here = app < 2 ? unnamed : ocean, there = app < 2 ? ocean : unnamed;
    OK(MPI_Intercomm_create_from_groups(here, 0, there, 0, "across", MPI_INFO_NULL, MPI_ERRORS_RETURN, &across));
    int remote = -1, place = -1, sent, got = -1;
    OK(MPI_Comm_remote_size(across, &remote));
    OK(MPI_Comm_rank(across, &place));
    CHECK_EQ(remote, app < 2 ? 4 : first + 2);
    sent = rank;
    // Each process sends to the process with its rank on the other side, if there is one.
    MPI_Request request = MPI_REQUEST_NULL;
    if (place < remote) OK(MPI_Isend(&sent, 1, MPI_INT, place, 5, across, &request));
    if (place < remote) OK(MPI_Recv(&got, 1, MPI_INT, place, 5, across, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (place < remote) CHECK_EQ(got, app < 2 ? first + 2 + place : place);

    // A set as a resource to split by.
    MPI_Info info;
    MPI_Comm everybody;
    OK(MPI_Comm_create_from_group(all, "everybody", MPI_INFO_NULL, MPI_ERRORS_RETURN, &everybody));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_pset_name", "app://ocean"));
    OK(MPI_Comm_split_type(everybody, MPI_COMM_TYPE_RESOURCE_GUIDED, -rank, info, &part));
    CHECK_EQ(part != MPI_COMM_NULL, app >= 2);
    if (app >= 2) {
        OK(MPI_Comm_rank(part, &place));
        OK(MPI_Comm_size(part, &size));
        CHECK_EQ(place, world - 1 - rank);
        CHECK_EQ(size, 4);
        OK(MPI_Comm_free(&part));
    }
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_free(&everybody));
    OK(MPI_Comm_free(&mine));
    OK(MPI_Comm_free(&across));
    for (int i = 0; i < 4; i++) OK(MPI_Group_free(&by_number[i]));
    OK(MPI_Group_free(&unnamed));
    OK(MPI_Group_free(&ocean));
    OK(MPI_Group_free(&all));
    OK(MPI_Session_finalize(&session));
    return 0;
}
