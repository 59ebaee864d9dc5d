// ranks: 1 2 3 4 7 8
// Info objects before MPI_Init, in between and after MPI_Finalize: pairs in order, values cut to the room there
// is, duplicates that are their own, limits, and mistakes.
#include "../check.h"

static void pairs(void) {
    MPI_Info info = MPI_INFO_NULL, copy = MPI_INFO_NULL;
    int n = -1, found = -1, length;
    char key[MPI_MAX_INFO_KEY], value[64];
    OK(MPI_Info_create(&info));
    CHECK(info != MPI_INFO_NULL);
    OK(MPI_Info_get_nkeys(info, &n));
    CHECK_EQ(n, 0);
    OK(MPI_Info_set(info, "first", "1"));
    OK(MPI_Info_set(info, "second", "two"));
    OK(MPI_Info_set(info, "Second", " kept as it is "));
    OK(MPI_Info_set(info, "empty", ""));
    OK(MPI_Info_dup(info, &copy));
    OK(MPI_Info_set(info, "second", "2"));
    OK(MPI_Info_delete(info, "first"));
    OK(MPI_Info_get_nkeys(info, &n));
    CHECK_EQ(n, 3);
    OK(MPI_Info_get_nkeys(copy, &n));
    CHECK_EQ(n, 4);
    static const char *const expected[] = {"first", "second", "Second", "empty"};
    for (int i = 0; i < 4; i++) {
        OK(MPI_Info_get_nthkey(copy, i, key));
        CHECK(!strcmp(key, expected[i]));
    }
    length = sizeof value;
    OK(MPI_Info_get_string(copy, "second", &length, value, &found));
    CHECK(found && !strcmp(value, "two"));
    CHECK_EQ(length, 4);
    length = sizeof value;
    OK(MPI_Info_get_string(info, "Second", &length, value, &found));
    CHECK(found && !strcmp(value, " kept as it is "));
    length = sizeof value;
    OK(MPI_Info_get_string(info, "empty", &length, value, &found));
    CHECK(found && !strcmp(value, ""));
    CHECK_EQ(length, 1);
    OK(MPI_Info_free(&copy));
    CHECK(copy == MPI_INFO_NULL);
    // The value is cut to fit, with its NUL, and the length that it needs is returned.
    OK(MPI_Info_set(info, "long", "0123456789"));
    static const struct {
        int room;
        const char *text;
    } cuts[] = {{0, "untouched"}, {1, ""}, {5, "0123"}, {10, "012345678"}, {11, "0123456789"}, {60, "0123456789"}};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        strcpy(value, "untouched");
        length = cuts[i].room;
        OK(MPI_Info_get_string(info, "long", &length, value, &found));
        CHECK_EQ(found, 1);
        CHECK_EQ(length, 11);
        if (strcmp(value, cuts[i].text)) CHECK_FAIL("room %d gave \"%s\"", cuts[i].room, value);
    }
    length = 0;
    OK(MPI_Info_get_string(info, "long", &length, NULL, &found)); // only the length is wanted
    CHECK_EQ(length, 11);
    strcpy(value, "untouched");
    length = 60;
    OK(MPI_Info_get_string(info, "no such key", &length, value, &found));
    CHECK_EQ(found, 0);
    CHECK(!strcmp(value, "untouched"));
    // The deprecated way: the room does not count the end.
    OK(MPI_Info_get(info, "long", 4, value, &found));
    CHECK(found && !strcmp(value, "0123"));
    OK(MPI_Info_get(info, "long", 60, value, &found));
    CHECK(found && !strcmp(value, "0123456789"));
    OK(MPI_Info_get_valuelen(info, "long", &length, &found));
    CHECK_EQ(length, 10);
    length = -7;
    OK(MPI_Info_get_valuelen(info, "no such key", &length, &found));
    CHECK_EQ(found, 0);
    CHECK_EQ(length, -7);
    OK(MPI_Info_free(&info));
}

static void limits(void) {
    MPI_Info info;
    char *text = get_memory(MPI_MAX_INFO_VAL + 2), *back = get_memory(MPI_MAX_INFO_VAL + 2);
    char key[MPI_MAX_INFO_KEY];
    int found = -1, length = MPI_MAX_INFO_VAL + 1;
    OK(MPI_Info_create(&info));
    memset(text, 'k', MPI_MAX_INFO_KEY - 1);
    text[MPI_MAX_INFO_KEY - 1] = 0;
    OK(MPI_Info_set(info, text, "longest key"));
    OK(MPI_Info_get_nthkey(info, 0, key));
    CHECK(!strcmp(key, text));
    memset(text, 'v', MPI_MAX_INFO_VAL);
    text[MPI_MAX_INFO_VAL] = 0;
    OK(MPI_Info_set(info, "longest value", text));
    OK(MPI_Info_get_string(info, "longest value", &length, back, &found));
    CHECK(found && !strcmp(back, text));
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "key %d", i);
        OK(MPI_Info_set(info, key, key));
    }
    OK(MPI_Info_get_nthkey(info, 1001, key));
    CHECK(!strcmp(key, "key 999"));
    OK(MPI_Info_free(&info));
    free(text);
    free(back);
}

