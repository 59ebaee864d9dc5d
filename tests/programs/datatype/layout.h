// What the datatype programs share: the bounds of a type in one check, and packing as a list of numbers.
#ifndef LAYOUT_H
#define LAYOUT_H

#include "../check.h"

// Size, lower bound, extent, true lower bound and true extent, asked in every way there is.
#define CHECK_BOUNDS(type, size_, lb_, extent_, true_lb_, true_extent_) \
    do { \
        int s_ = -1; \
        MPI_Count sc_ = -1, low_ = -1, wide_ = -1; \
        MPI_Aint lo_ = -1, ex_ = -1; \
        OK(MPI_Type_size(type, &s_)); \
        CHECK_EQ(s_, size_); \
        OK(MPI_Type_size_c(type, &sc_)); \
        CHECK_EQ(sc_, size_); \
        sc_ = -1; \
        OK(MPI_Type_size_x(type, &sc_)); \
        CHECK_EQ(sc_, size_); \
        OK(MPI_Type_get_extent(type, &lo_, &ex_)); \
        CHECK_EQ(lo_, lb_); \
        CHECK_EQ(ex_, extent_); \
        OK(MPI_Type_get_extent_c(type, &low_, &wide_)); \
        CHECK_EQ(low_, lb_); \
        CHECK_EQ(wide_, extent_); \
        low_ = wide_ = -1; \
        OK(MPI_Type_get_extent_x(type, &low_, &wide_)); \
        CHECK_EQ(low_, lb_); \
        CHECK_EQ(wide_, extent_); \
        OK(MPI_Type_get_true_extent(type, &lo_, &ex_)); \
        CHECK_EQ(lo_, true_lb_); \
        CHECK_EQ(ex_, true_extent_); \
        low_ = wide_ = -1; \
        OK(MPI_Type_get_true_extent_c(type, &low_, &wide_)); \
        CHECK_EQ(low_, true_lb_); \
        CHECK_EQ(wide_, true_extent_); \
        low_ = wide_ = -1; \
        OK(MPI_Type_get_true_extent_x(type, &low_, &wide_)); \
        CHECK_EQ(low_, true_lb_); \
        CHECK_EQ(wide_, true_extent_); \
    } while (0)

// One element of a type made of ints, packed from an array in which each int is its own index, holds these indices.
#define CHECK_INTS(type, ...) \
    do { \
        const int want_[] = {__VA_ARGS__}; \
        enum { N_ = sizeof want_ / sizeof want_[0] }; \
        int from_[256], got_[N_ + 1], position_ = 0; \
        for (int i_ = 0; i_ < 256; i_++) from_[i_] = i_ - 64; \
        got_[N_] = -12345; \
        OK(MPI_Pack(from_ + 64, 1, type, got_, (int)sizeof got_, &position_, MPI_COMM_SELF)); \
        CHECK_EQ(position_, (int)sizeof want_); \
        for (int i_ = 0; i_ < N_; i_++) \
            if (got_[i_] != want_[i_]) CHECK_FAIL("entry %d of %s is %d, not %d", i_, #type, got_[i_], want_[i_]); \
        CHECK_EQ(got_[N_], -12345); \
    } while (0)

CHECK_UNUSED static MPI_Datatype committed(MPI_Datatype type) {
    OK(MPI_Type_commit(&type));
    return type;
}

#endif
