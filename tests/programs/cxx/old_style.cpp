// ranks: 1 2 4
// expect-stdout: pi is 3.1416
// A program as people wrote them with MPI-2: `using namespace`, the constants without const, a function that takes
// a communicator by reference, SEEK_SET of both kinds, and the macros of other headers.
#include <sys/param.h>
#define Status int // as Xlib.h does
#define BOOL int
#include <mpi.h>
#undef Status
#undef BOOL
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <vector>
using namespace std;

struct Work {
    MPI::Intracomm comm;
    MPI::Datatype type;
    MPI::Request request;
    Work(MPI::Intracomm &c) : comm(c), type(MPI::DOUBLE) {}
};

static double share(MPI::Comm &comm, int n)
{
    double h = 1.0 / n, sum = 0;
    for (int i = comm.Get_rank() + 1; i <= n; i += comm.Get_size()) {
        double x = h * (i - 0.5);
        sum += 4.0 / (1.0 + x * x);
    }
    return h * sum;
}

int main(int argc, char *argv[])
{
    MPI::Init(argc, argv);
    int rank = MPI::COMM_WORLD.Get_rank();
    int size = MPI::COMM_WORLD.Get_size();
    int n = 10000;
    MPI::COMM_WORLD.Bcast(&n, 1, MPI::INT, 0);
    Work work(MPI::COMM_WORLD);
    double mine = share(work.comm, n), pi = 0;
    work.comm.Reduce(&mine, &pi, 1, work.type, MPI::SUM, 0);
    if (rank == 0) cout << "pi is " << setprecision(5) << pi << endl;

    vector<double> all(size);
    MPI::Status status;
    if (rank == 0) {
        for (int i = 1; i < size; i++) {
            double part;
            MPI::COMM_WORLD.Recv(&part, 1, MPI::DOUBLE, MPI::ANY_SOURCE, MPI::ANY_TAG, status);
            all[status.Get_source()] = part;
        }
        all[0] = mine;
    } else {
        work.request = MPI::COMM_WORLD.Isend(&mine, 1, MPI::DOUBLE, 0, rank);
        work.request.Wait(status);
    }
    if (rank == 0) {
        double sum = 0;
        for (int i = 0; i < size; i++) sum += all[i];
        if (fabs(sum - pi) > 1e-9) MPI::COMM_WORLD.Abort(3);
        if (MAX(1, 2) != 2 || SEEK_SET != 0) MPI::COMM_WORLD.Abort(4);
    }
    MPI::Finalize();
    return 0;
}
