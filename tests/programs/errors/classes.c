// ranks: 1
// Error classes, codes and strings: the standard's, those of the program, and their removal; before MPI_Init, while
// MPI is up, and after MPI_Finalize.
#include "../check.h"

// Each of the standard's classes is its own class and has a text that names it.
static void standard(void) {
#define CLASS(c) {c, #c}
    static const struct {
        int class;
        const char *name;
    } classes[] = {
        CLASS(MPI_SUCCESS), CLASS(MPI_ERR_BUFFER), CLASS(MPI_ERR_COUNT), CLASS(MPI_ERR_TYPE), CLASS(MPI_ERR_TAG),
        CLASS(MPI_ERR_COMM), CLASS(MPI_ERR_RANK), CLASS(MPI_ERR_REQUEST), CLASS(MPI_ERR_ROOT), CLASS(MPI_ERR_GROUP),
        CLASS(MPI_ERR_OP), CLASS(MPI_ERR_TOPOLOGY), CLASS(MPI_ERR_DIMS), CLASS(MPI_ERR_ARG), CLASS(MPI_ERR_UNKNOWN),
        CLASS(MPI_ERR_TRUNCATE), CLASS(MPI_ERR_OTHER), CLASS(MPI_ERR_INTERN), CLASS(MPI_ERR_PENDING),
        CLASS(MPI_ERR_IN_STATUS), CLASS(MPI_ERR_ACCESS), CLASS(MPI_ERR_AMODE), CLASS(MPI_ERR_ASSERT),
        CLASS(MPI_ERR_BAD_FILE), CLASS(MPI_ERR_BASE), CLASS(MPI_ERR_CONVERSION), CLASS(MPI_ERR_DISP),
        CLASS(MPI_ERR_DUP_DATAREP), CLASS(MPI_ERR_FILE_EXISTS), CLASS(MPI_ERR_FILE_IN_USE), CLASS(MPI_ERR_FILE),
        CLASS(MPI_ERR_INFO_KEY), CLASS(MPI_ERR_INFO_NOKEY), CLASS(MPI_ERR_INFO_VALUE), CLASS(MPI_ERR_INFO),
        CLASS(MPI_ERR_IO), CLASS(MPI_ERR_KEYVAL), CLASS(MPI_ERR_LOCKTYPE), CLASS(MPI_ERR_NAME), CLASS(MPI_ERR_NO_MEM),
        CLASS(MPI_ERR_NOT_SAME), CLASS(MPI_ERR_NO_SPACE), CLASS(MPI_ERR_NO_SUCH_FILE), CLASS(MPI_ERR_PORT),
        CLASS(MPI_ERR_QUOTA), CLASS(MPI_ERR_READ_ONLY), CLASS(MPI_ERR_RMA_ATTACH), CLASS(MPI_ERR_RMA_CONFLICT),
        CLASS(MPI_ERR_RMA_RANGE), CLASS(MPI_ERR_RMA_SHARED), CLASS(MPI_ERR_RMA_SYNC), CLASS(MPI_ERR_SERVICE),
        CLASS(MPI_ERR_SIZE), CLASS(MPI_ERR_SPAWN), CLASS(MPI_ERR_UNSUPPORTED_DATAREP),
        CLASS(MPI_ERR_UNSUPPORTED_OPERATION), CLASS(MPI_ERR_WIN), CLASS(MPI_ERR_RMA_FLAVOR),
        CLASS(MPI_ERR_PROC_ABORTED), CLASS(MPI_ERR_VALUE_TOO_LARGE), CLASS(MPI_ERR_SESSION), CLASS(MPI_ERR_ERRHANDLER),
    };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        char text[MPI_MAX_ERROR_STRING];
        int class = -1, length = -1;
        CHECK(classes[i].class >= 0 && classes[i].class <= MPI_ERR_LASTCODE);
        OK(MPI_Error_class(classes[i].class, &class));
        CHECK_EQ(class, classes[i].class);
        OK(MPI_Error_string(classes[i].class, text, &length));
        CHECK(length > 0 && length < MPI_MAX_ERROR_STRING);
        CHECK_EQ(strlen(text), length);
        CHECK_TEXT(classes[i].class, classes[i].name);
        for (size_t k = 0; k < i; k++) CHECK(classes[k].class != classes[i].class);
    }
    CHECK_EQ(MPI_SUCCESS, 0);
}

static int last_used(void) {
    int up = 0, down = 0, found = 0, *value = NULL;
    MPI_Initialized(&up);
    MPI_Finalized(&down);
    if (!up || down) return -1; // the attribute belongs to the world
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &found);
    CHECK_EQ(found, 1);
    CHECK(*value >= MPI_ERR_LASTCODE);
    return *value;
}

