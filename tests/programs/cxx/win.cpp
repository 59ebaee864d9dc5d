// ranks: 1 2 4
// Windows of the C++ interface: the three ways to synchronise, accesses, attributes.
#include "expect.h"

static int rank, size, copies, deletions;

static int copy(const MPI::Win &, int, void *, void *, void *, bool &)
{
    copies++;
    return MPI::SUCCESS;
}
static int remove(MPI::Win &win, int, void *, void *)
{
    EXPECT(win != MPI::WIN_NULL);
    deletions++;
    return MPI::SUCCESS;
}

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    rank = MPI::COMM_WORLD.Get_rank();
    size = MPI::COMM_WORLD.Get_size();
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int *memory = static_cast<int *>(MPI::Alloc_mem(4 * sizeof(int), MPI::INFO_NULL));
    for (int i = 0; i < 4; i++) memory[i] = 0;
    MPI::Win win = MPI::Win::Create(memory, 4 * sizeof(int), sizeof(int), MPI::INFO_NULL, MPI::COMM_WORLD);
    MPI::Group group = win.Get_group();
    EXPECT_EQ(group.Get_size(), size);

    const int one = 1, mine = 10 + rank;
    int got = -1;
    win.Fence(MPI::MODE_NOPRECEDE);
    win.Put(&mine, 1, MPI::INT, right, 0, 1, MPI::INT);
    win.Accumulate(&one, 1, MPI::INT, 0, 1, 1, MPI::INT, MPI::SUM);
    win.Fence(0);
    EXPECT_EQ(memory[0], 10 + left);
    if (rank == 0) EXPECT_EQ(memory[1], size);
    win.Get(&got, 1, MPI::INT, right, 0, 1, MPI::INT);
    win.Accumulate(&mine, 1, MPI::INT, right, 2, 1, MPI::INT, MPI::REPLACE);
    win.Fence(MPI::MODE_NOSUCCEED);
    EXPECT_EQ(got, mine);
    EXPECT_EQ(memory[2], 10 + left);

    win.Post(group, 0);
    win.Start(group, 0);
    win.Put(&mine, 1, MPI::INT, right, 3, 1, MPI::INT);
    win.Complete();
    win.Wait();
    EXPECT_EQ(memory[3], 10 + left);
    win.Post(group, MPI::MODE_NOPUT);
    win.Start(group, 0);
    win.Complete();
    while (!win.Test()) {
    }

    MPI::COMM_WORLD.Barrier();
    for (int i = 0; i < 10; i++) {
        win.Lock(i % 2 ? MPI::LOCK_SHARED : MPI::LOCK_EXCLUSIVE, 0, 0);
        win.Accumulate(&one, 1, MPI::INT, 0, 1, 1, MPI::INT, MPI::SUM);
        win.Unlock(0);
    }
    MPI::COMM_WORLD.Barrier();
    win.Lock(MPI::LOCK_SHARED, 0, 0);
    win.Get(&got, 1, MPI::INT, 0, 1, 1, MPI::INT);
    win.Unlock(0);
    EXPECT_EQ(got, 11 * size);
    MPI::COMM_WORLD.Barrier();

    int *base = 0, *unit = 0;
    MPI::Aint *bytes = 0;
    EXPECT(win.Get_attr(MPI::WIN_BASE, &base) && base == memory);
    EXPECT(win.Get_attr(MPI::WIN_SIZE, &bytes) && *bytes == 4 * (MPI::Aint)sizeof(int));
    EXPECT(win.Get_attr(MPI::WIN_DISP_UNIT, &unit) && *unit == (int)sizeof(int));
    static char value;
    void *attribute = 0;
    int key = MPI::Win::Create_keyval(copy, remove, 0);
    int other = MPI::Win::Create_keyval(MPI::Win::NULL_COPY_FN, MPI::Win::NULL_DELETE_FN, 0);
    win.Set_attr(key, &value);
    win.Set_attr(other, &value);
    EXPECT(win.Get_attr(key, &attribute) && attribute == &value);
    win.Delete_attr(other);
    EXPECT(!win.Get_attr(other, &attribute));
    MPI::Win::Free_keyval(key);
    MPI::Win::Free_keyval(other);
    win.Set_name("counters");
    char name[MPI::MAX_OBJECT_NAME];
    int length = 0;
    win.Get_name(name, length);
    EXPECT(length == 8 && !std::strcmp(name, "counters"));
    group.Free();
    win.Free();
    EXPECT(win == MPI::WIN_NULL && deletions == 1 && copies == 0);
    MPI::Free_mem(memory);
    MPI::Finalize();
    return 0;
}
