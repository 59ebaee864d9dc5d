! ranks: 1 2 3 8
! Files: every procedure, and what is in the file afterwards.
#define BY_MPI
#include "../bodies/files.inc"
