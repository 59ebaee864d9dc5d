// ranks: 1 2
// MPI_Alloc_mem and MPI_Free_mem: aligned, writable, distinct, usable as message buffers, of any size.
#include "../check.h"

// Pieces are allocated and freed: a reused piece belongs to one user only, and little memory is
// kept for reuse.
static void again(void) {
    enum { PIECES = 60, TIMES = 20000, MANY = 200 };
    static char *pieces[PIECES], *many[MANY];
    static MPI_Aint sizes[PIECES];
    unsigned random = 7;
    for (int i = 0; i < TIMES; i++) {
        random = random * 1103515245 + 12345;
        const int which = (int)(random >> 16) % PIECES;
        if (pieces[which]) {
            CHECK_EQ(pieces[which][0], (char)which);
            CHECK_EQ(pieces[which][sizes[which] - 1], (char)(which + 1));
            OK(MPI_Free_mem(pieces[which]));
            pieces[which] = NULL;
        } else {
            sizes[which] = 2 + (random >> 8) % (i % 10 ? 5000 : 300000);
            OK(MPI_Alloc_mem(sizes[which], MPI_INFO_NULL, &pieces[which]));
            pieces[which][0] = (char)which;
            pieces[which][sizes[which] - 1] = (char)(which + 1);
        }
    }
    for (int i = 0; i < PIECES; i++) OK(MPI_Free_mem(pieces[i]));
    const long before = resident_kib();
    for (int i = 0; i < MANY; i++) {
        OK(MPI_Alloc_mem(1 << 20, MPI_INFO_NULL, &many[i]));
        memset(many[i], i, 1 << 20);
    }
    CHECK(resident_kib() > before + 150 * 1024);
    for (int i = 0; i < MANY; i++) OK(MPI_Free_mem(many[i]));
    CHECK(resident_kib() < before + 40 * 1024);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    again();
    static const MPI_Aint sizes[] = {1, 8, 100, 4096, 1 << 20, 64 << 20};
    char *blocks[6];
    for (int i = 0; i < 6; i++) {
        blocks[i] = NULL;
        OK(MPI_Alloc_mem(sizes[i], MPI_INFO_NULL, &blocks[i]));
        CHECK(blocks[i] != NULL);
        CHECK_EQ((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
        fill(blocks[i], sizes[i], i);
    }
    for (int i = 0; i < 6; i++) CHECK_PATTERN(blocks[i], sizes[i], i);
    char *in = NULL;
    OK(MPI_Alloc_mem(1 << 20, MPI_INFO_NULL, &in));
    MPI_Sendrecv(blocks[4], 1 << 20, MPI_BYTE, (rank + 1) % size, 1, in, 1 << 20, MPI_BYTE, (rank + size - 1) % size, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_PATTERN(in, 1 << 20, 4);
    OK(MPI_Free_mem(in));
    for (int i = 5; i >= 0; i--) OK(MPI_Free_mem(blocks[i]));
    void *nothing = &nothing;
    OK(MPI_Alloc_mem(0, MPI_INFO_NULL, &nothing));
    OK(MPI_Free_mem(nothing));
    OK(MPI_Free_mem(NULL)); // as free() does
    for (int i = 0; i < 1000; i++) { // given back, not kept
        OK(MPI_Alloc_mem(16 << 20, MPI_INFO_NULL, &in));
        in[0] = in[(16 << 20) - 1] = 1;
        OK(MPI_Free_mem(in));
    }
    CHECK(resident_kib() < 1 << 20);
    CHECK_ERROR(MPI_Alloc_mem(-1, MPI_INFO_NULL, &in), MPI_ERR_ARG, "MPI_Alloc_mem");
    CHECK_ERROR(MPI_Alloc_mem(8, MPI_INFO_NULL, NULL), MPI_ERR_ARG, "MPI_Alloc_mem");
    CHECK_ERROR(MPI_Alloc_mem((MPI_Aint)1 << 62, MPI_INFO_NULL, &in), MPI_ERR_NO_MEM, "MPI_Alloc_mem");
    return finish();
}
