// ranks: 1 2
// Fewer processes than requested, where the info key `soft` allows it; the error codes show which
// are missing. None at all is a valid number, too.
#include "family.h"

static void expect(char **argv, const char *soft, int n, int expected) {
    int codes[6] = {-1, -1, -1, -1, -1, -1}, remote;
    MPI_Info info;
    MPI_Comm children;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "soft", soft));
    char *arguments[] = {"child", NULL};
    OK(MPI_Comm_spawn(argv[0], arguments, n, info, 0, MPI_COMM_WORLD, &children, codes));
    OK(MPI_Comm_remote_size(children, &remote));
    CHECK_EQ(remote, expected);
    for (int i = 0; i < 6; i++) {
        if (i < expected) CHECK_EQ(codes[i], MPI_SUCCESS);
        else if (i < n) CHECK_CLASS(codes[i], MPI_ERR_SPAWN);
        else CHECK_EQ(codes[i], -1);
    }
    greet(children);
    OK(MPI_Comm_disconnect(&children));
    OK(MPI_Info_free(&info));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    if (is_child()) {
        greet(parent);
        OK(MPI_Comm_disconnect(&parent));
        return finish();
    }
    expect(argv, "0:3", 3, 3);
    expect(argv, "1,2,4,8", 3, 2);
    expect(argv, "4:1:-3", 3, 1);
    expect(argv, "0", 2, 0);
    MPI_Comm children;
    int remote = -1;
    OK(spawn_self(argv, "child", 0, 0, MPI_COMM_WORLD, &children));
    OK(MPI_Comm_remote_size(children, &remote));
    CHECK_EQ(remote, 0);
    OK(MPI_Comm_disconnect(&children));
    return finish();
}
