// Everything that old programs do with MPICH's classes: objects through references, topologies, callbacks, exceptions.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int wrong = 0;
#define CHECK(what) do { if (!(what)) { wrong++; fprintf(stderr, "line %d: %s\n", __LINE__, #what); } } while (0)

static int rank_of(const MPI::Comm &comm) { return comm.Get_rank(); }
static int size_of_type(const MPI::Datatype &type) { return type.Get_size(); }

static void twice(const void *in, void *inout, int length, const MPI::Datatype &type)
{
    for (int i = 0; i < length; i++) static_cast<int *>(inout)[i] += 2 * static_cast<const int *>(in)[i];
    CHECK(type.Get_size() == 4);
}

static int copies, deletes;
static int copy(const MPI::Comm &comm, int, void *extra, void *value, void *out, bool &flag)
{
    copies++;
    CHECK(extra == &copies && comm.Get_size() > 0);
    *static_cast<void **>(out) = static_cast<char *>(value) + 1;
    flag = true;
    return MPI::SUCCESS;
}
static int erase(MPI::Comm &, int, void *, void *extra) { deletes++; CHECK(extra == &copies); return MPI::SUCCESS; }

static int handled;
static void handler(MPI::Comm &comm, int *code, ...)
{
    handled++;
    CHECK(MPI::Get_error_class(*code) == MPI::ERR_RANK && comm.Get_rank() >= 0);
}

static int freed;
static int query(void *extra, MPI::Status &status)
{
    status.Set_elements(MPI::INT, 7);
    status.Set_cancelled(false);
    status.Set_tag(*static_cast<int *>(extra));
    return MPI::SUCCESS;
}
static int release(void *) { freed++; return MPI::SUCCESS; }
static int cancel(void *, bool) { return MPI::SUCCESS; }

static void point_to_point(MPI::Intracomm &comm)
{
    const int rank = comm.Get_rank(), size = comm.Get_size(), right = (rank + 1) % size, left = (rank + size - 1) % size;
    int out = rank, in = -1;
    MPI::Status status;
    comm.Sendrecv(&out, 1, MPI::INT, right, 3, &in, 1, MPI::INT, left, 3, status);
    CHECK(in == left && status.Get_source() == left && status.Get_tag() == 3 && status.Get_count(MPI::INT) == 1);
    MPI::Request request[2] = {comm.Irecv(&in, 1, MPI::INT, MPI::ANY_SOURCE, MPI::ANY_TAG), comm.Isend(&out, 1, MPI::INT, right, 4)};
    MPI::Request::Waitall(2, request);
    CHECK(in == left && request[0] == MPI::REQUEST_NULL);
    MPI::Prequest persistent = comm.Recv_init(&in, 1, MPI::INT, left, 5);
    persistent.Start();
    comm.Send(&out, 1, MPI::INT, right, 5);
    persistent.Wait(status);
    CHECK(status.Get_tag() == 5);
    persistent.Free();
    in = -1;
    comm.Issend(&out, 1, MPI::INT, right, 6).Free();
    comm.Probe(left, 6, status);
    CHECK(status.Get_source() == left);
    comm.Recv(&in, 1, MPI::INT, left, 6);
    CHECK(in == left && !comm.Iprobe(MPI::ANY_SOURCE, 99) && !comm.Is_inter() && comm.Get_topology() == MPI::UNDEFINED);
}

static void collectives(MPI::Comm &comm)
{
    const int rank = comm.Get_rank(), size = comm.Get_size();
    int sum = 0, all[64], mine[64];
    comm.Allreduce(&rank, &sum, 1, MPI::INT, MPI::SUM);
    CHECK(sum == size * (size - 1) / 2);
    comm.Allgather(&rank, 1, MPI::INT, all, 1, MPI::INT);
    for (int i = 0; i < size; i++) { CHECK(all[i] == i); mine[i] = 100 * rank + i; }
    comm.Alltoall(mine, 1, MPI::INT, all, 1, MPI::INT);
    for (int i = 0; i < size; i++) CHECK(all[i] == 100 * i + rank);
    int ones[64], places[64];
    for (int i = 0; i < size; i++) ones[i] = 1, places[i] = 4 * i;
    MPI::Datatype types[64];
    for (int i = 0; i < size; i++) types[i] = MPI::INT;
    memset(all, 0, sizeof all);
    comm.Alltoallw(mine, ones, places, types, all, ones, places, types);
    for (int i = 0; i < size; i++) CHECK(all[i] == 100 * i + rank);
    MPI::Op op;
    op.Init(twice, true);
    CHECK(op.Is_commutative());
    int in = 1, inout = 5;
    op.Reduce_local(&in, &inout, 1, MPI::INT);
    CHECK(inout == 7);
    op.Free();
    CHECK(op == MPI::OP_NULL);
}

