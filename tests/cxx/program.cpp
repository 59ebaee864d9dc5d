// A program of two source files: constants, operations and exceptions go from one to the other.
#include "parts.h"

static void sum(const void *in, void *inout, int length, const MPI::Datatype &)
{
    for (int i = 0; i < length; i++)
        static_cast<double *>(inout)[i] += static_cast<const double *>(in)[i];
}

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    const int size = MPI::COMM_WORLD.Get_size();
    int wrong = part_comm() != MPI::COMM_WORLD;
    MPI::Op adds, multiplies = part_operation();
    adds.Init(sum, true);
    double two = 2, total = 0, power = 0;
    MPI::COMM_WORLD.Allreduce(&two, &total, 1, MPI::DOUBLE, adds);
    MPI::COMM_WORLD.Allreduce(&two, &power, 1, MPI::DOUBLE, multiplies);
    wrong += total != 2.0 * size;
    wrong += power != static_cast<double>(1 << size);
    MPI::COMM_WORLD.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    wrong += part_fails(MPI::COMM_WORLD) != MPI::ERR_RANK;
    adds.Free();
    multiplies.Free();
    MPI::Finalize();
    return wrong;
}
