// ranks: 1 2 3 4
// Collective operations of the C++ interface, with types of C++ and functions of the program.
#include "expect.h"

#include <complex>
#include <vector>

static int rank, size;

static void movement()
{
    std::vector<int> all(size, -1), counts(size), displs(size), ones(size, 1);
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        displs[i] = i;
    }
    int one = rank == 0 ? 42 : -1;
    MPI::COMM_WORLD.Bcast(&one, 1, MPI::INT, 0);
    EXPECT_EQ(one, 42);

    MPI::COMM_WORLD.Gather(&rank, 1, MPI::INT, &all[0], 1, MPI::INT, 0);
    if (rank == 0)
        for (int i = 0; i < size; i++) EXPECT_EQ(all[i], i);
    all.assign(size, -1);
    MPI::COMM_WORLD.Gatherv(&rank, 1, MPI::INT, &all[0], &counts[0], &displs[0], MPI::INT, 0);
    if (rank == 0)
        for (int i = 0; i < size; i++) EXPECT_EQ(all[i], i);
    one = -1;
    MPI::COMM_WORLD.Scatter(&displs[0], 1, MPI::INT, &one, 1, MPI::INT, 0);
    EXPECT_EQ(one, rank);
    one = -1;
    MPI::COMM_WORLD.Scatterv(&displs[0], &counts[0], &displs[0], MPI::INT, &one, 1, MPI::INT, 0);
    EXPECT_EQ(one, rank);

    all.assign(size, -1);
    MPI::COMM_WORLD.Allgather(&rank, 1, MPI::INT, &all[0], 1, MPI::INT);
    for (int i = 0; i < size; i++) EXPECT_EQ(all[i], i);
    all.assign(size, -1);
    all[rank] = rank;
    MPI::COMM_WORLD.Allgather(MPI::IN_PLACE, 0, MPI::DATATYPE_NULL, &all[0], 1, MPI::INT);
    for (int i = 0; i < size; i++) EXPECT_EQ(all[i], i);
    all.assign(size, -1);
    MPI::COMM_WORLD.Allgatherv(&rank, 1, MPI::INT, &all[0], &counts[0], &displs[0], MPI::INT);
    for (int i = 0; i < size; i++) EXPECT_EQ(all[i], i);

    std::vector<int> out(size), in(size, -1), bytes(size);
    for (int i = 0; i < size; i++) {
        out[i] = 100 * rank + i;
        bytes[i] = i * (int)sizeof(int);
    }
    MPI::COMM_WORLD.Alltoall(&out[0], 1, MPI::INT, &in[0], 1, MPI::INT);
    for (int i = 0; i < size; i++) EXPECT_EQ(in[i], 100 * i + rank);
    in.assign(size, -1);
    MPI::COMM_WORLD.Alltoallv(&out[0], &counts[0], &displs[0], MPI::INT, &in[0], &counts[0], &displs[0], MPI::INT);
    for (int i = 0; i < size; i++) EXPECT_EQ(in[i], 100 * i + rank);
    in.assign(size, -1);
    std::vector<MPI::Datatype> types(size, MPI::INT);
    MPI::COMM_WORLD.Alltoallw(&out[0], &counts[0], &bytes[0], &types[0], &in[0], &counts[0], &bytes[0], &types[0]);
    for (int i = 0; i < size; i++) EXPECT_EQ(in[i], 100 * i + rank);
}

// Adds; sees the type of C++.
static void add(const void *invec, void *inoutvec, int len, const MPI::Datatype &datatype)
{
    EXPECT(datatype == MPI::INT);
    const int *in = static_cast<const int *>(invec);
    int *inout = static_cast<int *>(inoutvec);
    for (int i = 0; i < len; i++) inout[i] += in[i];
}

// Keeps the left operand: not commutative.
static void first(const void *invec, void *inoutvec, int len, const MPI::Datatype &)
{
    std::memcpy(inoutvec, invec, len * sizeof(int));
}