static void topologies(MPI::Intracomm &world)
{
    const int size = world.Get_size();
    int dims[2] = {size, 1}, got[2], coords[2], from, to;
    bool periods[2] = {true, false}, round[2], keep[2] = {true, false};
    MPI::Compute_dims(size, 2, dims);
    MPI::Cartcomm grid = world.Create_cart(2, dims, periods, false);
    const MPI::Cartcomm &same = grid;
    same.Get_topo(2, got, round, coords);
    CHECK(got[0] == dims[0] && got[1] == dims[1] && round[0] && !round[1] && same.Get_dim() == 2);
    CHECK(same.Get_cart_rank(coords) == rank_of(same));
    same.Shift(0, 1, from, to);
    CHECK(from >= 0 && to < size && same.Get_topology() == MPI::CART);
    MPI::Cartcomm row = same.Sub(keep);
    CHECK(row.Get_size() == dims[0]);
    row.Free();
    CHECK(same.Map(2, dims, periods) >= 0);
    MPI::Cartcomm &clone = same.Clone();
    CHECK(clone.Get_dim() == 2);
    clone.Free();
    delete &clone;
    grid.Free();
    int index[64], edges[64], one[1];
    for (int i = 0; i < size; i++) index[i] = i + 1, edges[i] = (i + 1) % size;
    MPI::Graphcomm graph = world.Create_graph(size, index, edges, false);
    const MPI::Graphcomm &ring = graph;
    const int rank = ring.Get_rank();
    CHECK(ring.Get_neighbors_count(rank) == 1);
    ring.Get_neighbors(rank, 1, one);
    CHECK(one[0] == (rank + 1) % size);
    graph.Free();
}

static void types()
{
    const MPI::Datatype &integer = MPI::INT;
    MPI::Datatype pair = integer.Create_contiguous(2), vector = integer.Create_vector(2, 1, 2);
    pair.Commit();
    CHECK(size_of_type(pair) == 8 && size_of_type(integer) == 4);
    MPI::Aint low, extent;
    const MPI::Datatype &v = vector;
    v.Get_extent(low, extent);
    CHECK(extent == 12);
    int n[4], numbers[4];
    MPI::Aint places[4];
    MPI::Datatype inner[1];
    v.Get_envelope(n[0], n[1], n[2], n[3]);
    CHECK(n[0] == 3 && n[2] == 1 && n[3] == MPI::COMBINER_VECTOR);
    v.Get_contents(n[0], n[1], n[2], numbers, places, inner);
    CHECK(inner[0] == MPI::INT && numbers[2] == 2);
    int data[2] = {3, 4}, back[2] = {0, 0}, position = 0, length;
    char room[64], name[MPI::MAX_OBJECT_NAME];
    CHECK(pair.Pack_size(1, MPI::COMM_SELF) >= 8);
    pair.Pack(data, 1, room, sizeof room, position, MPI::COMM_SELF);
    position = 0;
    pair.Unpack(room, sizeof room, back, 1, position, MPI::COMM_SELF);
    CHECK(back[0] == 3 && back[1] == 4 && position == 8);
    integer.Get_name(name, length);
    CHECK(!strcmp(name, "MPI_INT"));
    pair.Free();
    vector.Free();
    CHECK(pair == MPI::DATATYPE_NULL);
}

static void callbacks(MPI::Intracomm &world)
{
    int key = MPI::Comm::Create_keyval(copy, erase, &copies);
    char value[4];
    void *found = 0;
    MPI::Intracomm first = world.Dup();
    first.Set_attr(key, value);
    MPI::Intracomm second = first.Dup();
    CHECK(second.Get_attr(key, &found) && found == value + 1 && copies == 1);
    second.Free();
    first.Delete_attr(key);
    CHECK(deletes == 2);
    MPI::Comm::Free_keyval(key);
    MPI::Errhandler mine = MPI::Comm::Create_errhandler(handler), before = first.Get_errhandler();
    CHECK(before == MPI::ERRORS_ARE_FATAL);
    first.Set_errhandler(mine);
    int x = 0;
    first.Send(&x, 1, MPI::INT, 1000, 0);
    CHECK(handled >= 1);
    mine.Free();
    first.Free();
    int tag = 11;
    MPI::Grequest empty, request = empty.Start(query, release, cancel, &tag);
    MPI::Status status;
    CHECK(!request.Test(status));
    request.Complete();
    request.Wait(status);
    CHECK(status.Get_elements(MPI::INT) == 7 && status.Get_tag() == 11 && freed == 1);
}

