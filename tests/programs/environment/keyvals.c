// ranks: 1 2 3 4 7 8
// Attributes that the program sets on communicators: keys, values, callbacks that run when an attribute is
// replaced or deleted, keys that live on in attributes after they were freed, and mistakes.
#include "../check.h"

static int deleted, refuse;
static void *last_value, *last_extra;
static int last_key, last_was_world;

static int on_delete(MPI_Comm comm, int key, void *value, void *extra) {
    int found = -1, *other = NULL;
    if (refuse) return MPI_ERR_OTHER;
    deleted++;
    last_value = value;
    last_extra = extra;
    last_key = key;
    last_was_world = comm == MPI_COMM_WORLD;
    // MPI may be called from here; the attribute is on its way out.
    OK(MPI_Comm_get_attr(comm, MPI_TAG_UB, &other, &found));
    CHECK_EQ(found, 1);
    return MPI_SUCCESS;
}

static int on_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)extra, (void)in, (void)out, (void)flag;
    CHECK_FAIL("nobody duplicates anything here");
    return MPI_SUCCESS;
}

static void *get(MPI_Comm comm, int key) {
    void *value = NULL;
    int found = -1;
    OK(MPI_Comm_get_attr(comm, key, &value, &found));
    return found ? value : NULL;
}

static void values(void) {
    int key = MPI_KEYVAL_INVALID, other = MPI_KEYVAL_INVALID, a, b, extra;
    OK(MPI_Comm_create_keyval(on_copy, on_delete, &key, &extra));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &other, NULL));
    CHECK(key != MPI_KEYVAL_INVALID && other != key);
    CHECK(get(MPI_COMM_WORLD, key) == NULL);
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &a));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, &b));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, other, &b));
    CHECK(get(MPI_COMM_WORLD, key) == &a);
    CHECK(get(MPI_COMM_SELF, key) == &b);
    CHECK(get(MPI_COMM_WORLD, other) == &b);
    CHECK_EQ(deleted, 0);
    // Replaced: the old value goes through the callback first.
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &b));
    CHECK_EQ(deleted, 1);
    CHECK(last_value == &a && last_extra == &extra && last_was_world);
    CHECK_EQ(last_key, key);
    CHECK(get(MPI_COMM_WORLD, key) == &b);
    // A callback that refuses keeps the attribute where it is.
    refuse = 1;
    CHECK_CLASS(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), MPI_ERR_OTHER);
    CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &a), MPI_ERR_OTHER);
    refuse = 0;
    CHECK(get(MPI_COMM_WORLD, key) == &b);
    OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, key));
    CHECK_EQ(deleted, 2);
    CHECK(get(MPI_COMM_WORLD, key) == NULL);
    CHECK(get(MPI_COMM_SELF, key) == &b);
    // A freed key lives on in the attribute that uses it; set anew it cannot be.
    int stale = key;
    OK(MPI_Comm_free_keyval(&key));
    CHECK_EQ(key, MPI_KEYVAL_INVALID);
    CHECK(get(MPI_COMM_SELF, stale) == &b);
    CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_WORLD, stale, &a), MPI_ERR_KEYVAL);
    // To free it again is nothing as long as it lives.
    int again = stale;
    OK(MPI_Comm_free_keyval(&again));
    CHECK_EQ(again, MPI_KEYVAL_INVALID);
    CHECK_CLASS(MPI_Type_free_keyval(&stale), MPI_ERR_KEYVAL);
    CHECK(get(MPI_COMM_SELF, stale) == &b);
    OK(MPI_Comm_delete_attr(MPI_COMM_SELF, stale));
    CHECK_EQ(deleted, 3);
    int found = -1;
    void *value = NULL;
    CHECK_CLASS(MPI_Comm_get_attr(MPI_COMM_SELF, stale, &value, &found), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_free_keyval(&stale), MPI_ERR_KEYVAL);
    OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, other));
    OK(MPI_Comm_free_keyval(&other));
    CHECK_EQ(deleted, 3);
}

