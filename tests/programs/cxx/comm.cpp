// ranks: 2 3 4
// Groups, communicators and their attributes in the C++ interface; callbacks get an object of the right class.
#include "expect.h"

static int rank, size;

static void groups()
{
    MPI::Group world = MPI::COMM_WORLD.Get_group();
    EXPECT_EQ(world.Get_size(), size);
    EXPECT_EQ(world.Get_rank(), rank);
    const int last = size - 1, both[2] = {0, last};
    MPI::Group one = world.Incl(1, &last), others = world.Excl(1, &last), two = world.Incl(2, both);
    EXPECT_EQ(one.Get_size(), 1);
    EXPECT_EQ(others.Get_size(), size - 1);
    MPI::Group all = MPI::Group::Union(others, one), none = MPI::Group::Intersect(others, one);
    EXPECT_EQ(MPI::Group::Compare(all, world), MPI::IDENT);
    EXPECT(none == MPI::GROUP_EMPTY);
    MPI::Group rest = MPI::Group::Difference(world, one);
    EXPECT_EQ(MPI::Group::Compare(rest, others), MPI::IDENT);
    int translated = -1;
    MPI::Group::Translate_ranks(world, 1, &last, two, &translated);
    EXPECT_EQ(translated, 1);
    const int range[1][3] = {{0, size - 1, 1}};
    MPI::Group every = world.Range_incl(1, range), empty = world.Range_excl(1, range);
    EXPECT_EQ(MPI::Group::Compare(every, world), MPI::IDENT);
    EXPECT_EQ(empty.Get_size(), 0);

    MPI::Intracomm of_two = MPI::COMM_WORLD.Create(two);
    EXPECT((of_two == MPI::COMM_NULL) == (rank != 0 && rank != last));
    if (of_two != MPI::COMM_NULL) {
        EXPECT_EQ(of_two.Get_size(), size > 1 ? 2 : 1);
        of_two.Free();
        EXPECT(of_two == MPI_COMM_NULL);
    }
    one.Free();
    others.Free();
    two.Free();
    all.Free();
    rest.Free();
    every.Free();
    world.Free();
    EXPECT(world == MPI::GROUP_NULL);
}

static int copies, deletions, of_cart, of_inter;

static int copy(const MPI::Comm &comm, int, void *extra, void *in, void *out, bool &flag)
{
    EXPECT_EQ(*static_cast<int *>(extra), 17);
    of_cart += dynamic_cast<const MPI::Cartcomm *>(&comm) != 0;
    of_inter += dynamic_cast<const MPI::Intercomm *>(&comm) != 0;
    copies++;
    flag = in != 0;
    *static_cast<void **>(out) = static_cast<char *>(in) + 1;
    return MPI::SUCCESS;
}

static int remove(MPI::Comm &comm, int, void *, void *extra)
{
    EXPECT(comm != MPI::COMM_NULL);
    EXPECT_EQ(*static_cast<int *>(extra), 17);
    deletions++;
    return MPI::SUCCESS;
}

static void attributes()
{
    static int extra = 17;
    static char values[8];
    int key = MPI::Comm::Create_keyval(copy, remove, &extra);
    MPI::Intracomm comm = MPI::COMM_WORLD.Dup();
    void *value = 0;
    EXPECT(!comm.Get_attr(key, &value));
    comm.Set_attr(key, values);
    EXPECT(comm.Get_attr(key, &value) && value == values);
    MPI::Intracomm dup = comm.Dup();
    EXPECT_EQ(copies, 1);
    EXPECT(dup.Get_attr(key, &value) && value == values + 1);
    dup.Delete_attr(key);
    EXPECT_EQ(deletions, 1);
    EXPECT(!dup.Get_attr(key, &value));
    dup.Free();

    // The names of MPI-1.
    comm.Attr_put(key, values + 2);
    EXPECT_EQ(deletions, 2);
    EXPECT(comm.Attr_get(key, &value) && value == values + 2);
    comm.Attr_delete(key);
    EXPECT_EQ(deletions, 3);
    int old_key = MPI::Comm::Keyval_create(MPI::DUP_FN, MPI::NULL_DELETE_FN, 0);
    comm.Set_attr(old_key, values + 3);
    int null_key = MPI::Comm::Create_keyval(MPI::Comm::NULL_COPY_FN, MPI::Comm::NULL_DELETE_FN, 0);
    comm.Set_attr(null_key, values + 4);
    dup = comm.Dup();
    EXPECT(dup.Get_attr(old_key, &value) && value == values + 3);
    EXPECT(!dup.Get_attr(null_key, &value));
    dup.Free();
    MPI::Comm::Keyval_free(old_key);
    MPI::Comm::Free_keyval(null_key);
    EXPECT_EQ(old_key, MPI::KEYVAL_INVALID);

    // The class of the communicator.
    const int dims[1] = {size};
    const bool periods[1] = {true};
    MPI::Cartcomm cart = comm.Create_cart(1, dims, periods, false);
    cart.Set_attr(key, values);
    MPI::Comm &clone = cart.Clone();
    EXPECT_EQ(of_cart, 1);
    EXPECT(dynamic_cast<MPI::Cartcomm *>(&clone) != 0);
    EXPECT_EQ(clone.Get_topology(), MPI::CART);
    clone.Free();
    cart.Free();
    MPI::Intracomm half = comm.Split(rank == 0, rank);
    MPI::Intercomm inter = half.Create_intercomm(0, comm, rank == 0 ? 1 : 0, 5);
    inter.Set_attr(key, values);
    MPI::Intercomm inter_dup = inter.Dup();
    EXPECT_EQ(of_inter, 1);
    inter_dup.Free();
    MPI::Comm &inter_clone = static_cast<MPI::Comm &>(inter).Clone();
    EXPECT(inter_clone.Is_inter());
    EXPECT_EQ(of_inter, 2);
    inter_clone.Free();
    inter.Free();
    half.Free();

    // The key is gone, the attribute is not: its function runs in Free.
    comm.Set_attr(key, values);
    const int before = deletions;
    MPI::Comm::Free_keyval(key);
    comm.Free();
    EXPECT_EQ(deletions, before + 1);

    int *upper = 0, *lost = 0;
    EXPECT(MPI::COMM_WORLD.Get_attr(MPI::TAG_UB, &upper));
    EXPECT(*upper >= 32767);
    EXPECT(MPI::COMM_WORLD.Get_attr(MPI::LASTUSEDCODE, &lost));
}