static int thrown(const MPI::Comm &comm)
{
    int x = 0;
    try {
        comm.Send(&x, 1, MPI::INT, 1000, 0);
    } catch (const MPI::Exception &) {
        return 1;
    }
    return 0;
}

static void exceptions(MPI::Intracomm &world)
{
    world.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    CHECK(world.Get_errhandler() == MPI::ERRORS_THROW_EXCEPTIONS);
    CHECK(thrown(world) == 1 && thrown(MPI::COMM_WORLD) == 1);
    int caught = 0;
    try {
        world.Call_errhandler(MPI::ERR_TAG);
    } catch (MPI::Exception &e) {
        caught = e.Get_error_class();
    }
    CHECK(caught == MPI::ERR_TAG);
    try {
        MPI::Datatype none;
        none.Commit();
    } catch (MPI::Exception e) {
        caught = e.Get_error_class();
        CHECK(strlen(e.Get_error_string()) > 0);
    }
    CHECK(caught == MPI::ERR_TYPE);
    try {
        MPI::Publish_name("x", MPI::INFO_NULL, "y");
        MPI::Lookup_name("nobody has this name", MPI::INFO_NULL, 0);
    } catch (MPI::Exception &e) {
        caught = e.Get_error_class();
    }
    CHECK(caught != MPI::ERR_TYPE);
    world.Set_errhandler(MPI::ERRORS_RETURN);
    CHECK(thrown(world) == 0);
    world.Set_errhandler(MPI::ERRORS_ARE_FATAL);
}

static void others(MPI::Intracomm &world)
{
    const int rank = world.Get_rank(), size = world.Get_size();
    if (size > 1) {
        MPI::Intracomm half = world.Split(rank % 2, rank);
        MPI::Intercomm between = half.Create_intercomm(0, world, 1 - rank % 2, 8);
        MPI::Comm &b = between;
        CHECK(b.Is_inter() && between.Get_remote_size() == size / 2 + (rank % 2 ? size % 2 : 0));
        MPI::Intracomm merged = between.Merge(rank % 2 == 1);
        CHECK(merged.Get_size() == size);
        merged.Free();
        between.Free();
        half.Free();
    }
    MPI::Group all = world.Get_group();
    const MPI::Group &g = all;
    int ranks[1] = {0};
    MPI::Group one = g.Incl(1, ranks);
    CHECK(one.Get_size() == 1 && g.Get_rank() == rank && MPI::Group::Compare(one, MPI::GROUP_EMPTY) == MPI::UNEQUAL);
    one.Free();
    all.Free();
    int memory[2] = {0, 0};
    MPI::Win win = MPI::Win::Create(memory, sizeof memory, 4, MPI::INFO_NULL, world);
    win.Fence(0);
    win.Put(&rank, 1, MPI::INT, (rank + 1) % size, 1, 1, MPI::INT);
    win.Fence(0);
    CHECK(memory[1] == (rank + size - 1) % size);
    win.Free();
    CHECK(MPI::Is_initialized() && !MPI::Is_finalized() && MPI::Wtime() > 0 && MPI::Query_thread() == MPI::THREAD_SINGLE);
    char name[MPI::MAX_PROCESSOR_NAME], room[1000 + MPI::BSEND_OVERHEAD];
    int length;
    MPI::Get_processor_name(name, length);
    CHECK(length > 0);
    MPI::Attach_buffer(room, sizeof room);
    void *back;
    CHECK(MPI::Detach_buffer(back) == (int)sizeof room && back == room);
    void *allocated = MPI::Alloc_mem(100, MPI::INFO_NULL);
    CHECK(allocated != 0);
    MPI::Free_mem(allocated);
    CHECK(MPI::Comm::Get_parent() == MPI::COMM_NULL);
    MPI::Info info = MPI::Info::Create();
    info.Set("a", "b");
    char text[10];
    CHECK(info.Get("a", 9, text) && !strcmp(text, "b") && info.Get_nkeys() == 1);
    info.Free();
}

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    point_to_point(MPI::COMM_WORLD);
    collectives(MPI::COMM_WORLD);
    topologies(MPI::COMM_WORLD);
    types();
    callbacks(MPI::COMM_WORLD);
    exceptions(MPI::COMM_WORLD);
    others(MPI::COMM_WORLD);
    printf("%d wrong\n", wrong);
    MPI::Finalize();
    return wrong != 0;
}
