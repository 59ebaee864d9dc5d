// What a C++ program of Open MPI's removed bindings has in itself, by hand: classes with a virtual table and a handle, constants that
// the linker copies into the program, and functions that it imports from libmpi_cxx.so.40.
#include <mpi.h>
#include <stdio.h>

namespace MPI {
class Datatype {
  public:
    explicit Datatype(MPI_Datatype given) : handle(given) {}
    virtual ~Datatype() {}
    virtual int Get_size() const {
        int size;
        MPI_Type_size(handle, &size);
        return size;
    }
    void Free();
    MPI_Datatype handle;
};
class Comm_Null {
  public:
    virtual ~Comm_Null() {}
    MPI_Comm handle;
};
class Comm : public Comm_Null {
  public:
    Comm();
    Comm(const Comm_Null &other);
    virtual int Get_size() const = 0;
};
class Intracomm : public Comm {
  public:
    explicit Intracomm(const Comm_Null &other) : Comm(other) {}
    Intracomm() {}
    virtual int Get_size() const {
        int size;
        MPI_Comm_size(handle, &size);
        return size;
    }
};
class Op {
  public:
    virtual ~Op() {}
    MPI_Op handle;
};
class Win {
  public:
    virtual ~Win() {}
    void Free();
    MPI_Win handle;
};
typedef void User_function(const void *, void *, int, const Datatype &);
void InitializeIntercepts();
extern const Datatype DOUBLE;
extern const Datatype INT;
extern const Op SUM;
extern Intracomm COMM_WORLD;
extern void *const IN_PLACE;
} // namespace MPI

extern "C" {
void ompi_mpi_cxx_op_intercept(void *, void *, int *, MPI_Datatype *, MPI_User_function *);
void ompi_op_set_cxx_callback(MPI_Op, MPI_User_function *);
}

static void twice_the_sum(const void *in, void *inout, int length, const MPI::Datatype &type) {
    for (int i = 0; i < length; i++) ((double *)inout)[i] = 2 * (((double *)inout)[i] + ((const double *)in)[i]);
    if (type.Get_size() != 8) fprintf(stderr, "the type of the reduction has another size\n");
}

static void product(const void *in, void *inout, int length, const MPI::Datatype &) {
    for (int i = 0; i < length; i++) ((double *)inout)[i] *= ((const double *)in)[i];
}

static MPI_Op operation(MPI::User_function *function) {
    MPI_Op op;
    MPI_Op_create((MPI_User_function *)ompi_mpi_cxx_op_intercept, 1, &op);
    ompi_op_set_cxx_callback(op, (MPI_User_function *)function);
    return op;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI::InitializeIntercepts();
    MPI::Comm &world = MPI::COMM_WORLD;
    const MPI::Datatype &type = MPI::DOUBLE;
    // Through the virtual tables of the constants.
    int size = world.Get_size(), rank, failed = type.Get_size() != 8;
    MPI_Comm_rank(world.handle, &rank);
    MPI::Intracomm none, copy(MPI::COMM_WORLD);
    failed += none.handle != MPI_COMM_NULL || copy.handle != MPI_COMM_WORLD || MPI::INT.handle != MPI_INT;
    MPI_Op op = operation(twice_the_sum), other = operation(product);
    double in = 3, inout = 4, sum = rank;
    MPI_Reduce_local(&in, &inout, 1, type.handle, op);
    failed += inout != 14;
    MPI_Reduce_local(&in, &inout, 1, type.handle, other);
    failed += inout != 42;
    MPI_Allreduce(MPI::IN_PLACE, &sum, 1, type.handle, MPI::SUM.handle, world.handle);
    failed += sum != size * (size - 1) / 2.0;
    MPI_Op_free(&op);
    MPI_Op_free(&other);
    MPI::Datatype pair(MPI_DATATYPE_NULL);
    MPI_Type_contiguous(2, type.handle, &pair.handle);
    pair.Free();
    MPI::Win win;
    MPI_Win_create(&in, sizeof in, 1, MPI_INFO_NULL, world.handle, &win.handle);
    win.Free();
    failed += pair.handle != MPI_DATATYPE_NULL || win.handle != MPI_WIN_NULL;
    printf("%d failed\n", failed);
    MPI_Finalize();
    return failed != 0;
}
