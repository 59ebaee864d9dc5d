// The target computes for ten seconds; what others do with its memory takes a moment.
#include "../../programs/hosts/rma_no_help.c"
