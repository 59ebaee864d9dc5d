// ranks: 1 2 5
// The descriptions of all objects are as the standard requires, in strings of any length, also when
// only a part is requested, and the same on every rank. Invalid indices, unknown names and null
// pointers give the right error codes.
#include "tool.h"

enum { ROOM = 600 };
static uint64_t hash; // of all that was said

static void say(const void *what, size_t n) {
    for (size_t i = 0; i < n; i++) hash = (hash ^ ((const unsigned char *)what)[i]) * 0x100000001b3;
}
static void say_text(const char *text) { say(text, strlen(text) + 1); }
static void say_int(int n) { say(&n, sizeof n); }

// What one string is like for a getter: get(index, text, length) asks for it alone.
static void check_string(int (*get)(int, char *, int *), int index, char *all) {
    char text[ROOM];
    int needed = -1, length = ROOM;
    CODE(get(index, NULL, &needed), MPI_SUCCESS); // no buffer: the length only
    CHECK(needed > 1 && needed < ROOM);
    memset(all, '#', ROOM);
    CODE(get(index, all, &length), MPI_SUCCESS);
    CHECK_EQ(length, needed);
    CHECK_EQ(strlen(all) + 1, needed);
    CHECK_EQ(all[needed], '#');
    const int rooms[] = {needed, needed - 1, 2, 1, 0};
    for (int i = 0; i < 5; i++) {
        memset(text, '#', ROOM);
        length = rooms[i];
        CODE(get(index, text, &length), MPI_SUCCESS);
        CHECK_EQ(length, needed);
        int shown = rooms[i] ? rooms[i] - 1 : 0;
        CHECK_EQ(memcmp(text, all, (size_t)shown), 0);
        if (rooms[i]) CHECK_EQ(text[shown], 0);
        CHECK_EQ(text[rooms[i]], '#');
    }
    memset(text, '#', ROOM);
    CODE(get(index, text, NULL), MPI_SUCCESS); // no length: nothing
    CHECK_EQ(text[0], '#');
    length = -1;
    CODE(get(index, text, &length), MPI_T_ERR_INVALID);
    say_text(all);
}

#define NO NULL
static int cvar_name(int i, char *t, int *n) { return MPI_T_cvar_get_info(i, t, n, NO, NO, NO, NO, NO, NO, NO); }
static int cvar_desc(int i, char *t, int *n) { return MPI_T_cvar_get_info(i, NO, NO, NO, NO, NO, t, n, NO, NO); }
static int pvar_name(int i, char *t, int *n) {
    return MPI_T_pvar_get_info(i, t, n, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO);
}
static int pvar_desc(int i, char *t, int *n) {
    return MPI_T_pvar_get_info(i, NO, NO, NO, NO, NO, NO, t, n, NO, NO, NO, NO);
}
static int event_name(int i, char *t, int *n) {
    return MPI_T_event_get_info(i, t, n, NO, NO, NO, NO, NO, NO, NO, NO, NO);
}
static int event_desc(int i, char *t, int *n) {
    return MPI_T_event_get_info(i, NO, NO, NO, NO, NO, NO, NO, NO, t, n, NO);
}
static int source_name(int i, char *t, int *n) { return MPI_T_source_get_info(i, t, n, NO, NO, NO, NO, NO, NO); }
static int source_desc(int i, char *t, int *n) { return MPI_T_source_get_info(i, NO, NO, t, n, NO, NO, NO, NO); }
static int category_name(int i, char *t, int *n) { return MPI_T_category_get_info(i, t, n, NO, NO, NO, NO, NO); }
static int category_desc(int i, char *t, int *n) { return MPI_T_category_get_info(i, NO, NO, t, n, NO, NO, NO); }
static MPI_T_enum names;
static int enum_name(int i, char *t, int *n) {
    (void)i;
    return MPI_T_enum_get_info(names, NO, t, n);
}
static int item_name(int i, char *t, int *n) { return MPI_T_enum_get_item(names, i, NO, t, n); }

