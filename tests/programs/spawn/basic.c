// ranks: 1 2 3
// One, two and four children, from each root: groups and ranks, names, arguments as they are, attributes, messages in all directions, and
// the end of the connection.
#include "family.h"

static const char *const words[] = {"one two", "", ":", "\\:", "--", "-n", "*", "\"quoted\""};
enum { WORDS = sizeof words / sizeof *words };

static void child(int argc, char **argv) {
    int n, flag, *appnum, local, remote, length;
    char name[MPI_MAX_OBJECT_NAME];
    CHECK_EQ(argc, WORDS + 2);
    for (int i = 0; i < WORDS; i++) CHECK(!strcmp(argv[i + 2], words[i]));
    n = atoi(argv[1]);
    CHECK_EQ(size, n);
    OK(MPI_Comm_get_name(parent, name, &length));
    CHECK(!strcmp(name, "MPI_COMM_PARENT"));
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &flag));
    CHECK(flag && *appnum == 0);
    OK(MPI_Comm_test_inter(parent, &flag));
    CHECK(flag);
    OK(MPI_Comm_rank(parent, &local));
    OK(MPI_Comm_remote_size(parent, &remote));
    CHECK_EQ(local, rank);
    MPI_Comm again;
    OK(MPI_Comm_get_parent(&again));
    CHECK(again == parent);
    greet(parent);
    int told = -1, sum = -1;
    OK(MPI_Bcast(&told, 1, MPI_INT, 0, parent));
    CHECK_EQ(told, 4711);
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, parent));
    CHECK_EQ(sum, remote * (remote - 1) / 2);
    // No input is theirs.
    CHECK_EQ(getchar(), EOF);
    OK(MPI_Comm_disconnect(&parent));
    CHECK(parent == MPI_COMM_NULL);
    OK(MPI_Comm_get_parent(&again));
    CHECK(again == MPI_COMM_NULL);
}

static void family(char **argv, int n, int root) {
    char number[16], *arguments[WORDS + 2] = {number};
    int codes[4] = {-1, -1, -1, -1}, inter, local, remote;
    MPI_Comm children;
    snprintf(number, sizeof number, "%d", n);
    for (int i = 0; i < WORDS; i++) arguments[i + 1] = (char *)words[i];
    // Only the root needs to know what is spawned.
    int is_root = rank == root;
    OK(MPI_Comm_spawn(is_root ? argv[0] : NULL, is_root ? arguments : NULL, is_root ? n : -7, is_root ? MPI_INFO_NULL : (MPI_Info)99, root,
                      MPI_COMM_WORLD, &children, codes));
    for (int i = 0; i < 4; i++) CHECK_EQ(codes[i], i < n ? MPI_SUCCESS : -1);
    OK(MPI_Comm_test_inter(children, &inter));
    OK(MPI_Comm_size(children, &local));
    OK(MPI_Comm_remote_size(children, &remote));
    CHECK(inter && local == size && remote == n);
    greet(children);
    int told = 4711, sum = -1;
    OK(MPI_Bcast(&told, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, children));
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, children));
    CHECK_EQ(sum, n * (n - 1) / 2);
    OK(MPI_Comm_disconnect(&children));
    CHECK(children == MPI_COMM_NULL);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    if (is_child()) {
        MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
        child(argc, argv);
    } else {
        for (int n = 1; n <= 4; n *= 2)
            for (int root = 0; root < size; root++) family(argv, n, root);
    }
    return finish();
}
