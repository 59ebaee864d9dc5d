/* mpicxx.h of OxMPI: the C++ interface of MPI-2.2, over the C functions of mpi.h. MPI-3 removed it from the
 * standard; programs that use it compile with this header, and need no other library.
 *
 * mpi.h includes it for C++ unless one of these is defined: OXMPI_SKIP_MPICXX, MPICH_SKIP_MPICXX,
 * OMPI_SKIP_MPICXX, MPI_SKIP_CXX. A program that does not use it does not pay for it: nothing here runs before
 * main (since C++11), and nothing is compiled that is not called.
 */
#ifndef OXMPI_MPICXX_H
#define OXMPI_MPICXX_H

/* Programs with more warnings than this header was written for see none of it. The tests compile it without. */
#if defined __GNUC__ && !defined OXMPI_MPICXX_WARNINGS
#pragma GCC system_header
#endif

#include <mpi.h>

/* Names of this interface that other headers (Xlib.h, sys/param.h, windows) define as macros. They are restored
 * at the end. */
#pragma push_macro("Status")
#pragma push_macro("Bool")
#pragma push_macro("BOOL")
#pragma push_macro("BYTE")
#pragma push_macro("CHAR")
#pragma push_macro("CHARACTER")
#pragma push_macro("COMPLEX")
#pragma push_macro("DOUBLE")
#pragma push_macro("FLOAT")
#pragma push_macro("IDENT")
#pragma push_macro("INT")
#pragma push_macro("INTEGER")
#pragma push_macro("LB")
#pragma push_macro("LOGICAL")
#pragma push_macro("LONG")
#pragma push_macro("MAX")
#pragma push_macro("MIN")
#pragma push_macro("OFFSET")
#pragma push_macro("REAL")
#pragma push_macro("ROOT")
#pragma push_macro("SHORT")
#pragma push_macro("SUM")
#pragma push_macro("UNSIGNED")
#pragma push_macro("VERSION")
#undef Status
#undef Bool
#undef BOOL
#undef BYTE
#undef CHAR
#undef CHARACTER
#undef COMPLEX
#undef DOUBLE
#undef FLOAT
#undef IDENT
#undef INT
#undef INTEGER
#undef LB
#undef LOGICAL
#undef LONG
#undef MAX
#undef MIN
#undef OFFSET
#undef REAL
#undef ROOT
#undef SHORT
#undef SUM
#undef UNSIGNED
#undef VERSION

/* The constants of mpi.h are C. */
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#if defined __clang__ || __GNUC__ >= 5
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#endif
#endif

/* Some programs include mpi.h inside of extern "C". */
extern "C++" {

#include "oxmpi/cxx/base.h"
#include "oxmpi/cxx/request.h"
#include "oxmpi/cxx/datatype.h"
#include "oxmpi/cxx/group.h"
#include "oxmpi/cxx/comm.h"
#include "oxmpi/cxx/intracomm.h"
#include "oxmpi/cxx/topology.h"
#include "oxmpi/cxx/win.h"
#include "oxmpi/cxx/file.h"
#include "oxmpi/cxx/callbacks.h"
#include "oxmpi/cxx/functions.h"
#include "oxmpi/cxx/constants.h"

}

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

#pragma pop_macro("Status")
#pragma pop_macro("Bool")
#pragma pop_macro("BOOL")
#pragma pop_macro("BYTE")
#pragma pop_macro("CHAR")
#pragma pop_macro("CHARACTER")
#pragma pop_macro("COMPLEX")
#pragma pop_macro("DOUBLE")
#pragma pop_macro("FLOAT")
#pragma pop_macro("IDENT")
#pragma pop_macro("INT")
#pragma pop_macro("INTEGER")
#pragma pop_macro("LB")
#pragma pop_macro("LOGICAL")
#pragma pop_macro("LONG")
#pragma pop_macro("MAX")
#pragma pop_macro("MIN")
#pragma pop_macro("OFFSET")
#pragma pop_macro("REAL")
#pragma pop_macro("ROOT")
#pragma pop_macro("SHORT")
#pragma pop_macro("SUM")
#pragma pop_macro("UNSIGNED")
#pragma pop_macro("VERSION")

#endif /* OXMPI_MPICXX_H */
