// ranks: 1 2 3
// Files of the C++ interface: every access, pointers, views, data representations.
#include "expect.h"

static int rank, size;
static const int count = 4;

static void fill(int *values, int seed)
{
    for (int i = 0; i < count; i++) values[i] = 1000 * rank + 10 * seed + i;
}

static void expect_filled(const int *values, int seed)
{
    for (int i = 0; i < count; i++) EXPECT_EQ(values[i], 1000 * rank + 10 * seed + i);
}

static void accesses(MPI::File &file)
{
    int out[count], in[count];
    MPI::Status status;
    const MPI::Offset own = (MPI::Offset)rank * count;
    int seed = 0;
#define BACK(write, read)             \
    fill(out, ++seed);                \
    std::memset(in, 0, sizeof in);    \
    write;                            \
    file.Sync();                      \
    MPI::COMM_WORLD.Barrier();        \
    read;                             \
    expect_filled(in, seed);          \
    MPI::COMM_WORLD.Barrier()

    BACK(file.Write_at(own, out, count, MPI::INT), file.Read_at(own, in, count, MPI::INT));
    BACK(file.Write_at(own, out, count, MPI::INT, status), file.Read_at(own, in, count, MPI::INT, status));
    EXPECT_EQ(status.Get_count(MPI::INT), count);
    BACK(file.Write_at_all(own, out, count, MPI::INT), file.Read_at_all(own, in, count, MPI::INT));
    BACK(file.Write_at_all(own, out, count, MPI::INT, status), file.Read_at_all(own, in, count, MPI::INT, status));
    BACK(file.Iwrite_at(own, out, count, MPI::INT).Wait(), file.Iread_at(own, in, count, MPI::INT).Wait(status));
    BACK(file.Write_at_all_begin(own, out, count, MPI::INT); file.Write_at_all_end(out),
         file.Read_at_all_begin(own, in, count, MPI::INT); file.Read_at_all_end(in, status));
    EXPECT_EQ(status.Get_count(MPI::INT), count);

    const MPI::Offset to_own = own;
#define SEEK file.Seek(to_own, MPI::SEEK_SET)
    BACK(SEEK; file.Write(out, count, MPI::INT), SEEK; file.Read(in, count, MPI::INT));
    EXPECT_EQ(file.Get_position(), own + count);
    EXPECT_EQ(file.Get_byte_offset(2), 2 * sizeof(int));
    BACK(SEEK; file.Write(out, count, MPI::INT, status), SEEK; file.Read(in, count, MPI::INT, status));
    BACK(SEEK; file.Write_all(out, count, MPI::INT), SEEK; file.Read_all(in, count, MPI::INT));
    BACK(SEEK; file.Write_all(out, count, MPI::INT, status), SEEK; file.Read_all(in, count, MPI::INT, status));
    BACK(SEEK; file.Iwrite(out, count, MPI::INT).Wait(), SEEK; file.Iread(in, count, MPI::INT).Wait());
    BACK(SEEK; file.Write_all_begin(out, count, MPI::INT); file.Write_all_end(out, status),
         SEEK; file.Read_all_begin(in, count, MPI::INT); file.Read_all_end(in));

#define FRONT file.Seek_shared(0, MPI::SEEK_SET)
    BACK(FRONT; file.Write_ordered(out, count, MPI::INT), FRONT; file.Read_ordered(in, count, MPI::INT));
    EXPECT_EQ(file.Get_position_shared(), (MPI::Offset)size * count);
    BACK(FRONT; file.Write_ordered(out, count, MPI::INT, status), FRONT; file.Read_ordered(in, count, MPI::INT, status));
    BACK(FRONT; file.Write_ordered_begin(out, count, MPI::INT); file.Write_ordered_end(out),
         FRONT; file.Read_ordered_begin(in, count, MPI::INT); file.Read_ordered_end(in, status));

    // The shared pointer, in the order in which the ranks come: each value is read once.
    int sum = 0, total = 0;
    FRONT;
    const int number = rank + 1;
    file.Write_shared(&number, 1, MPI::INT);
    file.Iwrite_shared(&number, 1, MPI::INT).Wait();
    MPI::COMM_WORLD.Barrier();
    FRONT;
    file.Read_shared(in, 1, MPI::INT);
    file.Iread_shared(in + 1, 1, MPI::INT).Wait();
    sum = in[0] + in[1];
    MPI::COMM_WORLD.Allreduce(&sum, &total, 1, MPI::INT, MPI::SUM);
    EXPECT_EQ(total, size * (size + 1));
    FRONT;
    file.Write_shared(&number, 1, MPI::INT, status);
    EXPECT_EQ(status.Get_count(MPI::INT), 1);
    MPI::COMM_WORLD.Barrier();
    FRONT;
    file.Read_shared(in, 1, MPI::INT, status);
    EXPECT_EQ(status.Get_count(MPI::INT), 1);
}

// Adds one to each byte in the file.
static int extra = 5, conversions;

