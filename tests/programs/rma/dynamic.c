// ranks: 1 2 4
// timeout: 30
// Memory is attached and detached while others access: a list whose elements are allocated one by one; many pieces, some of
// which touch; types that take several of them at once.
#include "windows.h"

typedef struct {
    MPI_Aint next;
    int owner, value;
} Element;

int main(int argc, char **argv) {
    enum { ELEMENTS = 200, PIECES = 1000 };
    start(&argc, &argv);
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);

    // Each rank builds a list and sends its start to the next rank, which walks it.
    Element *first = NULL;
    for (int i = 0; i < ELEMENTS; i++) {
        Element *element = get_memory(sizeof *element);
        MPI_Aint next = 0;
        if (first) MPI_Get_address(first, &next);
        *element = (Element){next, rank, i};
        OK(MPI_Win_attach(win, element, sizeof *element));
        first = element;
    }
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Aint at, theirs;
    MPI_Get_address(first, &at);
    MPI_Sendrecv(&at, 1, MPI_AINT, next, 0, &theirs, 1, MPI_AINT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    OK(MPI_Win_lock_all(0, win));
    for (int i = ELEMENTS - 1; i >= 0; i--) {
        Element element;
        const int one = 1;
        OK(MPI_Get(&element, sizeof element, MPI_BYTE, previous, theirs, sizeof element, MPI_BYTE, win));
        OK(MPI_Win_flush(previous, win));
        CHECK_EQ(element.owner, previous);
        CHECK_EQ(element.value, i);
        OK(MPI_Accumulate(&one, 1, MPI_INT, previous, MPI_Aint_add(theirs, offsetof(Element, value)), 1, MPI_INT, MPI_SUM,
                          win));
        theirs = element.next;
    }
    CHECK_EQ(theirs, 0);
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    for (int i = ELEMENTS - 1; i >= 0; i--) {
        Element *element = first;
        CHECK_EQ(element->value, i + 1);
        first = (Element *)element->next;
        OK(MPI_Win_detach(win, element));
        free(element);
    }
    OK(MPI_Win_unlock(rank, win));
    MPI_Barrier(MPI_COMM_WORLD);

    // Pieces of one array, attached in another order; every second one is detached.
    int64_t *array = get_memory(PIECES * sizeof *array);
    for (int i = 0; i < PIECES; i++) {
        const int piece = i * 7 % PIECES;
        array[piece] = 0;
        OK(MPI_Win_attach(win, &array[piece], sizeof *array));
    }
    for (int i = 0; i < PIECES; i += 2) OK(MPI_Win_detach(win, &array[i]));
    MPI_Get_address(array, &at);
    MPI_Sendrecv(&at, 1, MPI_AINT, next, 0, &theirs, 1, MPI_AINT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < PIECES; i++) {
        const int64_t value = i + 1;
        const MPI_Aint to = MPI_Aint_add(theirs, i * 8);
        const int code = MPI_Put(&value, 1, MPI_INT64_T, previous, to, 1, MPI_INT64_T, win);
        CHECK_EQ(check_class(code), i % 2 ? MPI_SUCCESS : MPI_ERR_RMA_RANGE);
        if (i % 2) {
            const int64_t two[2] = {0, 0};
            CHECK_CLASS(MPI_Put(two, 2, MPI_INT64_T, previous, to, 2, MPI_INT64_T, win), MPI_ERR_RMA_RANGE);
        }
    }
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < PIECES; i++) CHECK_EQ(array[i], i % 2 ? i + 1 : 0);
    OK(MPI_Win_fence(0, win));

    // All pieces again: what touches is one piece, and a type may leave out what is not attached.
    for (int i = 0; i < PIECES; i += 2) OK(MPI_Win_attach(win, &array[i], sizeof *array));
    OK(MPI_Win_fence(0, win));
    int64_t *all = get_memory(PIECES * sizeof *all);
    for (int i = 0; i < PIECES; i++) all[i] = 3 * i;
    OK(MPI_Put(all, PIECES, MPI_INT64_T, previous, theirs, PIECES, MPI_INT64_T, win));
    CHECK_CLASS(MPI_Put(all, PIECES, MPI_INT64_T, previous, MPI_Aint_add(theirs, 1), PIECES, MPI_INT64_T, win),
                MPI_ERR_RMA_RANGE);
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < PIECES; i++) CHECK_EQ(array[i], 3 * i);
    for (int i = 0; i < PIECES; i += 2) OK(MPI_Win_detach(win, &array[i]));
    OK(MPI_Win_fence(0, win));
    MPI_Datatype odd, most;
    MPI_Type_vector(PIECES / 2, 1, 2, MPI_INT64_T, &odd);
    MPI_Type_commit(&odd);
    MPI_Type_vector(PIECES / 2 - 1, 1, 2, MPI_INT64_T, &most);
    MPI_Type_commit(&most);
    const MPI_Aint second = MPI_Aint_add(theirs, 8);
    for (int i = 0; i < PIECES; i++) all[i] = -1;
    OK(MPI_Get(all, PIECES / 2, MPI_INT64_T, previous, second, 1, odd, win));
    for (int i = 0; i < PIECES; i++) CHECK_EQ(all[i], i < PIECES / 2 ? 3 * (2 * i + 1) : -1);
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < PIECES / 2; i++) all[i] = 1;
    OK(MPI_Accumulate(all, PIECES / 2, MPI_INT64_T, previous, second, 1, odd, MPI_SUM, win));
    CHECK_CLASS(MPI_Get(all, PIECES / 2, MPI_INT64_T, previous, theirs, 1, odd, win), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(MPI_Get(all, PIECES / 2, MPI_INT64_T, previous, MPI_Aint_add(second, 16), 1, odd, win), MPI_ERR_RMA_RANGE);
    OK(MPI_Put(all, PIECES / 2 - 1, MPI_INT64_T, previous, MPI_Aint_add(second, 16), 1, most, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < PIECES; i++) CHECK_EQ(array[i], i < 3 ? 3 * i + i % 2 : i % 2 ? 1 : 3 * i);
    MPI_Type_free(&odd);
    MPI_Type_free(&most);
    free(all);
    OK(MPI_Win_fence(0, win));

    // Nothing, and more than there is room for.
    OK(MPI_Win_attach(win, NULL, 0));
    OK(MPI_Win_detach(win, NULL));
    static char many[40000];
    int attached = 0, code = MPI_SUCCESS;
    while (attached < 40000 && (code = MPI_Win_attach(win, many + attached, 1)) == MPI_SUCCESS) attached += 1;
    CHECK_CLASS(code, MPI_ERR_RMA_ATTACH);
    CHECK(attached > 30000);
    // What is still attached goes with the window.
    OK(MPI_Win_free(&win));
    free(array);
    MPI_Finalize();
    return 0;
}
