// ranks: 1 2
// Datatypes, statuses, generalized requests and infos of the C++ interface.
#include "expect.h"

#include <vector>

struct Particle {
    double place[3];
    int number;
    char kind;
};

static void constructors()
{
    MPI::Aint lb = -1, extent = -1;
    MPI::Datatype three = MPI::DOUBLE.Create_contiguous(3), type;
    EXPECT_EQ(three.Get_size(), 24);
    type = MPI::INT.Create_vector(2, 1, 3);
    type.Get_extent(lb, extent);
    EXPECT_EQ(lb, 0);
    EXPECT_EQ(extent, 16);
    type.Free();
    EXPECT(type == MPI::DATATYPE_NULL);
    type = MPI::INT.Create_hvector(2, 1, 32);
    type.Get_true_extent(lb, extent);
    EXPECT_EQ(extent, 36);
    type.Free();
    const int lengths[2] = {1, 2}, displs[2] = {4, 0}, sizes[2] = {4, 4}, subsizes[2] = {2, 2}, starts[2] = {1, 1};
    const MPI::Aint bytes[2] = {16, 0};
    type = MPI::INT.Create_indexed(2, lengths, displs);
    EXPECT_EQ(type.Get_size(), 12);
    type.Free();
    type = MPI::INT.Create_hindexed(2, lengths, bytes);
    EXPECT_EQ(type.Get_size(), 12);
    type.Free();
    type = MPI::INT.Create_indexed_block(2, 2, displs);
    EXPECT_EQ(type.Get_size(), 16);
    type.Free();
    type = MPI::INT.Create_subarray(2, sizes, subsizes, starts, MPI::ORDER_C);
    EXPECT_EQ(type.Get_size(), 16);
    type.Free();
    const int distribs[1] = {MPI::DISTRIBUTE_BLOCK}, dargs[1] = {MPI::DISTRIBUTE_DFLT_DARG}, psizes[1] = {2};
    type = MPI::INT.Create_darray(2, 0, 1, sizes, distribs, dargs, psizes, MPI::ORDER_FORTRAN);
    EXPECT_EQ(type.Get_size(), 8);
    type.Free();

    Particle particle = Particle();
    const int counts[3] = {1, 1, 1};
    const MPI::Aint base = MPI::Get_address(&particle);
    const MPI::Aint places[3] = {MPI::Get_address(&particle.place) - base, MPI::Get_address(&particle.number) - base,
                                 MPI::Get_address(&particle.kind) - base};
    const MPI::Datatype types[3] = {three, MPI::INT, MPI::CHAR};
    MPI::Datatype packed = MPI::Datatype::Create_struct(3, counts, places, types);
    MPI::Datatype whole = packed.Create_resized(0, sizeof(Particle));
    whole.Commit();
    whole.Get_extent(lb, extent);
    EXPECT_EQ(extent, sizeof(Particle));
    int integers = 0, addresses = 0, datatypes = 0, combiner = 0;
    packed.Get_envelope(integers, addresses, datatypes, combiner);
    EXPECT_EQ(combiner, MPI::COMBINER_STRUCT);
    EXPECT(integers == 4 && addresses == 3 && datatypes == 3);
    std::vector<int> i(4);
    std::vector<MPI::Aint> a(3);
    std::vector<MPI::Datatype> d(3);
    packed.Get_contents(4, 3, 3, &i[0], &a[0], &d[0]);
    EXPECT(i[0] == 3 && a[1] == places[1] && d[1] == MPI::INT && d[2] == MPI::CHAR);
    d[0].Free();

    Particle out[2] = {{{1, 2, 3}, 4, 'a'}, {{5, 6, 7}, 8, 'b'}}, in[2] = {Particle(), Particle()};
    MPI::Status status;
    MPI::COMM_SELF.Sendrecv(out, 2, whole, 0, 0, in, 2, whole, 0, 0, status);
    EXPECT(in[1].place[2] == 7 && in[1].number == 8 && in[1].kind == 'b');
    EXPECT_EQ(status.Get_count(whole), 2);
    EXPECT_EQ(status.Get_elements(whole), 10);
    MPI::Datatype dup = whole.Dup();
    EXPECT_EQ(dup.Get_size(), whole.Get_size());
    dup.Free();
    packed.Free();
    three.Free();

    // Packing.
    int position = 0;
    std::vector<char> buffer(whole.Pack_size(2, MPI::COMM_SELF));
    whole.Pack(out, 2, &buffer[0], (int)buffer.size(), position, MPI::COMM_SELF);
    EXPECT_EQ(position, 2 * whole.Get_size());
    in[0] = in[1] = Particle();
    position = 0;
    whole.Unpack(&buffer[0], (int)buffer.size(), in, 2, position, MPI::COMM_SELF);
    EXPECT(in[0].number == 4 && in[1].place[0] == 5);
    MPI::Aint place = 0;
    const int numbers[2] = {1, 0x01020304};
    int back[2] = {0, 0};
    EXPECT_EQ(MPI::INT.Pack_external_size("external32", 2), 8);
    char external[8];
    MPI::INT.Pack_external("external32", numbers, 2, external, 8, place);
    EXPECT_EQ(place, 8);
    EXPECT(external[3] == 1 && external[4] == 1 && external[7] == 4);
    place = 0;
    MPI::INT.Unpack_external("external32", external, 8, place, back, 2);
    EXPECT(back[0] == numbers[0] && back[1] == numbers[1]);
    whole.Free();

    EXPECT(MPI::Datatype::Match_size(MPI::TYPECLASS_REAL, 8).Get_size() == 8);
    EXPECT_EQ(MPI::Datatype::Create_f90_integer(9).Get_size(), 4);
    EXPECT_EQ(MPI::Datatype::Create_f90_real(15, 300).Get_size(), 8);
    EXPECT_EQ(MPI::Datatype::Create_f90_complex(15, 300).Get_size(), 16);
    EXPECT_EQ(MPI::BOOL.Get_size(), sizeof(bool));
    EXPECT_EQ(MPI::LONG_DOUBLE_COMPLEX.Get_size(), 2 * sizeof(long double));
    EXPECT_EQ(MPI::F_DOUBLE_COMPLEX.Get_size(), 16);
    EXPECT_EQ(MPI::LONG_LONG.Get_size(), sizeof(long long));
    EXPECT_EQ(MPI::WCHAR.Get_size(), sizeof(wchar_t));
}

