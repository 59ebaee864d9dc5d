// ranks: 6
// launch: --pretend-nodes 3,1,2:cyclic
// args: 012020
// As layout.c, with the ranks dealt to the nodes one by one.
#include "layout.c"