// The names of MPI-1 are the same thing.
static void old_names(void) {
    int key = MPI_KEYVAL_INVALID, a, found = -1;
    void *value = NULL;
    deleted = 0;
    OK(MPI_Keyval_create(MPI_DUP_FN, on_delete, &key, NULL));
    OK(MPI_Attr_put(MPI_COMM_WORLD, key, &a));
    OK(MPI_Attr_get(MPI_COMM_WORLD, key, &value, &found));
    CHECK(found && value == &a);
    CHECK(get(MPI_COMM_WORLD, key) == &a);
    OK(MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found));
    CHECK(found && *(int *)value == tag_upper_bound());
    OK(MPI_Attr_delete(MPI_COMM_WORLD, key));
    CHECK_EQ(deleted, 1);
    OK(MPI_Keyval_free(&key));
    CHECK_EQ(key, MPI_KEYVAL_INVALID);
}

static void mistakes(void) {
    int key, win_key, type_key, a, found = -1;
    void *value = NULL;
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, &win_key, NULL));
    OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL));
    CHECK_ERROR(MPI_Comm_set_attr(MPI_COMM_WORLD, win_key, &a), MPI_ERR_KEYVAL, "windows");
    CHECK_ERROR(MPI_Comm_set_attr(MPI_COMM_WORLD, type_key, &a), MPI_ERR_KEYVAL, "datatypes");
    CHECK_ERROR(MPI_Comm_free_keyval(&win_key), MPI_ERR_KEYVAL, "MPI_Comm_free_keyval");
    CHECK_ERROR(MPI_Win_free_keyval(&key), MPI_ERR_KEYVAL, "MPI_Win_free_keyval");
    CHECK_ERROR(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &a), MPI_ERR_KEYVAL, "MPI_KEYVAL_INVALID");
    CHECK_ERROR(MPI_Comm_set_attr(MPI_COMM_NULL, key, &a), MPI_ERR_COMM, "MPI_Comm_set_attr");
    CHECK_ERROR(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), MPI_ERR_KEYVAL, "MPI_Comm_delete_attr");
    CHECK_ERROR(MPI_Comm_delete_attr(MPI_COMM_NULL, key), MPI_ERR_COMM, "MPI_Comm_delete_attr");
    CHECK_ERROR(MPI_Comm_get_attr(MPI_COMM_WORLD, 12345678, &value, &found), MPI_ERR_KEYVAL, "12345678");
    CHECK_ERROR(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, NULL, NULL, NULL), MPI_ERR_ARG, "keyval");
    CHECK_ERROR(MPI_Comm_free_keyval(NULL), MPI_ERR_ARG, "keyval");
    int predefined = MPI_TAG_UB;
    CHECK_ERROR(MPI_Comm_free_keyval(&predefined), MPI_ERR_KEYVAL, "predefined");
    CHECK_EQ(predefined, MPI_TAG_UB);
    CHECK_ERROR(MPI_Win_set_attr(MPI_WIN_NULL, win_key, &a), MPI_ERR_WIN, "MPI_WIN_NULL");
    CHECK_ERROR(MPI_Win_get_attr(MPI_WIN_NULL, win_key, &value, &found), MPI_ERR_WIN, "MPI_WIN_NULL");
    OK(MPI_Comm_free_keyval(&key));
    OK(MPI_Win_free_keyval(&win_key));
    OK(MPI_Type_free_keyval(&type_key));
    CHECK_ERROR(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL, "MPI_KEYVAL_INVALID");
}

// The largest code in use follows what the program adds, also through a pointer that it got before.
static void last_used_code(void) {
    int *last = get(MPI_COMM_WORLD, MPI_LASTUSEDCODE), before = *last, class = -1;
    CHECK(before >= MPI_ERR_LASTCODE);
    OK(MPI_Add_error_class(&class));
    CHECK_EQ(*last, class);
    CHECK(get(MPI_COMM_WORLD, MPI_LASTUSEDCODE) == last);
    OK(MPI_Remove_error_class(class));
    CHECK_EQ(*last, before);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    values();
    old_names();
    mistakes();
    last_used_code();
    return finish();
}
