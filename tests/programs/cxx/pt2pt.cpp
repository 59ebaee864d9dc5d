// ranks: 1 2 4
// Messages and requests of the C++ interface: every way to send, receive, probe, wait and test.
#include "expect.h"

#include <vector>

static int rank, size, right, left;

static void blocking()
{
    int in = -1;
    MPI::Status status;
    std::vector<char> buffer(2 * (MPI::INT.Pack_size(1, MPI::COMM_WORLD) + MPI::BSEND_OVERHEAD));
    MPI::Attach_buffer(&buffer[0], (int)buffer.size());

    MPI::COMM_WORLD.Bsend(&rank, 1, MPI::INT, right, 1);
    MPI::COMM_WORLD.Probe(left, 1, status);
    EXPECT_EQ(status.Get_source(), left);
    EXPECT_EQ(status.Get_tag(), 1);
    EXPECT_EQ(status.Get_count(MPI::INT), 1);
    EXPECT_EQ(status.Get_elements(MPI::INT), 1);
    EXPECT(!status.Is_cancelled());
    MPI::COMM_WORLD.Probe(MPI::ANY_SOURCE, MPI::ANY_TAG);
    EXPECT(MPI::COMM_WORLD.Iprobe(left, 1));
    EXPECT(MPI::COMM_WORLD.Iprobe(left, 1, status));
    EXPECT(!MPI::COMM_WORLD.Iprobe(left, 999));
    MPI::COMM_WORLD.Recv(&in, 1, MPI::INT, left, 1);
    EXPECT_EQ(in, left);

    MPI::Request request = MPI::COMM_WORLD.Ibsend(&rank, 1, MPI::INT, right, 2);
    MPI::COMM_WORLD.Recv(&in, 1, MPI::INT, MPI::ANY_SOURCE, MPI::ANY_TAG, status);
    EXPECT_EQ(status.Get_source(), left);
    EXPECT_EQ(status.Get_tag(), 2);
    request.Wait();
    EXPECT(request == MPI::REQUEST_NULL);

    void *detached = 0;
    EXPECT_EQ(MPI::Detach_buffer(detached), buffer.size());
    EXPECT(detached == &buffer[0]);

    in = -1;
    MPI::COMM_WORLD.Sendrecv(&rank, 1, MPI::INT, right, 3, &in, 1, MPI::INT, left, 3, status);
    EXPECT_EQ(in, left);
    EXPECT_EQ(status.Get_source(), left);
    MPI::COMM_WORLD.Sendrecv(&rank, 1, MPI::INT, right, 3, &in, 1, MPI::INT, left, 3);
    int both = rank;
    MPI::COMM_WORLD.Sendrecv_replace(&both, 1, MPI::INT, right, 4, left, 4, status);
    EXPECT_EQ(both, left);
    both = rank;
    MPI::COMM_WORLD.Sendrecv_replace(&both, 1, MPI::INT, right, 4, left, 4);
    EXPECT_EQ(both, left);

    // To nobody.
    MPI::COMM_WORLD.Send(&rank, 1, MPI::INT, MPI::PROC_NULL, 0);
    MPI::COMM_WORLD.Ssend(&rank, 1, MPI::INT, MPI::PROC_NULL, 0);
    MPI::COMM_WORLD.Recv(&in, 1, MPI::INT, MPI::PROC_NULL, 0, status);
    EXPECT_EQ(status.Get_source(), MPI::PROC_NULL);
    EXPECT_EQ(status.Get_count(MPI::INT), 0);
}

