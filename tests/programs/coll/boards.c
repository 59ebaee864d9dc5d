// ranks: 2 3 5
// timeout: 120
// Thousands of communicators with collective operations are made and freed, and more exist at a time than the library has boards
// to share. Memory does not grow, and all operations work. Layouts may differ from rank to rank, and so may what is in place.
#include "../check.h"

enum { CYCLES = 1500, LIVE = 1100, LONGEST = 40000 };

static void use(MPI_Comm comm, int salt) {
    int mine = rank + salt, sum = -1, told = rank == salt % size ? salt : -1;
    OK(MPI_Barrier(comm));
    OK(MPI_Bcast(&told, 1, MPI_INT, salt % size, comm));
    CHECK_EQ(told, salt);
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(sum, size * salt + size * (size - 1) / 2);
}

static int mappings(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    int lines = 0, c;
    if (!maps) return 0;
    while ((c = fgetc(maps)) != EOF) lines += c == '\n';
    fclose(maps);
    return lines;
}

static void come_and_go(int from, int to) {
    for (int i = from; i < to; i++) {
        MPI_Comm comm;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        use(comm, i);
        OK(MPI_Comm_free(&comm));
    }
}

// Rank 0's elements lie two apart, those of the others side by side.
static void layouts(int count) {
    static int data[2 * LONGEST * 8], all[2 * LONGEST * 8];
    int step = rank == 0 ? 2 : 1;
    MPI_Datatype type;
    OK(MPI_Type_create_resized(MPI_INT, 0, step * (MPI_Aint)sizeof(int), &type));
    OK(MPI_Type_commit(&type));
    for (int root = 0; root < size; root++) {
        for (int i = 0; i < count; i++) data[i * step] = rank == root ? root + i : -1;
        OK(MPI_Bcast(data, count, type, root, MPI_COMM_WORLD));
        for (int i = 0; i < count; i++) CHECK_EQ(data[i * step], root + i);
        memset(all, 255, sizeof all);
        for (int i = 0; i < count; i++) data[i * step] = rank * 7 + i;
        OK(MPI_Gather(data, count, type, all, count, type, root, MPI_COMM_WORLD));
        for (int i = 0; rank == root && i < size * count; i++) CHECK_EQ(all[i * step], i / count * 7 + i % count);
        for (int i = 0; i < size * count; i++) all[i * step] = i;
        OK(MPI_Scatter(all, count, type, data, count, type, root, MPI_COMM_WORLD));
        for (int i = 0; i < count; i++) CHECK_EQ(data[i * step], rank * count + i);
    }
    for (int place = 0; place < 2; place++) {
        for (int i = 0; i < count; i++) data[i * step] = all[(rank * count + i) * step] = rank * 7 + i;
        OK(MPI_Allgather(place ? MPI_IN_PLACE : data, count, type, all, count, type, MPI_COMM_WORLD));
        for (int i = 0; i < size * count; i++) CHECK_EQ(all[i * step], i / count * 7 + i % count);
        for (int i = 0; i < size * count; i++) data[i * step] = all[i * step] = rank * 1000003 + i;
        OK(MPI_Alltoall(place ? MPI_IN_PLACE : data, count, type, all, count, type, MPI_COMM_WORLD));
        for (int i = 0; i < size * count; i++) CHECK_EQ(all[i * step], i / count * 1000003 + rank * count + i % count);
    }
    OK(MPI_Type_free(&type));
}

int main(int argc, char **argv) {
    static MPI_Comm comms[LIVE];
    start(&argc, &argv);
    return_errors();
    CHECK(size <= 8);
    come_and_go(0, 200);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    long before = resident_kib(), mapped = mappings();
    come_and_go(200, CYCLES);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(resident_kib() - before < 2048);
    // The owner of a board lets go of it when the others have.
    CHECK(mappings() < mapped + 50);
    for (int i = 0; i < LIVE; i++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
        use(comms[i], i);
    }
    for (int i = LIVE - 1; i >= 0; i--) {
        use(comms[i], i + 1);
        OK(MPI_Comm_free(&comms[i]));
    }
    for (int count = 1; count <= LONGEST; count *= 5) layouts(count);
    layouts(LONGEST);
    return finish();
}
