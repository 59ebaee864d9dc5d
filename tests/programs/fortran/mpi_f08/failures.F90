! ranks: 2 4
! launch: --with-ft ulfm
! expect-stderr: was killed by signal 9
! no-valgrind: a rank is killed
! A rank dies, and the others go on.
#define BY_MPI_F08
#include "../bodies/failures.inc"
