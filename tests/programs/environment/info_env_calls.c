// ranks: 2 3
// args: single
// args: multiple
// MPI_INFO_ENV is an info argument like any other, with and without the library's lock.
#include "../check.h"

int main(int argc, char **argv) {
    const MPI_Info env = MPI_INFO_ENV;
    const int level = strcmp(argv[1], "single") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    int provided = -1, mine[4] = {1, 2, 3, 4}, all[64];
    OK(MPI_Init_thread(&argc, &argv, level, &provided));
    CHECK_EQ(provided, level);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));

    MPI_Comm comm;
    MPI_Request request;
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, env, &comm));
    OK(MPI_Comm_set_info(comm, env));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, env, &comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, env, &comm));
    OK(MPI_Comm_free(&comm));
    int right = (rank + 1) % size, left = (rank + size - 1) % size, one = 1;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, env, 0, &comm));
    OK(MPI_Neighbor_allgather_init(mine, 1, MPI_INT, all, 1, MPI_INT, comm, env, &request));
    OK(MPI_Request_free(&request));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &right, MPI_UNWEIGHTED, env, 0, &comm));
    OK(MPI_Comm_free(&comm));

    OK(MPI_Barrier_init(MPI_COMM_WORLD, env, &request));
    OK(MPI_Request_free(&request));
    OK(MPI_Allreduce_init(mine, all, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, env, &request));
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(all[3], 4 * size);
    OK(MPI_Request_free(&request));
    OK(MPI_Psend_init(mine, 1, 1, MPI_INT, right, 0, MPI_COMM_WORLD, env, &request));
    OK(MPI_Request_free(&request));

    MPI_Win win;
    void *base;
    OK(MPI_Alloc_mem(100, env, &base));
    OK(MPI_Free_mem(base));
    OK(MPI_Win_create(mine, sizeof mine, 1, env, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_info(win, env));
    OK(MPI_Win_free(&win));
    OK(MPI_Win_allocate(100, 1, env, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_free(&win));
    MPI_Comm host;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    OK(MPI_Win_allocate_shared(100, 1, env, host, &base, &win));
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_free(&host));

    MPI_File file;
    OK(MPI_File_open(MPI_COMM_WORLD, "info_env_calls.tmp", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, env, &file));
    OK(MPI_File_set_info(file, env));
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", env));
    OK(MPI_File_close(&file));

    char port[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME], name[64];
    snprintf(name, sizeof name, "info_env_calls %d %d", rank, (int)getpid());
    OK(MPI_Open_port(env, port));
    OK(MPI_Publish_name(name, env, port));
    OK(MPI_Lookup_name(name, env, found));
    CHECK(!strcmp(port, found));
    OK(MPI_Unpublish_name(name, env, port));
    OK(MPI_Close_port(port));

    MPI_Session session;
    MPI_Group group;
    OK(MPI_Session_init(env, MPI_ERRORS_ARE_FATAL, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, "env", env, MPI_ERRORS_ARE_FATAL, &comm));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Session_finalize(&session));
    return finish();
}
