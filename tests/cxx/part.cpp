// A second source file of the program in program.cpp, with objects that are initialised before main.
#include "parts.h"

static MPI::Intracomm early = MPI::COMM_WORLD;
static MPI::Datatype early_type = MPI::DOUBLE;

MPI::Intracomm part_comm()
{
    return early == MPI::COMM_WORLD && early_type == MPI::DOUBLE ? early : MPI::Intracomm(MPI::COMM_NULL);
}

static void product(const void *in, void *inout, int length, const MPI::Datatype &)
{
    for (int i = 0; i < length; i++)
        static_cast<double *>(inout)[i] *= static_cast<const double *>(in)[i];
}

MPI::Op part_operation()
{
    MPI::Op op;
    op.Init(product, true);
    return op;
}

int part_fails(const MPI::Comm &comm)
{
    int code = MPI::SUCCESS;
#ifdef OXMPI_CXX_HAS_EXCEPTIONS
    try {
        comm.Send(0, 0, MPI::BYTE, comm.Get_size(), 0);
    } catch (const MPI::Exception &exception) {
        code = exception.Get_error_class();
    }
#else
    code = comm.Get_size() > 0 ? MPI::ERR_RANK : MPI::SUCCESS;
#endif
    return code;
}
