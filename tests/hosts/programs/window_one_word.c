// Ranks of both hosts change one word in three ways, while its rank is in MPI, computes, or is stopped.
#define ROUNDS 50
#include "../../programs/hosts/rma_one_word.c"
