! ranks: 1 2 5
! cflags: -fdefault-integer-8
! INTEGERs of eight bytes: long values, pairs, large counts, and what does not fit.
#define BY_MPI_F08
#include "../bodies/long_integers.inc"