// One message with each mode, into receives that are posted before.
static void nonblocking()
{
    const int modes = 3;
    int in[modes] = {-1, -1, -1}, index = -1;
    MPI::Request receives[modes], sends[modes];
    for (int i = 0; i < modes; i++) receives[i] = MPI::COMM_WORLD.Irecv(&in[i], 1, MPI::INT, left, 10 + i);
    MPI::COMM_WORLD.Barrier();
    sends[0] = MPI::COMM_WORLD.Isend(&rank, 1, MPI::INT, right, 10);
    sends[1] = MPI::COMM_WORLD.Issend(&rank, 1, MPI::INT, right, 11);
    sends[2] = MPI::COMM_WORLD.Irsend(&rank, 1, MPI::INT, right, 12);
    MPI::Status statuses[modes];
    MPI::Request::Waitall(modes, receives, statuses);
    for (int i = 0; i < modes; i++) {
        EXPECT_EQ(in[i], left);
        EXPECT_EQ(statuses[i].Get_tag(), 10 + i);
        EXPECT(receives[i] == MPI::REQUEST_NULL);
    }
    MPI::Request::Waitall(modes, sends);
    EXPECT_EQ(MPI::Request::Waitany(modes, sends), MPI::UNDEFINED);
    EXPECT(MPI::Request::Testany(modes, sends, index));
    EXPECT_EQ(index, MPI::UNDEFINED);

    // Each of the functions for several requests.
    int done = 0, indices[modes];
    MPI::Status status;
    for (int form = 0; form < 8; form++) {
        for (int i = 0; i < modes; i++) {
            in[i] = -1;
            receives[i] = MPI::COMM_WORLD.Irecv(&in[i], 1, MPI::INT, left, 20 + i);
            sends[i] = MPI::COMM_WORLD.Isend(&rank, 1, MPI::INT, right, 20 + i);
        }
        for (done = 0; done < modes;) {
            switch (form) {
            case 0: EXPECT(MPI::Request::Waitany(modes, receives) >= 0); done++; break;
            case 1:
                index = MPI::Request::Waitany(modes, receives, status);
                EXPECT_EQ(status.Get_tag(), 20 + index);
                done++;
                break;
            case 2: done += MPI::Request::Testany(modes, receives, index) ? 1 : 0; break;
            case 3: done += MPI::Request::Testany(modes, receives, index, status) ? 1 : 0; break;
            case 4: done += MPI::Request::Waitsome(modes, receives, indices); break;
            case 5:
                index = MPI::Request::Waitsome(modes, receives, indices, statuses);
                for (int i = 0; i < index; i++) EXPECT_EQ(statuses[i].Get_tag(), 20 + indices[i]);
                done += index;
                break;
            case 6: done += MPI::Request::Testsome(modes, receives, indices); break;
            case 7: done += MPI::Request::Testsome(modes, receives, indices, statuses); break;
            }
        }
        EXPECT_EQ(done, modes);
        for (int i = 0; i < modes; i++) EXPECT_EQ(in[i], left);
        while (form % 2 ? !MPI::Request::Testall(modes, sends, statuses) : !MPI::Request::Testall(modes, sends)) {
        }
    }

    // A receive that is cancelled; one that is looked at without being freed; one that is given up.
    MPI::Request never = MPI::COMM_WORLD.Irecv(&in[0], 1, MPI::INT, left, 30);
    EXPECT(!never.Get_status());
    EXPECT(!never.Test());
    never.Cancel();
    while (!never.Get_status(status)) {
    }
    EXPECT(never.Test(status));
    EXPECT(status.Is_cancelled());
    MPI::Request to_nobody = MPI::COMM_WORLD.Isend(&rank, 1, MPI::INT, MPI::PROC_NULL, 30);
    to_nobody.Free();
    EXPECT(to_nobody == MPI_REQUEST_NULL);
}

static void persistent()
{
    int in[5] = {-1, -1, -1, -1, -1};
    std::vector<char> buffer(MPI::INT.Pack_size(1, MPI::COMM_WORLD) + MPI::BSEND_OVERHEAD);
    MPI::Attach_buffer(&buffer[0], (int)buffer.size());
    MPI::Prequest receives[4], sends[4];
    for (int i = 0; i < 4; i++) receives[i] = MPI::COMM_WORLD.Recv_init(&in[i], 1, MPI::INT, left, 40 + i);
    sends[0] = MPI::COMM_WORLD.Send_init(&rank, 1, MPI::INT, right, 40);
    sends[1] = MPI::COMM_WORLD.Bsend_init(&rank, 1, MPI::INT, right, 41);
    sends[2] = MPI::COMM_WORLD.Ssend_init(&rank, 1, MPI::INT, right, 42);
    sends[3] = MPI::COMM_WORLD.Rsend_init(&rank, 1, MPI::INT, right, 43);
    for (int round = 0; round < 2; round++) {
        std::memset(in, -1, sizeof in);
        MPI::Prequest::Startall(4, receives);
        MPI::COMM_WORLD.Barrier();
        sends[0].Start();
        MPI::Prequest::Startall(3, sends + 1);
        MPI::Request::Waitall(4, receives);
        MPI::Request::Waitall(4, sends);
        for (int i = 0; i < 4; i++) EXPECT_EQ(in[i], left);
    }
    for (int i = 0; i < 4; i++) {
        receives[i].Free();
        sends[i].Free();
    }
    void *detached = 0;
    MPI::Detach_buffer(detached);
}

// All ranks send to rank 0, in the modes that wait and that need a receive.
static void modes()
{
    int in = -1;
    if (rank == 0) {
        for (int from = 1; from < size; from++) {
            MPI::COMM_WORLD.Recv(&in, 1, MPI::INT, from, 50);
            EXPECT_EQ(in, from);
            MPI::Request posted = MPI::COMM_WORLD.Irecv(&in, 1, MPI::INT, from, 51);
            MPI::COMM_WORLD.Send(0, 0, MPI::BYTE, from, 52);
            posted.Wait();
            EXPECT_EQ(in, 100 + from);
        }
    } else {
        const int out = 100 + rank;
        MPI::COMM_WORLD.Ssend(&rank, 1, MPI::INT, 0, 50);
        MPI::COMM_WORLD.Recv(0, 0, MPI::BYTE, 0, 52);
        MPI::COMM_WORLD.Rsend(&out, 1, MPI::INT, 0, 51);
    }
}

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    rank = MPI::COMM_WORLD.Get_rank();
    size = MPI::COMM_WORLD.Get_size();
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    blocking();
    nonblocking();
    persistent();
    modes();
    MPI::Finalize();
    return 0;
}
