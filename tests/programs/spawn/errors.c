// ranks: 1 2 3
// sleeps: it waits for programs that do not call MPI_Init
// timeout: 60
// What cannot be spawned: all processes of the communicator get an error of the right class, and
// the root the reason; no process hangs.
#include "family.h"

static MPI_Comm children;
static int codes[4];

#define REFUSED(call, class_, word)                                                \
    do {                                                                           \
        children = MPI_COMM_WORLD;                                                 \
        for (int i_ = 0; i_ < 4; i_++) codes[i_] = -1;                             \
        int refused_ = (call);                                                         \
        if (check_class(refused_) != (class_))                                         \
            CHECK_FAIL("%s gave class %d: %s", #call, check_class(refused_), check_text(refused_)); \
        CHECK_TEXT(refused_, word);                                                    \
        CHECK(children == MPI_COMM_NULL);                                          \
    } while (0)

static int spawn(const char *command, char **argv, int n, const char *key, const char *value) {
    MPI_Info info = MPI_INFO_NULL;
    if (key) {
        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, key, value));
    }
    int code = MPI_Comm_spawn(command, argv, n, info, 0, MPI_COMM_WORLD, &children, codes);
    if (key) OK(MPI_Info_free(&info));
    return code;
}

static void codes_say(int n, int class) {
    for (int i = 0; i < 4; i++)
        if (i < n)
            CHECK_CLASS(codes[i], class);
        else
            CHECK_EQ(codes[i], -1);
}

static void programs(char **argv) {
    REFUSED(spawn("./no-such-program", MPI_ARGV_NULL, 3, NULL, NULL), MPI_ERR_SPAWN, "no-such-program");
    codes_say(3, MPI_ERR_SPAWN);
    CHECK_TEXT(codes[0], "no-such-program");
    REFUSED(spawn("no-such-program", MPI_ARGV_NULL, 1, NULL, NULL), MPI_ERR_SPAWN, "no-such-program");
    REFUSED(spawn("/", MPI_ARGV_NULL, 1, NULL, NULL), MPI_ERR_SPAWN, "directory");
    REFUSED(spawn("", MPI_ARGV_NULL, 1, NULL, NULL), MPI_ERR_SPAWN, "empty");
    // Programs that end, one way or another, before they have called MPI_Init.
    REFUSED(spawn("true", MPI_ARGV_NULL, 2, NULL, NULL), MPI_ERR_SPAWN, "without calling MPI_Init");
    char *script[] = {"-c", "exit 3", NULL};
    REFUSED(spawn("sh", script, 2, NULL, NULL), MPI_ERR_SPAWN, "exited with status 3");
    script[1] = "kill -9 $$";
    REFUSED(spawn("sh", script, 2, NULL, NULL), MPI_ERR_SPAWN, "signal 9");
    // One of several does not come, and one fails while the others wait for it in MPI_Init.
    char *some[] = {"-c", "[ $OXMPI_RANK = 1 ] && exit 0; exec \"$0\" child", argv[0], NULL};
    REFUSED(spawn("sh", some, 3, NULL, NULL), MPI_ERR_SPAWN, "without calling MPI_Init");
    some[1] = "[ $OXMPI_RANK = 1 ] && exit 9; exec \"$0\" child";
    REFUSED(spawn("sh", some, 3, NULL, NULL), MPI_ERR_SPAWN, "exited with status 9");
}

static void hints(char **argv) {
    REFUSED(spawn(argv[0], MPI_ARGV_NULL, 2, "host", "192.0.2.7"), MPI_ERR_SPAWN, "192.0.2.7");
    codes_say(2, MPI_ERR_SPAWN);
    REFUSED(spawn(argv[0], MPI_ARGV_NULL, 2, "arch", "abacus"), MPI_ERR_SPAWN, "abacus");
    REFUSED(spawn(argv[0], MPI_ARGV_NULL, 2, "wdir", "/nonexistent"), MPI_ERR_SPAWN, "/nonexistent");
    REFUSED(spawn(argv[0], MPI_ARGV_NULL, 2, "soft", "3:9"), MPI_ERR_SPAWN, "soft");
    REFUSED(spawn(argv[0], MPI_ARGV_NULL, 2, "soft", "two"), MPI_ERR_INFO_VALUE, "two");
    REFUSED(spawn(argv[0], MPI_ARGV_NULL, 2, "appnum", "x"), MPI_ERR_INFO_VALUE, "appnum");
}

static void arguments(char **argv) {
    MPI_Comm inter, all;
    char *commands[] = {argv[0], "./no-such-program"};
    int counts[] = {1, 2};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    REFUSED(MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, counts, infos, 0, MPI_COMM_WORLD, &children, codes), MPI_ERR_SPAWN,
            "no-such-program");
    codes_say(3, MPI_ERR_SPAWN);
    REFUSED(MPI_Comm_spawn_multiple(0, commands, MPI_ARGVS_NULL, counts, infos, 0, MPI_COMM_WORLD, &children, codes), MPI_ERR_COUNT, "0");
    REFUSED(MPI_Comm_spawn_multiple(1, NULL, MPI_ARGVS_NULL, counts, infos, 0, MPI_COMM_WORLD, &children, codes), MPI_ERR_ARG,
            "array_of_commands");
    REFUSED(spawn(NULL, MPI_ARGV_NULL, 1, NULL, NULL), MPI_ERR_ARG, "command");
    REFUSED(spawn(argv[0], MPI_ARGV_NULL, -1, NULL, NULL), MPI_ERR_ARG, "-1");
    REFUSED(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1 << 30, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE), MPI_ERR_SPAWN,
            "1073741824");
    REFUSED(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, (MPI_Info)12345, 0, MPI_COMM_WORLD, &children, codes), MPI_ERR_INFO, "info");
    REFUSED(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, size, MPI_COMM_WORLD, &children, codes), MPI_ERR_ROOT, "root");
    REFUSED(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, -1, MPI_COMM_WORLD, &children, codes), MPI_ERR_ROOT, "root");
    CHECK_ERROR(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_NULL, &children, codes), MPI_ERR_COMM,
                "MPI_Comm_spawn");
    CHECK_ERROR(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, NULL, codes), MPI_ERR_ARG, "intercomm");
    CHECK_ERROR(MPI_Comm_get_parent(NULL), MPI_ERR_ARG, "MPI_Comm_get_parent");
    if (size == 1) return;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0, 0, &all));
    OK(MPI_Intercomm_create(all, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 1, &inter));
    REFUSED(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, inter, &children, codes), MPI_ERR_COMM, "intercommunicator");
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&all));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    if (is_child()) {
        CHECK_FAIL("nobody was to be spawned");
        return 1;
    }
    programs(argv);
    hints(argv);
    arguments(argv);
    // After all that, it still works.
    return finish();
}