static void own(void) {
    int class = -1, code = -1, of_standard = -1, got = -1, length = -1, before = last_used();
    char text[MPI_MAX_ERROR_STRING];
    OK(MPI_Add_error_class(&class));
    CHECK(class > MPI_ERR_LASTCODE);
    if (before >= 0) CHECK(last_used() >= class);
    OK(MPI_Error_class(class, &got));
    CHECK_EQ(got, class);
    OK(MPI_Add_error_code(class, &code));
    CHECK(code > MPI_ERR_LASTCODE && code != class);
    OK(MPI_Error_class(code, &got));
    CHECK_EQ(got, class);
    OK(MPI_Add_error_code(MPI_ERR_IO, &of_standard)); // a code of the program in a class of the standard
    OK(MPI_Error_class(of_standard, &got));
    CHECK_EQ(got, MPI_ERR_IO);
    memset(text, 'x', sizeof text);
    OK(MPI_Error_string(code, text, &length)); // no string yet: an empty one
    CHECK_EQ(length, 0);
    CHECK_EQ(text[0], 0);
    OK(MPI_Add_error_string(code, "the pump is dry"));
    OK(MPI_Error_string(code, text, &length));
    CHECK(!strcmp(text, "the pump is dry"));
    CHECK_EQ(length, strlen("the pump is dry"));
    OK(MPI_Add_error_string(code, "the pump is wet")); // replaces
    OK(MPI_Error_string(code, text, &length));
    CHECK(!strcmp(text, "the pump is wet"));
    OK(MPI_Add_error_string(class, "pumps"));
    OK(MPI_Error_string(class, text, &length));
    CHECK(!strcmp(text, "pumps"));
    OK(MPI_Remove_error_string(code));
    OK(MPI_Error_string(code, text, &length));
    CHECK_EQ(length, 0);
    OK(MPI_Remove_error_code(code));
    OK(MPI_Remove_error_code(of_standard));
    OK(MPI_Remove_error_string(class));
    OK(MPI_Remove_error_class(class));
    if (before >= 0) CHECK_EQ(last_used(), before);
}

// Under MPI_ERRORS_RETURN only.
static void mistakes(void) {
    int class, code, got = -1, length;
    char text[MPI_MAX_ERROR_STRING], *long_text = get_memory(MPI_MAX_ERROR_STRING + 2);
    CHECK_ERROR(MPI_Error_class(-1, &got), MPI_ERR_ARG, "MPI_Error_class");
    CHECK_ERROR(MPI_Error_class(MPI_ERR_OTHER, NULL), MPI_ERR_ARG, "MPI_Error_class");
    CHECK_ERROR(MPI_Error_string(-1, text, &length), MPI_ERR_ARG, "MPI_Error_string");
    CHECK_ERROR(MPI_Error_string(MPI_ERR_OTHER, NULL, &length), MPI_ERR_ARG, "MPI_Error_string");
    CHECK_ERROR(MPI_Error_string(MPI_ERR_OTHER, text, NULL), MPI_ERR_ARG, "MPI_Error_string");
    CHECK_ERROR(MPI_Add_error_class(NULL), MPI_ERR_ARG, "MPI_Add_error_class");
    CHECK_ERROR(MPI_Add_error_code(-1, &code), MPI_ERR_ARG, "MPI_Add_error_code");
    CHECK_ERROR(MPI_Add_error_code(MPI_ERR_LASTCODE + 12345, &code), MPI_ERR_ARG, "MPI_Add_error_code");
    CHECK_ERROR(MPI_Add_error_code(MPI_ERR_IO, NULL), MPI_ERR_ARG, "MPI_Add_error_code");
    CHECK_ERROR(MPI_Add_error_string(MPI_ERR_IO, "mine"), MPI_ERR_ARG, "MPI_Add_error_string"); // the standard's
    CHECK_ERROR(MPI_Remove_error_class(MPI_ERR_IO), MPI_ERR_ARG, "MPI_Remove_error_class");
    CHECK_ERROR(MPI_Remove_error_code(MPI_ERR_IO), MPI_ERR_ARG, "MPI_Remove_error_code");
    CHECK_ERROR(MPI_Remove_error_string(MPI_ERR_IO), MPI_ERR_ARG, "MPI_Remove_error_string");
    OK(MPI_Add_error_class(&class));
    OK(MPI_Add_error_code(class, &code));
    CHECK_ERROR(MPI_Add_error_string(code, NULL), MPI_ERR_ARG, "MPI_Add_error_string");
    memset(long_text, 'x', MPI_MAX_ERROR_STRING + 1);
    long_text[MPI_MAX_ERROR_STRING + 1] = 0;
    CHECK_ERROR(MPI_Add_error_string(code, long_text), MPI_ERR_ARG, "MPI_Add_error_string");
    CHECK_ERROR(MPI_Remove_error_string(code), MPI_ERR_ARG, "MPI_Remove_error_string"); // it has none
    CHECK_ERROR(MPI_Remove_error_class(class), MPI_ERR_ARG, "MPI_Remove_error_class");  // it still has a code
    OK(MPI_Add_error_string(code, "text"));
    CHECK_ERROR(MPI_Remove_error_code(code), MPI_ERR_ARG, "MPI_Remove_error_code"); // it still has a string
    OK(MPI_Remove_error_string(code));
    OK(MPI_Remove_error_code(code));
    CHECK_ERROR(MPI_Remove_error_code(code), MPI_ERR_ARG, "MPI_Remove_error_code"); // not twice
    OK(MPI_Add_error_string(class, "text"));
    CHECK_ERROR(MPI_Remove_error_class(class), MPI_ERR_ARG, "MPI_Remove_error_class"); // it still has a string
    OK(MPI_Remove_error_string(class));
    OK(MPI_Remove_error_class(class));
    CHECK_ERROR(MPI_Remove_error_class(class), MPI_ERR_ARG, "MPI_Remove_error_class");
    free(long_text);
}

int main(int argc, char **argv) {
    standard();
    own();
    start(&argc, &argv);
    return_errors();
    standard();
    own();
    mistakes();
    MPI_Finalize();
    standard();
    own();
    return 0;
}
