// ranks: 2
// Random nested types, sent and received as other random types of the same signature. The receiver builds the sender's
// type and memory itself, packs and unpacks them, and compares; what the lengths are decides which protocol carries them.
#include "layout.h"

enum { REACH = 1 << 20, CASES = 1500 };

static uint64_t state;

static int below(int n) {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (int)((z ^ (z >> 31)) % (uint64_t)n);
}

// A random type over ints: nested, with growing counts, never overlapping itself.
static MPI_Datatype random_type(void) {
    MPI_Datatype t, u;
    OK(MPI_Type_contiguous(1 + below(3), MPI_INT, &t));
    for (int depth = below(5); depth > 0; depth--) {
        MPI_Aint lb, extent;
        int n = 1 + below(below(6) ? 6 : 200), lens[400], disps[400];
        OK(MPI_Type_get_extent(t, &lb, &extent));
        if ((double)extent * n * 3 > REACH / 4) n = 1;
        switch (below(6)) {
        case 0: OK(MPI_Type_contiguous(n, t, &u)); break;
        case 1: OK(MPI_Type_vector(n, 1, 1 + below(3), t, &u)); break;
        case 2: OK(MPI_Type_create_hvector(n, 1, extent + 4 * below(9), t, &u)); break;
        case 3:
            for (int i = 0, at = 0; i < n; i++) {
                lens[i] = below(3);
                disps[i] = at;
                at += lens[i] + below(2);
            }
            OK(MPI_Type_indexed(n, lens, disps, t, &u));
            break;
        case 4: {
            // In any order in memory.
            for (int i = 0; i < n; i++) disps[i] = i;
            for (int i = n - 1; i > 0; i--) {
                int j = below(i + 1), d = disps[i];
                disps[i] = disps[j];
                disps[j] = d;
            }
            OK(MPI_Type_create_indexed_block(n, 1, disps, t, &u));
            break;
        }
        default: {
            MPI_Datatype members[] = {MPI_INT, t, MPI_INT};
            int ones[] = {1, 1, below(2)};
            MPI_Aint places[] = {lb - 8 - 4 * below(3), 0, lb + extent + 4 * below(4)};
            OK(MPI_Type_create_struct(3, ones, places, members, &u));
        }
        }
        OK(MPI_Type_free(&t));
        t = u;
    }
    OK(MPI_Type_commit(&t));
    return t;
}

// The same ints in other places: a list with gaps, in no order.
static MPI_Datatype scattered(int ints) {
    MPI_Datatype t;
    int *lens = get_memory((size_t)ints * sizeof *lens), *disps = get_memory((size_t)ints * sizeof *disps), n = 0;
    for (int left = ints, at = 0; left > 0; n++) {
        lens[n] = 1 + below(left < 4 ? left : below(50) ? 4 : left);
        disps[n] = at;
        at += lens[n] + below(3);
        left -= lens[n];
    }
    for (int i = 0; i + 1 < n; i++)
        if (lens[i] == lens[i + 1] && below(2)) {
            int d = disps[i];
            disps[i] = disps[i + 1];
            disps[i + 1] = d;
        }
    OK(MPI_Type_indexed(n, lens, disps, MPI_INT, &t));
    free(lens);
    free(disps);
    return committed(t);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    char *source = get_memory(2 * REACH), *target = get_memory(4 * REACH), *expected = get_memory(4 * REACH);
    fill(source, 2 * REACH, 1);
    long longest = 0;
    for (int i = 0; i < CASES; i++) {
        state = (uint64_t)i * 7919;
        MPI_Datatype type = random_type();
        MPI_Aint lb, extent, true_lb, true_extent;
        int bytes, count = 1 + below(4), sender = i % 2;
        OK(MPI_Type_size(type, &bytes));
        OK(MPI_Type_get_extent(type, &lb, &extent));
        OK(MPI_Type_get_true_extent(type, &true_lb, &true_extent));
        CHECK(true_lb > -REACH && true_lb + true_extent + 3 * extent < REACH);
        MPI_Datatype other = bytes ? scattered(count * bytes / 4) : committed(type);
        if (bytes) OK(MPI_Type_get_true_extent(other, &lb, &true_extent));
        if (!bytes || true_extent < 4 * REACH) {
            if (bytes * (long)count > longest) longest = bytes * (long)count;
            if (rank == sender) {
                OK(MPI_Send(source + REACH, count, type, 1 - rank, i, MPI_COMM_WORLD));
            } else {
                MPI_Status status;
                int position = 0, n = -1;
                memset(target, 0xab, 4 * REACH);
                memset(expected, 0xab, 4 * REACH);
                OK(MPI_Recv(target, 1, other, 1 - rank, i, MPI_COMM_WORLD, &status));
                OK(MPI_Get_elements(&status, other, &n));
                CHECK_EQ(n, count * bytes / 4);
                char *packed = get_memory((size_t)count * bytes);
                OK(MPI_Pack(source + REACH, count, type, packed, count * bytes, &position, MPI_COMM_SELF));
                position = 0;
                OK(MPI_Unpack(packed, count * bytes, &position, expected, 1, other, MPI_COMM_SELF));
                free(packed);
                if (memcmp(target, expected, 4 * REACH)) CHECK_FAIL("case %d: wrong after %d bytes", i, count * bytes);
            }
        }
        if (bytes) OK(MPI_Type_free(&other));
        OK(MPI_Type_free(&type));
    }
    CHECK(longest > 100000);
    free(source);
    free(target);
    free(expected);
    return finish();
}