static void communicators()
{
    EXPECT_EQ(MPI::Comm::Compare(MPI::COMM_WORLD, MPI::COMM_WORLD), MPI::IDENT);
    EXPECT_EQ(MPI::COMM_SELF.Get_size(), 1);
    EXPECT(!MPI::COMM_WORLD.Is_inter());
    EXPECT_EQ(MPI::COMM_WORLD.Get_topology(), MPI::UNDEFINED);
    MPI::Intracomm dup = MPI::COMM_WORLD.Dup();
    EXPECT_EQ(MPI::Comm::Compare(MPI::COMM_WORLD, dup), MPI::CONGRUENT);
    dup.Set_name("a name");
    char name[MPI::MAX_OBJECT_NAME];
    int length = 0;
    dup.Get_name(name, length);
    EXPECT_EQ(length, 6);
    EXPECT(!std::strcmp(name, "a name"));
    MPI::Intracomm &clone = dup.Clone();
    EXPECT_EQ(MPI::Comm::Compare(dup, clone), MPI::CONGRUENT);
    clone.Free();

    MPI::Intracomm none = dup.Split(MPI::UNDEFINED, 0);
    EXPECT(none == MPI::COMM_NULL);
    MPI::Intracomm half = dup.Split(rank % 2, -rank);
    EXPECT_EQ(half.Get_size(), (size + (rank % 2 ? 0 : 1)) / 2);
    MPI::Intercomm inter = half.Create_intercomm(half.Get_size() - 1, dup, rank % 2 ? 0 : 1, 9);
    EXPECT(inter.Is_inter());
    EXPECT_EQ(inter.Get_size(), half.Get_size());
    EXPECT_EQ(inter.Get_remote_size(), size - half.Get_size());
    MPI::Group remote = inter.Get_remote_group();
    EXPECT_EQ(remote.Get_size(), inter.Get_remote_size());
    remote.Free();
    int sum = -1;
    inter.Allreduce(&rank, &sum, 1, MPI::INT, MPI::SUM);
    int expected = 0;
    for (int i = 1 - rank % 2; i < size; i += 2) expected += i;
    EXPECT_EQ(sum, expected);
    MPI::Intercomm split = inter.Split(0, rank);
    EXPECT_EQ(split.Get_remote_size(), inter.Get_remote_size());
    split.Free();
    MPI::Group own = inter.Get_group();
    MPI::Intercomm same = inter.Create(own);
    EXPECT_EQ(same.Get_size(), inter.Get_size());
    same.Free();
    own.Free();
    MPI::Intracomm merged = inter.Merge(rank % 2 == 1);
    EXPECT_EQ(merged.Get_size(), size);
    merged.Free();
    inter.Free();
    half.Free();
    dup.Free();

    // An object of each class from the null communicator and from a C handle, and back.
    MPI::Intracomm intra = MPI::COMM_NULL;
    MPI::Intercomm null_inter = MPI::COMM_NULL;
    MPI::Cartcomm cart = MPI::COMM_NULL;
    MPI::Graphcomm graph(MPI_COMM_NULL);
    MPI::Intracomm from_c = MPI_COMM_WORLD;
    const MPI_Comm to_c = from_c;
    EXPECT(intra == null_inter && cart == graph && to_c == MPI_COMM_WORLD && MPI::Intracomm() == MPI::COMM_NULL);
    MPI::Group no_group;
    MPI::Datatype no_type;
    MPI::Request no_request;
    MPI::Win no_window;
    MPI::File no_file;
    EXPECT(no_group == MPI::GROUP_NULL && no_type == MPI::DATATYPE_NULL && no_request == MPI::REQUEST_NULL);
    EXPECT(no_window == MPI::WIN_NULL && no_file == MPI::FILE_NULL && MPI::Info() == MPI::INFO_NULL);
}

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    rank = MPI::COMM_WORLD.Get_rank();
    size = MPI::COMM_WORLD.Get_size();
    groups();
    communicators();
    attributes();
    MPI::Finalize();
    return 0;
}