static void check_enum(MPI_T_enum given) {
    char all[ROOM], other[ROOM];
    int n = -1, value = -1;
    names = given;
    CODE(MPI_T_enum_get_info(given, &n, NULL, NULL), MPI_SUCCESS);
    CHECK(n > 0);
    say_int(n);
    check_string(enum_name, 0, all);
    for (int i = 0; i < n; i++) {
        if (n < 20) check_string(item_name, i, all);
        CODE(MPI_T_enum_get_item(given, i, &value, NULL, NULL), MPI_SUCCESS);
        say_int(value);
        for (int j = 0; j < i && n < 20; j++) {
            int length = ROOM;
            CODE(item_name(j, other, &length), MPI_SUCCESS);
            CHECK(strcmp(all, other));
        }
    }
    CODE(MPI_T_enum_get_item(given, n, &value, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    CODE(MPI_T_enum_get_item(given, -1, &value, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
}

static int is_verbosity(int v) {
    const int known[] = {MPI_T_VERBOSITY_USER_BASIC,    MPI_T_VERBOSITY_USER_DETAIL,  MPI_T_VERBOSITY_USER_ALL,
                         MPI_T_VERBOSITY_TUNER_BASIC,   MPI_T_VERBOSITY_TUNER_DETAIL, MPI_T_VERBOSITY_TUNER_ALL,
                         MPI_T_VERBOSITY_MPIDEV_BASIC,  MPI_T_VERBOSITY_MPIDEV_DETAIL, MPI_T_VERBOSITY_MPIDEV_ALL};
    for (int i = 0; i < 9; i++)
        if (known[i] == v) return 1;
    return 0;
}

static int is_type(MPI_Datatype t) {
    return t == MPI_INT || t == MPI_UNSIGNED || t == MPI_UNSIGNED_LONG || t == MPI_UNSIGNED_LONG_LONG || t == MPI_COUNT ||
           t == MPI_CHAR || t == MPI_DOUBLE || t == MPI_INT32_T || t == MPI_INT64_T || t == MPI_UINT32_T ||
           t == MPI_UINT64_T;
}

static void cvars(void) {
    char name[ROOM], text[ROOM];
    int n = -1, index = -1, verbosity, bind, scope;
    MPI_Datatype type;
    MPI_T_enum given;
    CODE(MPI_T_cvar_get_num(&n), MPI_SUCCESS);
    CHECK(n >= 4);
    for (int i = 0; i < n; i++) {
        check_string(cvar_name, i, name);
        check_string(cvar_desc, i, text);
        CODE(MPI_T_cvar_get_index(name, &index), MPI_SUCCESS);
        CHECK_EQ(index, i); // so the names differ, too
        CODE(MPI_T_cvar_get_info(i, NO, NO, &verbosity, &type, &given, NO, NO, &bind, &scope), MPI_SUCCESS);
        CHECK(is_verbosity(verbosity));
        CHECK(is_type(type));
        CHECK(bind >= MPI_T_BIND_NO_OBJECT && bind <= MPI_T_BIND_MPI_SESSION);
        CHECK(scope >= MPI_T_SCOPE_CONSTANT && scope <= MPI_T_SCOPE_ALL_EQ);
        if (given != MPI_T_ENUM_NULL) {
            CHECK(type == MPI_INT);
            check_enum(given);
        }
        say_int(verbosity), say_int(scope), say_int(bind), say(&type, sizeof type);
    }
    const int bad[] = {-1, n, INT_MAX, INT_MIN};
    MPI_T_cvar_handle handle;
    for (int i = 0; i < 4; i++) {
        CODE(cvar_name(bad[i], NULL, NULL), MPI_T_ERR_INVALID_INDEX);
        CODE(MPI_T_cvar_handle_alloc(bad[i], NULL, &handle, &index), MPI_T_ERR_INVALID_INDEX);
    }
    CODE(MPI_T_cvar_get_index("no such variable", &index), MPI_T_ERR_INVALID_NAME);
    CODE(MPI_T_cvar_get_index("OXMPI_EXPLAI", &index), MPI_T_ERR_INVALID_NAME);
    CODE(MPI_T_cvar_get_index("", &index), MPI_T_ERR_INVALID_NAME);
    CODE(MPI_T_cvar_get_index(NULL, &index), MPI_T_ERR_INVALID);
    CODE(MPI_T_cvar_get_index("OXMPI_EXPLAIN", NULL), MPI_T_ERR_INVALID);
    CODE(MPI_T_cvar_get_num(NULL), MPI_T_ERR_INVALID);
}

static void pvars(void) {
    char name[ROOM], text[ROOM];
    int n = -1, index = -1, verbosity, class, bind, readonly, continuous, atomic;
    MPI_Datatype type;
    MPI_T_enum given;
    CODE(MPI_T_pvar_get_num(&n), MPI_SUCCESS);
    CHECK(n >= 10);
    for (int i = 0; i < n; i++) {
        check_string(pvar_name, i, name);
        check_string(pvar_desc, i, text);
        CODE(MPI_T_pvar_get_info(i, NO, NO, &verbosity, &class, &type, &given, NO, NO, &bind, &readonly, &continuous,
                                 &atomic),
             MPI_SUCCESS);
        CODE(MPI_T_pvar_get_index(name, class, &index), MPI_SUCCESS);
        CHECK_EQ(index, i);
        CHECK(is_verbosity(verbosity));
        switch (class) {
        case MPI_T_PVAR_CLASS_STATE: CHECK(type == MPI_INT); break;
        case MPI_T_PVAR_CLASS_PERCENTAGE: CHECK(type == MPI_DOUBLE); break;
        case MPI_T_PVAR_CLASS_COUNTER:
            CHECK(type == MPI_UNSIGNED || type == MPI_UNSIGNED_LONG || type == MPI_UNSIGNED_LONG_LONG);
            break;
        default:
            CHECK(class > MPI_T_PVAR_CLASS_STATE && class <= MPI_T_PVAR_CLASS_GENERIC);
            CHECK(type == MPI_UNSIGNED || type == MPI_UNSIGNED_LONG || type == MPI_UNSIGNED_LONG_LONG ||
                  type == MPI_DOUBLE);
        }
        CHECK((readonly | 1) == 1 && (continuous | 1) == 1 && (atomic | 1) == 1);
        CHECK(!(readonly && atomic));
        CHECK(bind >= MPI_T_BIND_NO_OBJECT && bind <= MPI_T_BIND_MPI_SESSION);
        if (given != MPI_T_ENUM_NULL) {
            CHECK(type == MPI_INT);
            check_enum(given);
        }
        say_int(verbosity), say_int(class), say_int(bind), say_int(readonly), say_int(continuous), say_int(atomic);
        say(&type, sizeof type);
    }
    const int bad[] = {-1, n, INT_MAX, INT_MIN};
    for (int i = 0; i < 4; i++) CODE(pvar_name(bad[i], NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    CODE(MPI_T_pvar_get_index("no such variable", MPI_T_PVAR_CLASS_LEVEL, &index), MPI_T_ERR_INVALID_NAME);
    CODE(MPI_T_pvar_get_index("oxmpi_sleeps", MPI_T_PVAR_CLASS_LEVEL, &index), MPI_T_ERR_INVALID_NAME);
    CODE(MPI_T_pvar_get_index("oxmpi_sleeps", 0, &index), MPI_T_ERR_INVALID_NAME);
    CODE(MPI_T_pvar_get_index(NULL, MPI_T_PVAR_CLASS_LEVEL, &index), MPI_T_ERR_INVALID);
    CODE(MPI_T_pvar_get_index("oxmpi_sleeps", MPI_T_PVAR_CLASS_COUNTER, NULL), MPI_T_ERR_INVALID);
    CODE(MPI_T_pvar_get_num(NULL), MPI_T_ERR_INVALID);
}

static void events(void) {
    char name[ROOM], text[ROOM];
    int n = -1, index = -1, verbosity, bind;
    CODE(MPI_T_event_get_num(&n), MPI_SUCCESS);
    CHECK(n >= 2);
    for (int i = 0; i < n; i++) {
        MPI_Datatype types[8];
        MPI_Aint places[8];
        MPI_T_enum given = MPI_T_ENUM_NULL;
        MPI_Info info = MPI_INFO_NULL;
        int elements = 8, keys = -1;
        check_string(event_name, i, name);
        check_string(event_desc, i, text);
        CODE(MPI_T_event_get_index(name, &index), MPI_SUCCESS);
        CHECK_EQ(index, i);
        CODE(MPI_T_event_get_info(i, NO, NO, &verbosity, types, places, &elements, &given, &info, NO, NO, &bind),
             MPI_SUCCESS);
        CHECK(is_verbosity(verbosity));
        CHECK_EQ(bind, MPI_T_BIND_NO_OBJECT);
        CHECK(elements > 0 && elements <= 8);
        CHECK_EQ(places[0], 0);
        for (int e = 0; e < elements; e++) {
            CHECK(is_type(types[e]));
            if (e) CHECK(places[e] > places[e - 1]);
            say(&types[e], sizeof types[e]);
        }
        OK(MPI_Info_get_nkeys(info, &keys));
        CHECK_EQ(keys, 0);
        OK(MPI_Info_free(&info));
        CHECK(given != MPI_T_ENUM_NULL);
        check_enum(given);
        int items = -1;
        CODE(MPI_T_enum_get_info(given, &items, NULL, NULL), MPI_SUCCESS);
        CHECK_EQ(items, elements);
        // Arrays that are too short, or not wanted.
        MPI_Datatype first = MPI_DATATYPE_NULL;
        int room = 1;
        types[1] = MPI_DATATYPE_NULL;
        first = types[0], types[0] = MPI_DATATYPE_NULL;
        CODE(MPI_T_event_get_info(i, NO, NO, NO, types, NO, &room, NO, NO, NO, NO, NO), MPI_SUCCESS);
        CHECK_EQ(room, elements);
        CHECK(types[0] == first && types[1] == MPI_DATATYPE_NULL);
        room = 0, types[0] = MPI_DATATYPE_NULL;
        CODE(MPI_T_event_get_info(i, NO, NO, NO, types, places, &room, NO, NO, NO, NO, NO), MPI_SUCCESS);
        CHECK_EQ(room, elements);
        CODE(MPI_T_event_get_info(i, NO, NO, NO, types, places, NO, NO, NO, NO, NO, NO), MPI_SUCCESS);
        CHECK(types[0] == MPI_DATATYPE_NULL);
    }
    MPI_T_event_registration registration;
    const int bad[] = {-1, n, INT_MAX, INT_MIN};
    for (int i = 0; i < 4; i++) {
        CODE(event_name(bad[i], NULL, NULL), MPI_T_ERR_INVALID_INDEX);
        CODE(MPI_T_event_handle_alloc(bad[i], NULL, MPI_INFO_NULL, &registration), MPI_T_ERR_INVALID_INDEX);
    }
    CODE(MPI_T_event_get_index("no such event", &index), MPI_T_ERR_INVALID_NAME);
    CODE(MPI_T_event_get_index(NULL, &index), MPI_T_ERR_INVALID);
    CODE(MPI_T_event_get_num(NULL), MPI_T_ERR_INVALID);
}

static void sources(void) {
    char name[ROOM];
    int n = -1, keys = -1;
    MPI_T_source_order order;
    MPI_Count ticks, most, before, after;
    MPI_Info info;
    CODE(MPI_T_source_get_num(&n), MPI_SUCCESS);
    CHECK(n >= 1);
    for (int i = 0; i < n; i++) {
        check_string(source_name, i, name);
        check_string(source_desc, i, name);
        CODE(MPI_T_source_get_info(i, NO, NO, NO, NO, &order, &ticks, &most, &info), MPI_SUCCESS);
        CHECK(order == MPI_T_SOURCE_ORDERED || order == MPI_T_SOURCE_UNORDERED);
        CHECK(ticks > 0 && most > ticks);
        OK(MPI_Info_get_nkeys(info, &keys));
        CHECK_EQ(keys, 0);
        OK(MPI_Info_free(&info));
        CODE(MPI_T_source_get_timestamp(i, &before), MPI_SUCCESS);
        sleep_ms(20);
        CODE(MPI_T_source_get_timestamp(i, &after), MPI_SUCCESS);
        CHECK(after - before >= ticks / 50 && after - before < ticks * 30);
    }
    const int bad[] = {-1, n, INT_MAX, INT_MIN};
    for (int i = 0; i < 4; i++) {
        CODE(source_name(bad[i], NULL, NULL), MPI_T_ERR_INVALID_INDEX);
        CODE(MPI_T_source_get_timestamp(bad[i], &before), MPI_T_ERR_INVALID_INDEX);
    }
    CODE(MPI_T_source_get_timestamp(0, NULL), MPI_T_ERR_INVALID);
    CODE(MPI_T_source_get_num(NULL), MPI_T_ERR_INVALID);
}

typedef int getter(int, int, int *);

// The members of one kind; each is in the range, and all are marked.
static void members(getter *get, int category, int n, int range, int *marks) {
    int list[100], two[3] = {-7, -7, -7};
    CHECK(n >= 0 && n < 100);
    for (int i = 0; i < 100; i++) list[i] = -7;
    CODE(get(category, 100, list), MPI_SUCCESS);
    for (int i = 0; i < 100; i++) {
        if (i >= n) {
            CHECK_EQ(list[i], -7);
            continue;
        }
        CHECK(list[i] >= 0 && list[i] < range);
        marks[list[i]]++;
        say_int(list[i]);
    }
    CODE(get(category, 2, two), MPI_SUCCESS); // no more than there is room for
    CHECK_EQ(two[2], -7);
    if (n > 1) CHECK(two[0] >= 0 && two[1] >= 0);
    CODE(get(category, 0, NULL), MPI_SUCCESS);
    CODE(get(category, -1, list), MPI_T_ERR_INVALID);
    CODE(get(category, 2, NULL), MPI_T_ERR_INVALID);
}

static void categories(void) {
    char name[ROOM];
    int n = -1, index = -1, count[4], before = -1, after = -1, range[4] = {0};
    static int marks[4][100];
    getter *const get[] = {MPI_T_category_get_cvars, MPI_T_category_get_pvars, MPI_T_category_get_events,
                           MPI_T_category_get_categories};
    memset(marks, 0, sizeof marks);
    CODE(MPI_T_category_changed(&before), MPI_SUCCESS);
    MPI_T_cvar_get_num(&range[0]);
    MPI_T_pvar_get_num(&range[1]);
    MPI_T_event_get_num(&range[2]);
    CODE(MPI_T_category_get_num(&n), MPI_SUCCESS);
    range[3] = n;
    CHECK(n >= 2);
    for (int i = 0; i < n; i++) {
        check_string(category_name, i, name);
        CODE(MPI_T_category_get_index(name, &index), MPI_SUCCESS);
        CHECK_EQ(index, i);
        check_string(category_desc, i, name);
        CODE(MPI_T_category_get_info(i, NO, NO, NO, NO, &count[0], &count[1], &count[3]), MPI_SUCCESS);
        CODE(MPI_T_category_get_num_events(i, &count[2]), MPI_SUCCESS);
        CHECK(count[0] + count[1] + count[2] + count[3] > 0);
        for (int kind = 0; kind < 4; kind++) members(get[kind], i, count[kind], range[kind], marks[kind]);
    }
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < range[kind]; i++) CHECK_EQ(marks[kind][i], 1);
    CHECK_EQ(marks[3][0], 0); // the first one holds the others
    for (int i = 1; i < n; i++) CHECK_EQ(marks[3][i], 1);
    CODE(MPI_T_category_changed(&after), MPI_SUCCESS);
    CHECK_EQ(after, before);
    const int bad[] = {-1, n, INT_MAX, INT_MIN};
    for (int i = 0; i < 4; i++) {
        CODE(category_name(bad[i], NULL, NULL), MPI_T_ERR_INVALID_INDEX);
        CODE(MPI_T_category_get_num_events(bad[i], &index), MPI_T_ERR_INVALID_INDEX);
        for (int kind = 0; kind < 4; kind++) CODE(get[kind](bad[i], 1, &index), MPI_T_ERR_INVALID_INDEX);
    }
    CODE(MPI_T_category_get_index("no such category", &index), MPI_T_ERR_INVALID_NAME);
    CODE(MPI_T_category_get_index(NULL, &index), MPI_T_ERR_INVALID);
    CODE(MPI_T_category_get_num(NULL), MPI_T_ERR_INVALID);
    CODE(MPI_T_category_changed(NULL), MPI_T_ERR_INVALID);
    CODE(MPI_T_category_get_num_events(0, NULL), MPI_T_ERR_INVALID);
}

static uint64_t everything(void) {
    hash = 1;
    cvars();
    pvars();
    events();
    sources();
    categories();
    return hash;
}

int main(int argc, char **argv) {
    const uintptr_t bad[] = {0, 1, 4096, (uintptr_t)-1, (uintptr_t)&hash};
    int n = -1;
    start_tool();
    uint64_t before = everything(), all[5];
    for (int i = 0; i < 5; i++) {
        CODE(MPI_T_enum_get_info((MPI_T_enum)bad[i], &n, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
        CODE(MPI_T_enum_get_item((MPI_T_enum)bad[i], 0, &n, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    }
    start(&argc, &argv);
    CHECK(everything() == before);
    MPI_Allgather(&before, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) CHECK(all[i] == before);
    MPI_Finalize();
    CHECK(everything() == before);
    CODE(MPI_T_finalize(), MPI_SUCCESS);
    return 0;
}
