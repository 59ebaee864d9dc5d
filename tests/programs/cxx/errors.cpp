// ranks: 1 2
// Errors of the C++ interface: exceptions, functions of the program, and errors that are ignored.
#include "expect.h"

static int rank, size, calls, last_class;

static void on_comm_error(MPI::Comm &comm, int *code, ...)
{
    EXPECT(dynamic_cast<MPI::Intracomm *>(&comm) != 0);
    calls++;
    last_class = MPI::Get_error_class(*code);
}
static void on_cart_error(MPI::Comm &comm, int *, ...)
{
    EXPECT(dynamic_cast<MPI::Cartcomm *>(&comm) != 0);
    calls++;
}
static void on_win_error(MPI::Win &win, int *code, ...)
{
    EXPECT(win != MPI::WIN_NULL);
    calls++;
    last_class = MPI::Get_error_class(*code);
}
static void on_file_error(MPI::File &, int *code, ...)
{
    calls++;
    last_class = MPI::Get_error_class(*code);
}

static void exceptions()
{
    int value = 0;
    MPI::COMM_WORLD.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    MPI::COMM_SELF.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    EXPECT(MPI::COMM_WORLD.Get_errhandler() == MPI::ERRORS_THROW_EXCEPTIONS);
    EXPECT_THROWS(MPI::COMM_WORLD.Send(&value, 1, MPI::INT, size, 0), MPI::ERR_RANK);
    EXPECT_THROWS(MPI::COMM_WORLD.Send(&value, -1, MPI::INT, 0, 0), MPI::ERR_COUNT);
    EXPECT_THROWS(MPI::COMM_WORLD.Isend(&value, 1, MPI::INT, 0, -5), MPI::ERR_TAG);
    EXPECT_THROWS(MPI::COMM_WORLD.Bcast(&value, 1, MPI::DATATYPE_NULL, 0), MPI::ERR_TYPE);
    EXPECT_THROWS(MPI::COMM_WORLD.Allreduce(&value, &value, 1, MPI::INT, MPI::OP_NULL), MPI::ERR_OP);
    EXPECT_THROWS(MPI::INT.Create_contiguous(-1), MPI::ERR_COUNT);
    EXPECT_THROWS(MPI::Group(MPI::GROUP_NULL).Get_size(), MPI::ERR_GROUP);
    EXPECT_THROWS(MPI::Intracomm().Get_rank(), MPI::ERR_COMM);
    EXPECT_THROWS(MPI::COMM_WORLD.Call_errhandler(MPI::ERR_OTHER), MPI::ERR_OTHER);

    // A message that is too long: of a wait, and of several requests at once.
    long in[2] = {0, 0}, out[2] = {1, 2};
    MPI::Request request = MPI::COMM_SELF.Irecv(in, 1, MPI::LONG, 0, 1);
    MPI::COMM_SELF.Send(out, 2, MPI::LONG, 0, 1);
    EXPECT_THROWS(request.Wait(), MPI::ERR_TRUNCATE);
    MPI::Request two[2] = {MPI::COMM_SELF.Irecv(in, 1, MPI::LONG, 0, 1), MPI::COMM_SELF.Irecv(in + 1, 1, MPI::LONG, 0, 2)};
    MPI::Status statuses[2];
    MPI::COMM_SELF.Send(out, 2, MPI::LONG, 0, 1);
    MPI::COMM_SELF.Send(out, 1, MPI::LONG, 0, 2);
    EXPECT_THROWS(MPI::Request::Waitall(2, two, statuses), MPI::ERR_IN_STATUS);
    EXPECT_EQ(MPI::Get_error_class(statuses[0].Get_error()), MPI::ERR_TRUNCATE);
    EXPECT_EQ(in[1], 1);

    // The handler goes to a duplicate; a new handler replaces it; errors are ignored.
    MPI::Intracomm dup = MPI::COMM_WORLD.Dup();
    EXPECT_THROWS(dup.Send(&value, 1, MPI::INT, size, 0), MPI::ERR_RANK);
    dup.Set_errhandler(MPI::ERRORS_RETURN);
    EXPECT(dup.Get_errhandler() == MPI::ERRORS_RETURN);
    EXPECT_THROWS(dup.Send(&value, 1, MPI::INT, size, 0), MPI::SUCCESS);
    dup.Free();

    // Of the program.
    const int own_class = MPI::Add_error_class(), own_code = MPI::Add_error_code(own_class);
    MPI::Add_error_string(own_code, "too hot");
    try {
        MPI::COMM_WORLD.Call_errhandler(own_code);
        EXPECT(false);
    } catch (MPI::Exception exception) {
        EXPECT_EQ(exception.Get_error_code(), own_code);
        EXPECT_EQ(exception.Get_error_class(), own_class);
        EXPECT(!std::strcmp(exception.Get_error_string(), "too hot"));
    }
    char text[MPI::MAX_ERROR_STRING];
    int length = 0;
    MPI::Get_error_string(own_code, text, length);
    EXPECT(length == 7 && !std::strcmp(text, "too hot"));
}