static int copies, deletions;

static int copy(const MPI::Datatype &type, int, void *, const void *in, void *out, bool &flag)
{
    EXPECT_EQ(type.Get_size(), 8);
    copies++;
    flag = true;
    *static_cast<const void **>(out) = in;
    return MPI::SUCCESS;
}
static int copy_without_const(const MPI::Datatype &, int, void *, void *in, void *out, bool &flag)
{
    copies++;
    flag = true;
    *static_cast<void **>(out) = in;
    return MPI::SUCCESS;
}
static int remove(MPI::Datatype &, int, void *, void *)
{
    deletions++;
    return MPI::SUCCESS;
}

static void attributes()
{
    static char value;
    void *got = 0;
    int keys[3] = {MPI::Datatype::Create_keyval(copy, remove, 0),
                   MPI::Datatype::Create_keyval(copy_without_const, remove, 0),
                   MPI::Datatype::Create_keyval(MPI::Datatype::NULL_COPY_FN, MPI::Datatype::NULL_DELETE_FN, 0)};
    MPI::Datatype type = MPI::INT.Create_contiguous(2);
    for (int i = 0; i < 3; i++) type.Set_attr(keys[i], &value);
    MPI::Datatype dup = type.Dup();
    EXPECT_EQ(copies, 2);
    EXPECT(dup.Get_attr(keys[0], &got) && got == &value);
    EXPECT(dup.Get_attr(keys[1], &got) && got == &value);
    EXPECT(!dup.Get_attr(keys[2], &got));
    dup.Delete_attr(keys[0]);
    EXPECT_EQ(deletions, 1);
    dup.Free();
    EXPECT_EQ(deletions, 2);
    for (int i = 0; i < 3; i++) MPI::Datatype::Free_keyval(keys[i]);
    type.Free();
    EXPECT_EQ(deletions, 4);

    type = MPI::INT.Dup();
    type.Set_name("number");
    char name[MPI::MAX_OBJECT_NAME];
    int length = 0;
    type.Get_name(name, length);
    EXPECT(length == 6 && !std::strcmp(name, "number"));
    MPI::DOUBLE.Get_name(name, length);
    EXPECT(!std::strcmp(name, "MPI_DOUBLE"));
    type.Free();
}

static int freed, cancelled;

static int query(void *extra, MPI::Status &status)
{
    status.Set_elements(MPI::INT, *static_cast<int *>(extra));
    status.Set_cancelled(cancelled != 0);
    status.Set_source(4);
    status.Set_tag(5);
    return MPI::SUCCESS;
}
static int free_state(void *extra)
{
    freed += *static_cast<int *>(extra);
    return MPI::SUCCESS;
}
static int cancel(void *, bool complete)
{
    EXPECT(!complete);
    cancelled++;
    return MPI::SUCCESS;
}

static void generalized()
{
    static int extra = 6;
    MPI::Status status;
    MPI::Grequest request = MPI::Grequest::Start(query, free_state, cancel, &extra);
    EXPECT(!request.Test());
    request.Complete();
    request.Wait(status);
    EXPECT_EQ(status.Get_count(MPI::INT), 6);
    EXPECT(status.Get_source() == 4 && status.Get_tag() == 5 && !status.Is_cancelled());
    EXPECT_EQ(freed, 6);
    EXPECT(request == MPI::REQUEST_NULL);
    request = MPI::Grequest::Start(query, free_state, cancel, &extra);
    request.Cancel();
    request.Complete();
    EXPECT(request.Test(status));
    EXPECT(status.Is_cancelled() && cancelled == 1);
    EXPECT_EQ(freed, 12);

    const MPI_Status c_status = status;
    const MPI::Status from_c = c_status;
    EXPECT_EQ(from_c.Get_tag(), 5);
    status.Set_error(MPI::ERR_OTHER);
    EXPECT_EQ(status.Get_error(), MPI::ERR_OTHER);
}

static void infos()
{
    MPI::Info info = MPI::Info::Create();
    info.Set("key", "value");
    info.Set("other", "thing");
    char value[MPI::MAX_INFO_VAL + 1], key[MPI::MAX_INFO_KEY + 1];
    EXPECT(info.Get("key", MPI::MAX_INFO_VAL, value) && !std::strcmp(value, "value"));
    EXPECT(!info.Get("none", MPI::MAX_INFO_VAL, value));
    EXPECT_EQ(info.Get_nkeys(), 2);
    int length = 0;
    EXPECT(info.Get_valuelen("other", length) && length == 5);
    MPI::Info dup = info.Dup();
    dup.Delete("other");
    EXPECT_EQ(dup.Get_nkeys(), 1);
    dup.Get_nthkey(0, key);
    EXPECT(!std::strcmp(key, "key"));
    dup.Free();
    info.Free();
    EXPECT(info == MPI::INFO_NULL);
}

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    constructors();
    attributes();
    generalized();
    infos();
    MPI::Finalize();
    return 0;
}
