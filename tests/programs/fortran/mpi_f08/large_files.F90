! ranks: 1 2 3 8
! Files: every procedure, and what is in the file afterwards; counts of the wide kind.
#define BY_MPI_F08
#define LARGE
#include "../bodies/files.inc"
