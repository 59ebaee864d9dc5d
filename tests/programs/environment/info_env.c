// ranks: 1 2 3 4 7 8
// args: one two
// launch: -memory-alloc-kinds system
// MPI_INFO_ENV and MPI_Info_create_env: how the program was started.
#include "../check.h"

static const char *get(MPI_Info info, const char *key) {
    static char value[MPI_MAX_INFO_VAL + 1];
    int found = -1, length = sizeof value;
    OK(MPI_Info_get_string(info, key, &length, value, &found));
    return found ? value : "(missing)";
}

static void check(MPI_Info info, const char *command) {
    char here[MPI_MAX_INFO_VAL + 1];
    CHECK(!strcmp(get(info, "command"), command));
    CHECK(!strcmp(get(info, "argv"), "one two"));
    CHECK(getcwd(here, sizeof here) && !strcmp(get(info, "wdir"), here));
    CHECK(!strcmp(get(info, "mpi_memory_alloc_kinds"), "system"));
    CHECK_EQ(atoi(get(info, "maxprocs")), atoi(getenv("OXMPI_SIZE")));
    CHECK(!strcmp(get(info, "no such key"), "(missing)"));
}

int main(int argc, char **argv) {
    MPI_Info made = MPI_INFO_NULL, copy = MPI_INFO_NULL;
    char *other[] = {"program", "a", "b c", NULL};
    OK(MPI_Info_create_env(argc, argv, &made)); // before MPI_Init
    check(made, argv[0]);
    OK(MPI_Info_set(made, "mine", "too")); // it is the program's own
    OK(MPI_Info_free(&made));
    OK(MPI_Info_create_env(3, other, &made));
    CHECK(!strcmp(get(made, "command"), "program"));
    CHECK(!strcmp(get(made, "argv"), "a b c"));
    OK(MPI_Info_free(&made));
    start(&argc, &argv);
    return_errors();
    check(MPI_INFO_ENV, argv[0]);
    OK(MPI_Info_dup(MPI_INFO_ENV, &copy));
    check(copy, argv[0]);
    OK(MPI_Info_free(&copy));
    OK(MPI_Info_create_env(0, NULL, &made));
    check(made, argv[0]);
    OK(MPI_Info_free(&made));
    CHECK_ERROR(MPI_Info_create_env(-1, NULL, &made), MPI_ERR_ARG, "argc");
    CHECK_ERROR(MPI_Info_create_env(1, NULL, &made), MPI_ERR_ARG, "argv");
    CHECK_ERROR(MPI_Info_create_env(0, NULL, NULL), MPI_ERR_ARG, "info");
    MPI_Finalize();
    OK(MPI_Info_create_env(argc, argv, &made)); // and after MPI_Finalize
    check(made, argv[0]);
    OK(MPI_Info_free(&made));
    return 0;
}
