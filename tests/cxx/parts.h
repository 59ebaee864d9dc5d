// What the two source files of the program share.
#ifndef PARTS_H
#define PARTS_H

#include <mpi.h>

MPI::Intracomm part_comm();
MPI::Op part_operation();
int part_fails(const MPI::Comm &comm);

#endif
