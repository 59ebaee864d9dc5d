// ranks: 4 8
// launch: --pretend-nodes 3:cyclic
// As ../topology/dist_graph.c, on several nodes.
#include "../topology/dist_graph.c"