static void functions()
{
    int value = 0;
    MPI::Intracomm comm = MPI::COMM_WORLD.Dup();
    MPI::Errhandler handler = MPI::Comm::Create_errhandler(on_comm_error);
    comm.Set_errhandler(handler);
    MPI::Errhandler same = comm.Get_errhandler();
    EXPECT(same == handler);
    same.Free();
    handler.Free(); // It stays in use.
    EXPECT(handler == MPI::ERRHANDLER_NULL);
    comm.Send(&value, 1, MPI::INT, size, 0);
    EXPECT(calls == 1 && last_class == MPI::ERR_RANK);
    comm.Call_errhandler(MPI::ERR_OTHER);
    EXPECT(calls == 2 && last_class == MPI::ERR_OTHER);
    const bool periods[1] = {false};
    MPI::Cartcomm cart = comm.Create_cart(1, &size, periods, false);
    MPI::Errhandler of_cart = MPI::Comm::Errhandler_create(on_cart_error);
    cart.Errhandler_set(of_cart);
    EXPECT(cart.Errhandler_get() == of_cart);
    of_cart.Free();
    cart.Send(&value, 1, MPI::INT, size, 0);
    EXPECT_EQ(calls, 3);
    cart.Free();

    // The attribute of another communicator's handler is not mixed up.
    comm.Send(&value, 1, MPI::INT, 0, -7);
    EXPECT(calls == 4 && last_class == MPI::ERR_TAG);
    comm.Free();

    int memory = 0;
    MPI::Win win = MPI::Win::Create(&memory, sizeof memory, sizeof memory, MPI::INFO_NULL, MPI::COMM_WORLD);
    handler = MPI::Win::Create_errhandler(on_win_error);
    win.Set_errhandler(handler);
    handler.Free();
    win.Put(&value, 1, MPI::INT, size, 0, 1, MPI::INT);
    EXPECT(calls == 5 && last_class == MPI::ERR_RANK);
    win.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    EXPECT(win.Get_errhandler() == MPI::ERRORS_THROW_EXCEPTIONS);
    EXPECT_THROWS(win.Put(&value, 1, MPI::INT, size, 0, 1, MPI::INT), MPI::ERR_RANK);
    EXPECT_THROWS(win.Call_errhandler(MPI::ERR_WIN), MPI::ERR_WIN);
    win.Set_errhandler(MPI::ERRORS_RETURN);
    win.Free();

    // The file that does not exist reports to FILE_NULL.
    handler = MPI::File::Create_errhandler(on_file_error);
    MPI::FILE_NULL.Set_errhandler(handler);
    MPI::File file = MPI::File::Open(MPI::COMM_WORLD, "not there", MPI::MODE_RDONLY, MPI::INFO_NULL);
    EXPECT(calls == 6 && last_class == MPI::ERR_NO_SUCH_FILE && file == MPI::FILE_NULL);
    MPI::FILE_NULL.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    EXPECT(MPI::FILE_NULL.Get_errhandler() == MPI::ERRORS_THROW_EXCEPTIONS);
    EXPECT_THROWS(MPI::File::Open(MPI::COMM_WORLD, "not there", MPI::MODE_RDONLY, MPI::INFO_NULL), MPI::ERR_NO_SUCH_FILE);
    MPI::FILE_NULL.Set_errhandler(MPI::ERRORS_RETURN);
    EXPECT_THROWS(MPI::File::Open(MPI::COMM_WORLD, "not there", MPI::MODE_RDONLY, MPI::INFO_NULL), MPI::SUCCESS);
    handler.Free();
}

template <int N> static void nothing(const void *, void *, int, const MPI::Datatype &)
{
}
template <int N> struct Operations {
    static void make()
    {
        Operations<N - 1>::make();
        MPI::Op op;
        op.Init(nothing<N>, true);
        op.Free();
    }
};
template <> struct Operations<0> {
    static void make() {}
};

// There is a place for 256 functions; one more is an error that says so.
static void limit()
{
    Operations<256>::make();
    Operations<256>::make();
    MPI::Op op;
    EXPECT_THROWS(op.Init(nothing<257>, true), MPI::ERR_OTHER);
    EXPECT(op == MPI::OP_NULL);
}

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    rank = MPI::COMM_WORLD.Get_rank();
    size = MPI::COMM_WORLD.Get_size();
    exceptions();
    functions();
    limit();
    MPI::COMM_WORLD.Set_errhandler(MPI::ERRORS_ARE_FATAL);
    EXPECT(MPI::COMM_WORLD.Get_errhandler() == MPI::ERRORS_ARE_FATAL);
    MPI::Finalize();
    return 0;
}
