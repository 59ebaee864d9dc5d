// ranks: 6
// launch: --pretend-nodes 3,1,2:cyclic
// args: 012020
// As layout.c, with ranks assigned to the nodes cyclically.
#include "layout.c"
