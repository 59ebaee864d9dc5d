// ranks: 2 8
// timeout: 120
// args: 20000
// cflags: -O2
// Random accumulates of all forms, operations and types from all ranks to all ranks, whose result
// does not depend on their order, and random puts and gets to places of the rank's own, on windows
// of every kind. Each rank knows the operations of all ranks, and at the end compares its memory
// with the result of executing them in order. The argument is the number of operations of all ranks
// together.
#include "windows.h"
#include <complex.h>

enum { CELLS = 60, RUN = 9, OWN = 64 };

typedef struct {
    int value, index;
} Pair;

typedef union {
    int8_t i8;
    uint16_t u16;
    int32_t i32;
    int64_t i64;
    uint64_t u64;
    float f;
    double d;
    long double ld;
    double complex z;
    Pair pair;
    unsigned char byte;
    _Bool yes;
} Cell;

#define KERNEL(name, field, ctype, combine)           \
    static void name(void *at, const void *from) {    \
        ctype a, b;                                   \
        memcpy(&a, at, sizeof a);                     \
        memcpy(&b, from, sizeof b);                   \
        a = (ctype)(combine);                         \
        memcpy(at, &a, sizeof a);                     \
    }
KERNEL(sum_i8, i8, int8_t, a + b)
KERNEL(xor_u16, u16, uint16_t, a ^ b)
KERNEL(sum_i32, i32, int32_t, a + b)
KERNEL(max_i32, i32, int32_t, a > b ? a : b)
KERNEL(sum_i64, i64, int64_t, a + b)
KERNEL(prod_u64, u64, uint64_t, a * b)
KERNEL(or_u64, u64, uint64_t, a | b)
KERNEL(sum_f, f, float, a + b)
KERNEL(min_f, f, float, a < b ? a : b)
KERNEL(sum_d, d, double, a + b)
KERNEL(sum_ld, ld, long double, a + b)
KERNEL(sum_z, z, double complex, a + b)
KERNEL(min_pair, pair, Pair, b.value < a.value || (b.value == a.value && b.index < a.index) ? b : a)
KERNEL(xor_byte, byte, unsigned char, a ^ b)
KERNEL(xor_yes, yes, _Bool, !a != !b)

// Values small enough that sums of reals are exact.
static void make(Cell *cell, int form, uint32_t x) {
    memset(cell, 0, sizeof *cell);
    switch (form) {
    case 0: cell->i8 = (int8_t)x; break;
    case 1: cell->u16 = (uint16_t)x; break;
    case 2:
    case 3: cell->i32 = (int32_t)x; break;
    case 4: cell->i64 = (int64_t)x << 7; break;
    case 5: cell->u64 = x | 1; break;
    case 6: cell->u64 = 1ull << (x % 64); break;
    case 7: cell->f = (float)(x % 2); break;
    case 8: cell->f = -(float)(x % 100000); break;
    case 9: cell->d = (double)(x % 1000); break;
    case 10: cell->ld = (long double)(x % 1000); break;
    case 11: cell->z = (double)(x % 1000) + (double)(x % 77) * I; break;
    case 12: cell->pair = (Pair){-(int)(x % 1000), (int)(x >> 20)}; break;
    case 13: cell->byte = (unsigned char)x; break;
    default: cell->yes = x % 3 == 0; break;
    }
}

static struct {
    MPI_Datatype type;
    int bytes;
    MPI_Op op;
    void (*apply)(void *, const void *);
} forms[15];
enum { FORMS = 15 };

static void set_forms(void) {
#define FORM(n, t, ctype, o, f) forms[n].type = t, forms[n].bytes = sizeof(ctype), forms[n].op = o, forms[n].apply = f
    FORM(0, MPI_INT8_T, int8_t, MPI_SUM, sum_i8);
    FORM(1, MPI_UINT16_T, uint16_t, MPI_BXOR, xor_u16);
    FORM(2, MPI_INT32_T, int32_t, MPI_SUM, sum_i32);
    FORM(3, MPI_INT32_T, int32_t, MPI_MAX, max_i32);
    FORM(4, MPI_INT64_T, int64_t, MPI_SUM, sum_i64);
    FORM(5, MPI_UINT64_T, uint64_t, MPI_PROD, prod_u64);
    FORM(6, MPI_UINT64_T, uint64_t, MPI_BOR, or_u64);
    FORM(7, MPI_FLOAT, float, MPI_SUM, sum_f);
    FORM(8, MPI_FLOAT, float, MPI_MIN, min_f);
    FORM(9, MPI_DOUBLE, double, MPI_SUM, sum_d);
    FORM(10, MPI_LONG_DOUBLE, long double, MPI_SUM, sum_ld);
    FORM(11, MPI_C_DOUBLE_COMPLEX, double complex, MPI_SUM, sum_z);
    FORM(12, MPI_2INT, Pair, MPI_MINLOC, min_pair);
    FORM(13, MPI_BYTE, unsigned char, MPI_BXOR, xor_byte);
    FORM(14, MPI_C_BOOL, _Bool, MPI_LXOR, xor_yes);
}

// Each form has CELLS cells of at most 32 bytes, followed by OWN bytes of each rank for puts.
static MPI_Aint section(int form) { return (MPI_Aint)form * CELLS * 32; }
static MPI_Aint own_place(int who) { return section(FORMS) + (MPI_Aint)who * OWN; }

