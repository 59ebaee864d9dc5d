// ranks: 1
// Names of types, and attributes with their callbacks: set, read, copied with a duplicate, deleted with the type.
#include "layout.h"

static int copies, deletions, refuse;
static MPI_Datatype expected;

static int copy_fn(MPI_Datatype old, int key, void *extra, void *in, void *out, int *flag) {
    CHECK(old == expected);
    CHECK(key != MPI_KEYVAL_INVALID);
    CHECK_EQ(*(int *)extra, 42);
    copies++;
    if (refuse) return MPI_ERR_ARG;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int no_copy_fn(MPI_Datatype old, int key, void *extra, void *in, void *out, int *flag) {
    (void)old, (void)key, (void)extra, (void)in, (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

static int delete_fn(MPI_Datatype type, int key, void *value, void *extra) {
    (void)key;
    CHECK(type == expected);
    CHECK(value != NULL);
    CHECK_EQ(*(int *)extra, 42);
    deletions++;
    return refuse ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void names(void) {
    char text[MPI_MAX_OBJECT_NAME];
    int length = -1;
    MPI_Datatype t, copy;
    OK(MPI_Type_contiguous(2, MPI_INT, &t));
    OK(MPI_Type_get_name(t, text, &length));
    CHECK_EQ(length, 0);
    CHECK_EQ(text[0], 0);
    OK(MPI_Type_set_name(t, "two ints"));
    OK(MPI_Type_get_name(t, text, &length));
    CHECK(!strcmp(text, "two ints"));
    CHECK_EQ(length, 8);
    // A duplicate has no name yet.
    OK(MPI_Type_dup(t, &copy));
    OK(MPI_Type_get_name(copy, text, &length));
    CHECK_EQ(length, 0);
    OK(MPI_Type_free(&copy));
    // What is too long is cut.
    char longer[400];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    OK(MPI_Type_set_name(t, longer));
    OK(MPI_Type_get_name(t, text, &length));
    CHECK_EQ(length, MPI_MAX_OBJECT_NAME - 1);
    CHECK_EQ(strlen(text), MPI_MAX_OBJECT_NAME - 1);
    OK(MPI_Type_free(&t));
    // A new type must not inherit the name of a freed one.
    OK(MPI_Type_contiguous(2, MPI_INT, &t));
    OK(MPI_Type_get_name(t, text, &length));
    CHECK_EQ(length, 0);
    OK(MPI_Type_free(&t));
    // Predefined types may be renamed.
    OK(MPI_Type_set_name(MPI_SHORT, "small"));
    OK(MPI_Type_get_name(MPI_SHORT, text, &length));
    CHECK(!strcmp(text, "small"));
    OK(MPI_Type_get_name(MPI_DATATYPE_NULL, text, &length));
    CHECK(!strcmp(text, "MPI_DATATYPE_NULL"));
    CHECK_CLASS(MPI_Type_set_name(MPI_DATATYPE_NULL, "nothing"), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_set_name(MPI_INT, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_get_name(MPI_INT, NULL, &length), MPI_ERR_ARG);
}

static void attributes(void) {
    int extra = 42, key = MPI_KEYVAL_INVALID, plain, once, flag = -1;
    char place[8];
    void *value = NULL;
    MPI_Datatype t, copy;
    OK(MPI_Type_create_keyval(copy_fn, delete_fn, &key, &extra));
    OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &plain, NULL));
    OK(MPI_Type_create_keyval(no_copy_fn, MPI_TYPE_NULL_DELETE_FN, &once, NULL));
    CHECK(key != plain && key != MPI_KEYVAL_INVALID);
    OK(MPI_Type_contiguous(2, MPI_INT, &t));
    expected = t;
    OK(MPI_Type_get_attr(t, key, &value, &flag));
    CHECK_EQ(flag, 0);
    OK(MPI_Type_set_attr(t, key, place));
    OK(MPI_Type_set_attr(t, plain, place + 5));
    OK(MPI_Type_set_attr(t, once, place + 6));
    OK(MPI_Type_get_attr(t, key, &value, &flag));
    CHECK(flag && value == place);
    // Setting again deletes the old value.
    OK(MPI_Type_set_attr(t, key, place + 1));
    CHECK_EQ(deletions, 1);

    // A duplicate gets what the copy callbacks say.
    OK(MPI_Type_dup(t, &copy));
    CHECK_EQ(copies, 1);
    OK(MPI_Type_get_attr(copy, key, &value, &flag));
    CHECK(flag && value == place + 2);
    OK(MPI_Type_get_attr(copy, plain, &value, &flag));
    CHECK(flag && value == place + 5);
    OK(MPI_Type_get_attr(copy, once, &value, &flag));
    CHECK_EQ(flag, 0);

    // A callback that refuses stops the call, and nothing changes.
    MPI_Datatype never = MPI_DATATYPE_NULL;
    refuse = 1;
    CHECK_CLASS(MPI_Type_dup(t, &never), MPI_ERR_ARG);
    CHECK(never == MPI_DATATYPE_NULL);
    CHECK_CLASS(MPI_Type_delete_attr(t, key), MPI_ERR_OTHER);
    CHECK_CLASS(MPI_Type_set_attr(t, key, place), MPI_ERR_OTHER);
    MPI_Datatype same = t;
    CHECK_CLASS(MPI_Type_free(&same), MPI_ERR_OTHER);
    CHECK(same == t);
    refuse = 0;
    OK(MPI_Type_get_attr(t, key, &value, &flag));
    CHECK(flag && value == place + 1);

    // A freed key stays valid for the attributes that use it.
    int freed = key;
    OK(MPI_Type_free_keyval(&key));
    CHECK_EQ(key, MPI_KEYVAL_INVALID);
    OK(MPI_Type_get_attr(t, freed, &value, &flag));
    CHECK(flag && value == place + 1);
    deletions = 0;
    OK(MPI_Type_delete_attr(t, freed));
    CHECK_EQ(deletions, 1);
    CHECK_CLASS(MPI_Type_delete_attr(t, freed), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Type_set_attr(t, freed, place), MPI_ERR_KEYVAL);
    expected = copy;
    OK(MPI_Type_free(&copy));
    CHECK_EQ(deletions, 2);
    OK(MPI_Type_free(&t));
    CHECK_EQ(deletions, 2);

    // Predefined types hold attributes too.
    OK(MPI_Type_set_attr(MPI_INT, plain, place));
    OK(MPI_Type_get_attr(MPI_INT, plain, &value, &flag));
    CHECK(flag && value == place);
    OK(MPI_Type_delete_attr(MPI_INT, plain));
    CHECK_CLASS(MPI_Type_delete_attr(MPI_INT, plain), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Type_get_attr(MPI_INT, MPI_KEYVAL_INVALID, &value, &flag), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Type_get_attr(MPI_DATATYPE_NULL, plain, &value, &flag), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_free_keyval(&key), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, NULL, NULL), MPI_ERR_ARG);
    OK(MPI_Type_free_keyval(&plain));
    OK(MPI_Type_free_keyval(&once));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    names();
    attributes();
    return finish();
}
