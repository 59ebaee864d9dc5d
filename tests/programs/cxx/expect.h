// What the programs of the C++ interface share: a check that names the place and both values.
#ifndef EXPECT_H
#define EXPECT_H

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define EXPECT(condition)                                                                                     \
    do {                                                                                                      \
        if (!(condition)) expect_failed(__FILE__, __LINE__, "not true: " #condition);                         \
    } while (0)

#define EXPECT_EQ(a, b)                                                                                       \
    do {                                                                                                      \
        const long long a_ = (long long)(a), b_ = (long long)(b);                                             \
        char text_[512];                                                                                      \
        std::snprintf(text_, sizeof text_, "%s is %lld, not %s = %lld", #a, a_, #b, b_);                       \
        if (a_ != b_) expect_failed(__FILE__, __LINE__, text_);                                               \
    } while (0)

// The call throws an exception of this class, whose text is not empty.
#define EXPECT_THROWS(call, expected)                                                                         \
    do {                                                                                                      \
        int class_ = MPI::SUCCESS;                                                                            \
        try {                                                                                                 \
            call;                                                                                             \
        } catch (const MPI::Exception &exception) {                                                           \
            class_ = exception.Get_error_class();                                                             \
            EXPECT(std::strlen(exception.Get_error_string()) > 0);                                            \
            EXPECT_EQ(MPI::Get_error_class(exception.Get_error_code()), class_);                              \
        }                                                                                                     \
        EXPECT_EQ(class_, expected);                                                                          \
    } while (0)

inline void expect_failed(const char *file, int line, const char *what)
{
    std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
    if (MPI::Is_initialized() && !MPI::Is_finalized())
        MPI::COMM_WORLD.Abort(1);
    std::exit(1);
}

#endif