static void reductions()
{
    const int sum = size * (size - 1) / 2;
    int result = -1;
    MPI::COMM_WORLD.Reduce(&rank, &result, 1, MPI::INT, MPI::SUM, 0);
    if (rank == 0) EXPECT_EQ(result, sum);
    MPI::COMM_WORLD.Allreduce(&rank, &result, 1, MPI::INT, MPI::MAX);
    EXPECT_EQ(result, size - 1);

    bool has = rank == 0, all = true, any = false;
    MPI::COMM_WORLD.Allreduce(&has, &any, 1, MPI::BOOL, MPI::LOR);
    MPI::COMM_WORLD.Allreduce(&has, &all, 1, MPI::BOOL, MPI::LAND);
    EXPECT(any);
    EXPECT(all == (size == 1));
    const std::complex<float> f(1, (float)rank);
    const std::complex<double> d(1, rank);
    const std::complex<long double> l(1, rank);
    std::complex<float> fs;
    std::complex<double> ds;
    std::complex<long double> ls;
    MPI::COMM_WORLD.Allreduce(&f, &fs, 1, MPI::COMPLEX, MPI::SUM);
    MPI::COMM_WORLD.Allreduce(&d, &ds, 1, MPI::DOUBLE_COMPLEX, MPI::SUM);
    MPI::COMM_WORLD.Allreduce(&l, &ls, 1, MPI::LONG_DOUBLE_COMPLEX, MPI::SUM);
    EXPECT(fs == std::complex<float>((float)size, (float)sum));
    EXPECT(ds == std::complex<double>(size, sum));
    EXPECT(ls == std::complex<long double>(size, sum));
    int own[2] = {size - rank, rank}, best[2] = {0, 0};
    MPI::COMM_WORLD.Allreduce(own, best, 1, MPI::TWOINT, MPI::MAXLOC);
    EXPECT_EQ(best[0], size);
    EXPECT_EQ(best[1], 0);

    std::vector<int> values(size, rank), counts(size, 1);
    result = -1;
    MPI::COMM_WORLD.Reduce_scatter(&values[0], &result, &counts[0], MPI::INT, MPI::SUM);
    EXPECT_EQ(result, sum);
    result = -1;
    MPI::COMM_WORLD.Reduce_scatter_block(&values[0], &result, 1, MPI::INT, MPI::SUM);
    EXPECT_EQ(result, sum);
    MPI::COMM_WORLD.Scan(&rank, &result, 1, MPI::INT, MPI::SUM);
    EXPECT_EQ(result, rank * (rank + 1) / 2);
    result = 0;
    MPI::COMM_WORLD.Exscan(&rank, &result, 1, MPI::INT, MPI::SUM);
    EXPECT_EQ(result, rank * (rank - 1) / 2);

    MPI::Op op, again, not_commutative;
    op.Init(add, true);
    again.Init(add, true);
    not_commutative.Init(&first, false);
    EXPECT(op.Is_commutative());
    EXPECT(!not_commutative.Is_commutative());
    EXPECT(op != again);
    MPI::COMM_WORLD.Allreduce(&rank, &result, 1, MPI::INT, op);
    EXPECT_EQ(result, sum);
    again.Free();
    EXPECT(again == MPI::OP_NULL);
    const int mine = 7 + rank;
    MPI::COMM_WORLD.Allreduce(&mine, &result, 1, MPI::INT, not_commutative);
    EXPECT_EQ(result, 7);
    int a = 3, b = 4;
    op.Reduce_local(&a, &b, 1, MPI::INT);
    EXPECT_EQ(b, 7);
    MPI::SUM.Reduce_local(&a, &b, 1, MPI::INT);
    EXPECT_EQ(b, 10);
    op.Free();
    not_commutative.Free();
}

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    rank = MPI::COMM_WORLD.Get_rank();
    size = MPI::COMM_WORLD.Get_size();
    movement();
    reductions();
    MPI::COMM_WORLD.Barrier();
    MPI::Finalize();
    return 0;
}
