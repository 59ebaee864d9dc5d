/* What together.c and the three plugins know of each other: objects go from one to another as integers of Fortran. */
#ifndef PLUGIN_H
#define PLUGIN_H

/* The objects that a plugin makes, one of each kind. */
enum { COMM, DATATYPE, INT, OP, LATE_OP, GROUP, INFO, ERRHANDLER, REQUEST, WIN, FILE_, SESSION, MADE };

/* The most predefined handles that a plugin lists. */
enum { PREDEFINED = 64 };

struct plugin {
    const char *abi;
    int (*start)(void); /* initializes MPI unless another plugin has, and returns the rank */
    void (*end)(void);
    int (*list_predefined)(int *integers);              /* returns their number */
    const char *(*check_predefined)(const int *theirs); /* null, or the name of one that is another handle here */
    void (*make)(int *made, const char *file);
    const char *(*use)(int *made); /* null, or what went wrong */
    void (*release)(int *made);
    int (*fired)(void); /* how often functions of this plugin were called with right arguments, since it was asked last */
};

/* Functions of a plugin that using and releasing its objects calls: the error handler, the copy and the delete function of an
 * attribute, the delete function again for the copy, the three of a generalized request but cancel, and those of a data
 * representation: for writing, for reading, and for extents. How often reductions and extents are asked for is not fixed. */
enum { CALLS = 8 };

/* Functions that MPI_Finalize calls: the delete function of an attribute of MPI_COMM_SELF. */
enum { CALLS_AT_END = 1 };

#endif
