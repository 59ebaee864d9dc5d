// ranks: 2 3 4 6 8
// cflags: -O2
// timeout: 120
// Blocks so long that they go past the caches, at addresses of any alignment, dense and with gaps, also in place; reductions of
// many pieces to every root. Every byte is where it should be, and no other was touched.
#include "../check.h"

enum { GUARD = 100 };

static char byte_of(int from, int to, size_t i) {
    return (char)((i * 2654435761u >> 11) + (size_t)from * 31 + (size_t)to * 77 + 1);
}

// A buffer of so many bytes behind an odd number of others.
static char *room(size_t bytes, char **base) {
    *base = malloc(bytes + 2 * GUARD);
    CHECK(*base != NULL);
    memset(*base, 0x6b, bytes + 2 * GUARD);
    return *base + GUARD / 2 + 1 + rank;
}

static void release(char *base, char *buffer, size_t bytes) {
    for (char *p = base; p < buffer; p++) CHECK_EQ(*p, 0x6b);
    for (char *p = buffer + bytes; p < base + bytes + 2 * GUARD; p++) CHECK_EQ(*p, 0x6b);
    free(base);
}

static void give(char *block, int from, int to, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) block[i] = byte_of(from, to, i);
}

static void verify(const char *block, int from, int to, size_t bytes, const char *what) {
    for (size_t i = 0; i < bytes; i++)
        if (block[i] != byte_of(from, to, i))
            CHECK_FAIL("%s of %zu bytes: byte %zu from rank %d is %d, not %d", what, bytes, i, from, block[i],
                       byte_of(from, to, i));
}

static void exchange(size_t block) {
    size_t all = block * (size_t)size;
    char *send_base, *recv_base, *send = room(all, &send_base), *recv = room(all, &recv_base);
    for (int to = 0; to < size; to++) give(send + (size_t)to * block, rank, to, block);
    OK(MPI_Alltoall(send, (int)block, MPI_BYTE, recv, (int)block, MPI_BYTE, MPI_COMM_WORLD));
    for (int from = 0; from < size; from++) verify(recv + (size_t)from * block, from, rank, block, "alltoall");
    OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, send, (int)block, MPI_BYTE, MPI_COMM_WORLD));
    for (int from = 0; from < size; from++) verify(send + (size_t)from * block, from, rank, block, "alltoall in place");

    give(send, rank, 0, block);
    OK(MPI_Allgather(send, (int)block, MPI_BYTE, recv, (int)block, MPI_BYTE, MPI_COMM_WORLD));
    for (int from = 0; from < size; from++) verify(recv + (size_t)from * block, from, 0, block, "allgather");
    memset(recv, 0, all);
    give(recv + (size_t)rank * block, rank, 3, block);
    OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv, (int)block, MPI_BYTE, MPI_COMM_WORLD));
    for (int from = 0; from < size; from++) verify(recv + (size_t)from * block, from, 3, block, "allgather in place");
    release(send_base, send, all);
    release(recv_base, recv, all);
}

// The receiver has a gap of a byte after every thousand.
static void exchange_rows(size_t rows) {
    size_t block = rows * 1000, wide = rows * 1001;
    MPI_Datatype type, row;
    OK(MPI_Type_vector((int)rows, 1000, 1001, MPI_BYTE, &row));
    OK(MPI_Type_create_resized(row, 0, (MPI_Aint)wide, &type));
    OK(MPI_Type_commit(&type));
    char *send = malloc(block), *recv = malloc(wide * (size_t)size);
    CHECK(send != NULL && recv != NULL);
    give(send, rank, 5, block);
    memset(recv, 0x6b, wide * (size_t)size);
    OK(MPI_Allgather(send, (int)block, MPI_BYTE, recv, 1, type, MPI_COMM_WORLD));
    for (int from = 0; from < size; from++)
        for (size_t i = 0; i < wide; i++) {
            char want = i % 1001 == 1000 ? 0x6b : byte_of(from, 5, i / 1001 * 1000 + i % 1001);
            if (recv[(size_t)from * wide + i] != want) CHECK_FAIL("rows from rank %d: byte %zu", from, i);
        }
    OK(MPI_Type_free(&row));
    OK(MPI_Type_free(&type));
    free(send);
    free(recv);
}

static void reduce(int count) {
    long *own = malloc((size_t)count * sizeof *own), *out = malloc((size_t)count * sizeof *out);
    CHECK(own != NULL && out != NULL);
    for (int root = -1; root < size; root++)
        for (int in_place = 0; in_place < 2; in_place++) {
            int here = root < 0 || rank == root;
            for (int i = 0; i < count; i++) {
                own[i] = (long)(rank + 1) * (i % 977 + 1);
                out[i] = in_place && here ? own[i] : -1;
            }
            const void *from = in_place && here ? MPI_IN_PLACE : own;
            if (root < 0) OK(MPI_Allreduce(from, out, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
            else OK(MPI_Reduce(from, out, count, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD));
            for (int i = 0; i < count; i++) {
                long want = here ? (long)size * (size + 1) / 2 * (i % 977 + 1) : -1;
                if (out[i] != want)
                    CHECK_FAIL("%d longs, root %d: element %d is %ld, not %ld", count, root, i, out[i], want);
            }
        }
    free(own);
    free(out);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    exchange((8u << 20) / (size_t)size + 13);
    exchange((4u << 20) + 1);
    exchange_rows(3000);
    reduce(4096);
    reduce(4097);
    reduce(300001);
    return finish();
}
