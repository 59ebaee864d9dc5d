// ranks: 1 2
// Programs are found by a path, by the info key `path`, and where `wdir` says; without arguments there are none.
#include "family.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    if (is_child()) {
        CHECK_EQ(argc, 1);
        greet(parent);
        OK(MPI_Comm_disconnect(&parent));
        return finish();
    }
    char program[4096], *name, relative[4096];
    CHECK(realpath(argv[0], program));
    name = strrchr(program, '/') + 1;
    snprintf(relative, sizeof relative, "./%s", name);
    name[-1] = 0;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "path", program));
    MPI_Comm children;
    OK(MPI_Comm_spawn(name, MPI_ARGV_NULL, 2, info, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE));
    greet(children);
    OK(MPI_Comm_disconnect(&children));
    OK(MPI_Info_delete(info, "path"));
    OK(MPI_Info_set(info, "wdir", program));
    MPI_Info infos[] = {info, info};
    char *commands[] = {relative, name};
    int counts[] = {1, 1};
    OK(MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, counts, infos, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE));
    greet(children);
    OK(MPI_Comm_disconnect(&children));
    OK(MPI_Info_free(&info));
    return finish();
}