static uint32_t draw(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

typedef struct {
    int target, form, way, first, count, scattered;
    uint32_t values[RUN];
} Operation;

static void next_operation(uint64_t *state, Operation *o) {
    o->target = (int)(draw(state) % (uint32_t)size);
    o->form = (int)(draw(state) % FORMS);
    o->way = (int)(draw(state) % 8);
    o->scattered = draw(state) % 4 == 0;
    o->count = draw(state) % 4 ? 1 : 1 + (int)(draw(state) % RUN);
    if (o->way == 2) o->count = 1;
    if (o->count == 1) o->scattered = 0;
    const int reach = o->scattered ? 2 * o->count - 1 : o->count;
    o->first = (int)(draw(state) % (uint32_t)(CELLS - reach + 1));
    for (int i = 0; i < o->count; i++) o->values[i] = draw(state);
}

static MPI_Datatype vectors[FORMS][RUN + 1];

static void carry_out(Window *w, const Operation *o, char *mirror) {
    const int bytes = forms[o->form].bytes;
    const MPI_Datatype type = forms[o->form].type, target_type = o->scattered ? vectors[o->form][o->count] : type;
    const int target_count = o->scattered ? 1 : o->count;
    const MPI_Op op = forms[o->form].op;
    const MPI_Aint at = place(w, o->target, section(o->form) + (MPI_Aint)o->first * bytes);
    char values[RUN * 32], old[RUN * 32];
    for (int i = 0; i < o->count; i++) {
        Cell cell;
        make(&cell, o->form, o->values[i]);
        memcpy(values + i * bytes, &cell, (size_t)bytes);
    }
    MPI_Request request;
    switch (o->way) {
    case 0:
        MPI_Get_accumulate(values, o->count, type, old, o->count, type, o->target, at, target_count, target_type, op, w->win);
        break;
    case 1:
        MPI_Raccumulate(values, o->count, type, o->target, at, target_count, target_type, op, w->win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case 2: MPI_Fetch_and_op(values, old, type, o->target, at, op, w->win); break;
    case 3: {
        // A byte of this rank's own is what was put there last.
        const MPI_Aint own = own_place(rank) + (o->values[0] & (OWN - 1));
        char *known = &mirror[o->target * OWN + (int)(o->values[0] & (OWN - 1))], seen = 0;
        MPI_Get(&seen, 1, MPI_CHAR, o->target, place(w, o->target, own), 1, MPI_CHAR, w->win);
        MPI_Win_flush(o->target, w->win);
        CHECK_EQ(seen, *known);
        *known = (char)o->values[0];
        MPI_Put(known, 1, MPI_CHAR, o->target, place(w, o->target, own), 1, MPI_CHAR, w->win);
        MPI_Win_flush(o->target, w->win);
    } // and
    // fall through
    default: MPI_Accumulate(values, o->count, type, o->target, at, target_count, target_type, op, w->win);
    }
    // The buffers of this call end with it.
    MPI_Win_flush_local(o->target, w->win);
}

static void model(const Operation *o, char *memory) {
    const int bytes = forms[o->form].bytes;
    for (int i = 0; i < o->count; i++) {
        Cell cell;
        make(&cell, o->form, o->values[i]);
        const int number = o->first + (o->scattered ? 2 * i : i);
        forms[o->form].apply(memory + section(o->form) + number * bytes, &cell);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    set_forms();
    const long all = argc > 1 ? atol(argv[1]) : 20000;
    const long each = all / KINDS / size + 1;
    for (int form = 0; form < FORMS; form++)
        for (int n = 1; n <= RUN; n++) {
            MPI_Type_vector(n, 1, 2, forms[form].type, &vectors[form][n]);
            MPI_Type_commit(&vectors[form][n]);
        }
    const size_t bytes = (size_t)own_place(size);
    for (int kind = 0; kind < KINDS; kind++) {
        Window w = window(kind, bytes, 1);
        char *expected = calloc(bytes, 1), *mirror = calloc((size_t)size, OWN);
        Operation o;
        uint64_t state = (uint64_t)(rank * 1000 + kind + 1);
        MPI_Win_lock_all(0, w.win);
        for (long i = 0; i < each; i++) {
            next_operation(&state, &o);
            carry_out(&w, &o, mirror);
            if (i % 64 == 0) MPI_Win_flush_all(w.win);
        }
        MPI_Win_unlock_all(w.win);
        for (int r = 0; r < size; r++) {
            state = (uint64_t)(r * 1000 + kind + 1);
            for (long i = 0; i < each; i++) {
                next_operation(&state, &o);
                if (o.target != rank) continue;
                model(&o, expected);
                if (o.way == 3) expected[own_place(r) + (o.values[0] & (OWN - 1))] = (char)o.values[0];
            }
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win);
        for (int form = 0; form < FORMS; form++)
            for (int i = 0; i < CELLS; i++) {
                const MPI_Aint at = section(form) + i * forms[form].bytes;
                // Of a long double's bytes, some mean nothing.
                const size_t meant = form == 10 ? 10 : (size_t)forms[form].bytes;
                if (memcmp(w.base + at, expected + at, meant))
                    CHECK_FAIL("a %s window: cell %d of form %d is wrong", kind_names[kind], i, form);
            }
        for (size_t i = (size_t)own_place(0); i < bytes; i++) CHECK_EQ(w.base[i], expected[i]);
        MPI_Win_unlock(rank, w.win);
        MPI_Barrier(MPI_COMM_WORLD);
        free(expected);
        free(mirror);
        window_free(&w);
    }
    for (int form = 0; form < FORMS; form++)
        for (int n = 1; n <= RUN; n++) MPI_Type_free(&vectors[form][n]);
    MPI_Finalize();
    return 0;
}
