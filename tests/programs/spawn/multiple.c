// ranks: 1 2 3
// Several commands make one world, in their order; each has its arguments, its info and its number.
#include "family.h"
#include <sys/stat.h>

static int appnum(void) {
    int *value, flag;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
    CHECK(flag);
    return *value;
}

static void child(int argc, char **argv) {
    char where[4096];
    CHECK(getcwd(where, sizeof where));
    CHECK_EQ(size, 4);
    if (rank == 0) {
        CHECK(argc == 3 && !strcmp(argv[2], "first"));
        CHECK_EQ(appnum(), 0);
    } else if (rank < 3) {
        CHECK_EQ(argc, 1);
        CHECK_EQ(appnum(), 1);
        CHECK(!strcmp(where, "/"));
    } else {
        CHECK(argc == 2 && !strcmp(argv[1], "third"));
        CHECK_EQ(appnum(), 77);
    }
    MPI_Errhandler handler;
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
    CHECK_EQ(handler == MPI_ERRORS_RETURN, rank == 3);
    return_errors();
    greet(parent);
    OK(MPI_Comm_disconnect(&parent));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    if (is_child()) {
        child(argc, argv);
        return finish();
    }
    return_errors();
    char *commands[] = {argv[0], argv[0], argv[0]};
    char *one[] = {"is", "first", NULL}, *two[] = {NULL}, *three[] = {"third", NULL}, **arguments[] = {one, two, three};
    int counts[] = {1, 2, 1}, codes[] = {5, 5, 5, 5};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL, MPI_INFO_NULL};
    OK(MPI_Info_create(&infos[1]));
    OK(MPI_Info_set(infos[1], "wdir", "/"));
    OK(MPI_Info_set(infos[1], "host", "localhost"));
    OK(MPI_Info_set(infos[1], "file", "no such file, and nobody looks for it"));
    OK(MPI_Info_create(&infos[2]));
    OK(MPI_Info_set(infos[2], "appnum", "77"));
    OK(MPI_Info_set(infos[2], "mpi_initial_errhandler", "mpi_errors_return"));
    MPI_Comm children;
    OK(MPI_Comm_spawn_multiple(3, commands, arguments, counts, infos, size - 1, MPI_COMM_WORLD, &children, codes));
    for (int i = 0; i < 4; i++) CHECK_EQ(codes[i], MPI_SUCCESS);
    int remote;
    OK(MPI_Comm_remote_size(children, &remote));
    CHECK_EQ(remote, 4);
    greet(children);
    OK(MPI_Comm_disconnect(&children));
    OK(MPI_Info_free(&infos[1]));
    OK(MPI_Info_free(&infos[2]));
    return finish();
}
