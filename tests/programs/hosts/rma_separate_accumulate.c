// ranks: 4
// launch: --pretend-hosts 3
// timeout: 120
// env: OXMPI_SINGLE_COPY=0
// cflags: -lm
// As ../rma/accumulate.c, between hosts, where memory of other processes cannot be reached: agents use the public copies.
#include "../rma/accumulate.c"