static void extent(const MPI::Datatype &type, MPI::Aint &extent, void *)
{
    MPI::Aint lb;
    type.Get_extent(lb, extent);
}
static void read_one_more(void *user, MPI::Datatype &type, int n, void *file, MPI::Offset position, void *state)
{
    EXPECT(state == &extra);
    conversions++;
    const int bytes = type.Get_size();
    for (int i = 0; i < n * bytes; i++)
        static_cast<char *>(user)[position * bytes + i] = (char)(static_cast<char *>(file)[i] - 1);
}
static void write_one_more(void *user, MPI::Datatype &type, int n, void *file, MPI::Offset position, void *state)
{
    EXPECT(state == &extra);
    conversions++;
    const int bytes = type.Get_size();
    for (int i = 0; i < n * bytes; i++)
        static_cast<char *>(file)[i] = (char)(static_cast<char *>(user)[position * bytes + i] + 1);
}
static int extent_mpich(const MPI::Datatype &type, MPI::Aint &extent, void *)
{
    MPI::Aint lb;
    type.Get_extent(lb, extent);
    return MPI::SUCCESS;
}
static int fails(void *, MPI::Datatype &, int, void *, MPI::Offset, void *)
{
    return MPI::ERR_CONVERSION;
}

static void representations()
{
    MPI::Register_datarep("one more", read_one_more, write_one_more, extent, &extra);
    MPI::Register_datarep("fails", fails, fails, extent_mpich, 0);
    MPI::File file = MPI::File::Open(MPI::COMM_SELF, "representation", MPI::MODE_RDWR | MPI::MODE_CREATE | MPI::MODE_DELETE_ON_CLOSE,
                                     MPI::INFO_NULL);
    char out[4] = {1, 2, 3, 4}, in[4] = {0, 0, 0, 0};
    file.Set_view(0, MPI::CHAR, MPI::CHAR, "one more", MPI::INFO_NULL);
    EXPECT_EQ(file.Get_type_extent(MPI::INT), sizeof(int));
    file.Write_at(0, out, 4, MPI::CHAR);
    file.Read_at(0, in, 4, MPI::CHAR);
    EXPECT(!std::memcmp(in, out, 4));
    EXPECT(conversions >= 2);
    file.Set_view(0, MPI::CHAR, MPI::CHAR, "native", MPI::INFO_NULL);
    file.Read_at(0, in, 4, MPI::CHAR);
    EXPECT(in[0] == 2 && in[3] == 5);
    file.Set_view(0, MPI::CHAR, MPI::CHAR, "fails", MPI::INFO_NULL);
    file.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    EXPECT_THROWS(file.Read_at(0, in, 4, MPI::CHAR), MPI::ERR_CONVERSION);
    file.Close();
}

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    rank = MPI::COMM_WORLD.Get_rank();
    size = MPI::COMM_WORLD.Get_size();
    // Errors are not ignored here.
    MPI::FILE_NULL.Set_errhandler(MPI::ERRORS_ARE_FATAL);
    MPI::File file = MPI::File::Open(MPI::COMM_WORLD, "file", MPI::MODE_RDWR | MPI::MODE_CREATE, MPI::INFO_NULL);
    EXPECT_EQ(file.Get_amode(), MPI::MODE_RDWR | MPI::MODE_CREATE);
    MPI::Group group = file.Get_group();
    EXPECT_EQ(group.Get_size(), size);
    group.Free();
    file.Set_view(0, MPI::INT, MPI::INT, "native", MPI::INFO_NULL);
    MPI::Offset disp = -1;
    MPI::Datatype etype, filetype;
    char datarep[MPI::MAX_DATAREP_STRING];
    file.Get_view(disp, etype, filetype, datarep);
    EXPECT(disp == 0 && etype == MPI::INT && filetype == MPI::INT && !std::strcmp(datarep, "native"));
    accesses(file);
    file.Set_size(400);
    EXPECT_EQ(file.Get_size(), 400);
    file.Preallocate(800);
    EXPECT_EQ(file.Get_size(), 800);
    file.Seek(-1, MPI::SEEK_END);
    EXPECT_EQ(file.Get_position(), 199);
    file.Seek(-9, MPI::SEEK_CUR);
    EXPECT_EQ(file.Get_position(), 190);
    file.Set_atomicity(true);
    EXPECT(file.Get_atomicity());
    MPI::Info info = file.Get_info();
    EXPECT(info != MPI::INFO_NULL);
    file.Set_info(info);
    info.Free();
    file.Close();
    EXPECT(file == MPI::FILE_NULL);
    MPI::COMM_WORLD.Barrier();
    if (rank == 0) MPI::File::Delete("file", MPI::INFO_NULL);
    if (rank == 0) representations();
    // The constants of stdio.h are still there.
    std::FILE *plain = std::tmpfile();
    EXPECT(plain && std::fseek(plain, 3, SEEK_SET) == 0 && std::fseek(plain, 0, SEEK_CUR) == 0 && std::ftell(plain) == 3);
    std::fclose(plain);
    MPI::Finalize();
    return 0;
}
