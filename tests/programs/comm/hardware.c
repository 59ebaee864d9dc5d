// ranks: 1 2 3 4 7 8
// one-host: it is about the parts of one machine
// Communicators that follow the hardware. The program confines its processes to one CPU each, as far as it may, so that there is
// something to follow.
#define _GNU_SOURCE
#include "../check.h"
#include <sched.h>

static MPI_Comm split(int type, const char *resource) {
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Info info = MPI_INFO_NULL;
    if (resource) {
        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, "mpi_hw_resource_type", resource));
    }
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, type, -rank, info, &comm));
    if (resource) OK(MPI_Info_free(&info));
    return comm;
}

static void is_all(MPI_Comm comm) {
    int result = -1, own = -1;
    OK(MPI_Comm_compare(comm, MPI_COMM_WORLD, &result));
    CHECK_EQ(result, size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
    OK(MPI_Comm_rank(comm, &own));
    CHECK_EQ(own, size - 1 - rank);
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv) {
    MPI_Comm comm;
    MPI_Info info;
    start(&argc, &argv);
    return_errors();
    is_all(split(MPI_COMM_TYPE_SHARED, NULL));
    is_all(split(MPI_COMM_TYPE_HW_GUIDED, "mpi_shared_memory"));
    is_all(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_shared_memory"));
    CHECK(split(MPI_COMM_TYPE_HW_GUIDED, NULL) == MPI_COMM_NULL);
    CHECK(split(MPI_COMM_TYPE_HW_GUIDED, "hwloc://Teapot") == MPI_COMM_NULL);
    CHECK(split(MPI_COMM_TYPE_RESOURCE_GUIDED, NULL) == MPI_COMM_NULL);
    CHECK(split(MPI_UNDEFINED, NULL) == MPI_COMM_NULL);
    // The world is not of a session, so it has no process sets.
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_pset_name", "mpi://WORLD"));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &comm));
    CHECK(comm == MPI_COMM_NULL);
    OK(MPI_Info_set(info, "mpi_hw_resource_type", "hwloc://Core"));
    CHECK_ERROR(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &comm), MPI_ERR_INFO,
                "MPI_Comm_split_type");
    OK(MPI_Info_free(&info));
    CHECK_ERROR(MPI_Comm_split_type(MPI_COMM_WORLD, 4711, 0, MPI_INFO_NULL, &comm), MPI_ERR_ARG, "MPI_Comm_split_type");
    // Some of the processes only.
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, rank % 2 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
    CHECK((comm == MPI_COMM_NULL) == (rank % 2 == 1));
    if (comm != MPI_COMM_NULL) OK(MPI_Comm_free(&comm));

    // Each process on one CPU: those on the same one are together.
    cpu_set_t allowed, one;
    CHECK_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    int cpus[1024], n = 0, members = -1, flag = -1, length, together = 1, places = 0, theirs[64];
    for (int i = 0; i < 1024; i++)
        if (CPU_ISSET(i, &allowed)) cpus[n++] = i;
    CPU_ZERO(&one);
    CPU_SET(cpus[rank % n], &one);
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    for (int i = 0; i < size; i++) {
        theirs[i] = cpus[rank % n];
        if (i != rank)
            OK(MPI_Sendrecv(&cpus[rank % n], 1, MPI_INT, i, 0, &theirs[i], 1, MPI_INT, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (i != rank && theirs[i] == cpus[rank % n]) together++;
        if (theirs[i] != theirs[0]) places = 2;
    }
    comm = split(MPI_COMM_TYPE_HW_GUIDED, "hwloc://PU");
    OK(MPI_Comm_size(comm, &members));
    CHECK_EQ(members, together);
    OK(MPI_Comm_free(&comm));

    // Without guidance: smaller and smaller, down to one CPU.
    int before = size;
    MPI_Comm hw;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int depth = 0;; depth++) {
        CHECK(depth < 16);
        OK(MPI_Info_create(&info));
        OK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_HW_UNGUIDED, rank, info, &hw));
        if (hw != MPI_COMM_NULL) {
            char name[64];
            length = sizeof name;
            OK(MPI_Info_get_string(info, "mpi_hw_resource_type", &length, name, &flag));
            CHECK(flag && strlen(name) > 0);
            OK(MPI_Comm_size(hw, &members));
            CHECK(members < before);
            before = members;
        }
        OK(MPI_Info_free(&info));
        OK(MPI_Comm_free(&comm));
        if (hw == MPI_COMM_NULL) break;
        comm = hw;
    }
    if (places > 1) CHECK_EQ(before, together);

    OK(MPI_Get_hw_resource_info(&info));
    int keys = 0;
    OK(MPI_Info_get_nkeys(info, &keys));
    CHECK(keys > 0);
    for (int i = 0; i < keys; i++) {
        char key[MPI_MAX_INFO_KEY], value[8];
        OK(MPI_Info_get_nthkey(info, i, key));
        CHECK(strstr(key, "://"));
        length = sizeof value;
        OK(MPI_Info_get_string(info, key, &length, value, &flag));
        CHECK(flag && (!strcmp(value, "true") || !strcmp(value, "false")));
        // On one CPU it is confined to one of everything.
        CHECK(!strcmp(value, "true"));
    }
    OK(MPI_Info_free(&info));
    CHECK_ERROR(MPI_Get_hw_resource_info(NULL), MPI_ERR_ARG, "MPI_Get_hw_resource_info");
    return finish();
}