static void mistakes(void) {
    MPI_Info info, freed, null = MPI_INFO_NULL, env = MPI_INFO_ENV;
    char *text = get_memory(MPI_MAX_INFO_VAL + 2), value[16], key[MPI_MAX_INFO_KEY];
    int found = -1, n = -1, length = sizeof value;
    memset(text, 'x', MPI_MAX_INFO_VAL + 1);
    text[MPI_MAX_INFO_VAL + 1] = 0;
    OK(MPI_Info_create(&info));
    CHECK_ERROR(MPI_Info_set(info, "key", text), MPI_ERR_INFO_VALUE, "MPI_Info_set");
    text[MPI_MAX_INFO_KEY] = 0;
    CHECK_ERROR(MPI_Info_set(info, text, "value"), MPI_ERR_INFO_KEY, "MPI_Info_set");
    CHECK_ERROR(MPI_Info_get_string(info, text, &length, value, &found), MPI_ERR_INFO_KEY, "MPI_Info_get_string");
    CHECK_ERROR(MPI_Info_get(info, text, 3, value, &found), MPI_ERR_INFO_KEY, "MPI_Info_get");
    CHECK_ERROR(MPI_Info_set(info, "", "value"), MPI_ERR_INFO_KEY, "empty");
    CHECK_ERROR(MPI_Info_set(info, NULL, "value"), MPI_ERR_INFO_KEY, "key");
    CHECK_ERROR(MPI_Info_set(info, "key", NULL), MPI_ERR_INFO_VALUE, "value");
    CHECK_ERROR(MPI_Info_delete(info, "no such key"), MPI_ERR_INFO_NOKEY, "no such key");
    OK(MPI_Info_set(info, "key", "value"));
    CHECK_ERROR(MPI_Info_get_nthkey(info, 1, key), MPI_ERR_ARG, "MPI_Info_get_nthkey");
    CHECK_ERROR(MPI_Info_get_nthkey(info, -1, key), MPI_ERR_ARG, "-1");
    CHECK_ERROR(MPI_Info_get_nthkey(info, 0, NULL), MPI_ERR_ARG, "key");
    CHECK_ERROR(MPI_Info_get(info, "key", -1, value, &found), MPI_ERR_ARG, "valuelen");
    CHECK_ERROR(MPI_Info_get_nkeys(info, NULL), MPI_ERR_ARG, "nkeys");
    length = -1;
    CHECK_ERROR(MPI_Info_get_string(info, "key", &length, value, &found), MPI_ERR_ARG, "buflen");
    length = 16;
    CHECK_ERROR(MPI_Info_get_string(info, "key", &length, NULL, &found), MPI_ERR_ARG, "value");
    CHECK_ERROR(MPI_Info_get_string(info, "key", &length, value, NULL), MPI_ERR_ARG, "flag");
    CHECK_ERROR(MPI_Info_create(NULL), MPI_ERR_ARG, "MPI_Info_create");
    CHECK_ERROR(MPI_Info_dup(info, NULL), MPI_ERR_ARG, "newinfo");
    CHECK_ERROR(MPI_Info_free(&null), MPI_ERR_INFO, "MPI_INFO_NULL");
    CHECK_ERROR(MPI_Info_set(null, "key", "value"), MPI_ERR_INFO, "MPI_INFO_NULL");
    CHECK_ERROR(MPI_Info_get_nkeys(null, &n), MPI_ERR_INFO, "MPI_INFO_NULL");
    CHECK_ERROR(MPI_Info_set(env, "key", "value"), MPI_ERR_INFO, "MPI_INFO_ENV");
    CHECK_ERROR(MPI_Info_free(&env), MPI_ERR_INFO, "MPI_INFO_ENV");
    freed = info;
    OK(MPI_Info_free(&info));
    CHECK_ERROR(MPI_Info_set(freed, "key", "value"), MPI_ERR_INFO, "freed");
    CHECK_ERROR(MPI_Info_free(&freed), MPI_ERR_INFO, "MPI_Info_free");
    CHECK_ERROR(MPI_Info_get_nkeys((MPI_Info)MPI_COMM_WORLD, &n), MPI_ERR_INFO, "MPI_Info_get_nkeys");
    free(text);
}

int main(int argc, char **argv) {
    pairs();
    limits();
    start(&argc, &argv);
    return_errors();
    pairs();
    limits();
    mistakes();
    MPI_Finalize();
    pairs();
    return 0;
}
