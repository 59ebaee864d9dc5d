// ranks: 1 2
// Spawning, ports and names in the C++ interface, and the functions about the environment.
#include "expect.h"

static void child(MPI::Intercomm &parent, const char *what)
{
    int sum = 0, one = 1;
    parent.Allreduce(&one, &sum, 1, MPI::INT, MPI::SUM);
    EXPECT_EQ(sum, parent.Get_remote_size());
    EXPECT(!std::strcmp(what, "first") || !std::strcmp(what, "second"));
    parent.Disconnect();
    EXPECT(parent == MPI::COMM_NULL);
}

static void spawning(const char *program)
{
    int sum = 0, one = 1, codes[3] = {-1, -1, -1};
    const char *first[] = {"first", 0}, *second[] = {"second", 0}, *commands[2] = {program, program};
    MPI::Intercomm children = MPI::COMM_WORLD.Spawn(program, first, 2, MPI::INFO_NULL, 0, codes);
    EXPECT(codes[0] == MPI::SUCCESS && codes[1] == MPI::SUCCESS);
    EXPECT_EQ(children.Get_remote_size(), 2);
    children.Allreduce(&one, &sum, 1, MPI::INT, MPI::SUM);
    EXPECT_EQ(sum, 2);
    children.Disconnect();
    children = MPI::COMM_WORLD.Spawn(program, first, 1, MPI::INFO_NULL, 0);
    children.Allreduce(&one, &sum, 1, MPI::INT, MPI::SUM);
    children.Disconnect();

    const char **arguments[2] = {first, second};
    const int counts[2] = {1, 2};
    const MPI::Info infos[2] = {MPI::INFO_NULL, MPI::INFO_NULL};
    children = MPI::COMM_WORLD.Spawn_multiple(2, commands, arguments, counts, infos, 0, codes);
    EXPECT_EQ(children.Get_remote_size(), 3);
    EXPECT_EQ(codes[2], MPI::SUCCESS);
    children.Allreduce(&one, &sum, 1, MPI::INT, MPI::SUM);
    children.Disconnect();
    children = MPI::COMM_WORLD.Spawn_multiple(2, commands, arguments, counts, infos, 0);
    children.Allreduce(&one, &sum, 1, MPI::INT, MPI::SUM);
    children.Disconnect();
}

// The ranks of the world in two groups, that meet at a port.
static void ports()
{
    const int rank = MPI::COMM_WORLD.Get_rank();
    char port[MPI::MAX_PORT_NAME];
    if (rank == 0) {
        MPI::Open_port(MPI::INFO_NULL, port);
        MPI::Publish_name("a service", MPI::INFO_NULL, port);
    }
    MPI::COMM_WORLD.Barrier();
    if (MPI::COMM_WORLD.Get_size() > 1) {
        MPI::Intercomm other;
        if (rank == 0) {
            other = MPI::COMM_SELF.Accept(port, MPI::INFO_NULL, 0);
        } else {
            MPI::Lookup_name("a service", MPI::INFO_NULL, port);
            other = MPI::COMM_SELF.Connect(port, MPI::INFO_NULL, 0);
        }
        int theirs = -1;
        other.Sendrecv(&rank, 1, MPI::INT, 0, 0, &theirs, 1, MPI::INT, 0, 0);
        EXPECT_EQ(theirs, 1 - rank);
        other.Disconnect();
    }
    if (rank == 0) {
        MPI::Unpublish_name("a service", MPI::INFO_NULL, port);
        MPI::Close_port(port);
    }
}

// Whether objects that are initialised before main see the constants.
static const MPI::Intracomm early_comm = MPI::COMM_WORLD;
static const MPI::Datatype early_type = MPI::INT;
static const bool early_initialized = MPI::Is_initialized();

int main(int argc, char **argv)
{
    EXPECT(early_comm == MPI_COMM_WORLD && early_type == MPI_INT && !early_initialized);
    const int provided = MPI::Init_thread(argc, argv, MPI::THREAD_MULTIPLE);
    EXPECT_EQ(provided, MPI::THREAD_MULTIPLE);
    EXPECT_EQ(MPI::Query_thread(), provided);
    EXPECT(MPI::Is_thread_main() && MPI::Is_initialized() && !MPI::Is_finalized());
    MPI::Intercomm parent = MPI::Comm::Get_parent();
    if (parent != MPI::COMM_NULL) {
        child(parent, argc > 1 ? argv[1] : "none");
        MPI::Finalize();
        return 0;
    }
    int version = 0, subversion = -1, length = 0;
    char name[MPI::MAX_PROCESSOR_NAME];
    MPI::Get_version(version, subversion);
    EXPECT(version == MPI::VERSION && subversion == MPI::SUBVERSION);
    MPI::Get_processor_name(name, length);
    EXPECT_EQ(length, std::strlen(name));
    EXPECT(MPI::Wtick() > 0 && MPI::Wtime() <= MPI::Wtime());
    MPI::Pcontrol(1);
    MPI::Pcontrol(2, "anything");
    ports();
    spawning(argv[0]);
    MPI::Finalize();
    EXPECT(MPI::Is_finalized());
    return 0;
}
