/* Group. A part of mpicxx.h. */
#ifndef OXMPI_CXX_GROUP_H
#define OXMPI_CXX_GROUP_H

#if defined __GNUC__ && !defined OXMPI_MPICXX_WARNINGS
#pragma GCC system_header
#endif

namespace MPI {

class Group {
    OXMPI_CXX_HANDLE(Group, MPI_Group, MPI_GROUP_NULL)
    int Get_size() const
    {
        int size = 0;
        internal::check(MPI_Group_size(handle_, &size));
        return size;
    }
    int Get_rank() const
    {
        int rank = MPI_UNDEFINED;
        internal::check(MPI_Group_rank(handle_, &rank));
        return rank;
    }
    static void Translate_ranks(const Group &group1, int n, const int ranks1[], const Group &group2, int ranks2[])
    {
        internal::check(MPI_Group_translate_ranks(group1.handle_, n, ranks1, group2.handle_, ranks2));
    }
    static int Compare(const Group &group1, const Group &group2)
    {
        int result = MPI_UNEQUAL;
        internal::check(MPI_Group_compare(group1.handle_, group2.handle_, &result));
        return result;
    }
    static Group Union(const Group &group1, const Group &group2)
    {
        Group group;
        internal::check(MPI_Group_union(group1.handle_, group2.handle_, &group.handle_));
        return group;
    }
    static Group Intersect(const Group &group1, const Group &group2)
    {
        Group group;
        internal::check(MPI_Group_intersection(group1.handle_, group2.handle_, &group.handle_));
        return group;
    }
    static Group Difference(const Group &group1, const Group &group2)
    {
        Group group;
        internal::check(MPI_Group_difference(group1.handle_, group2.handle_, &group.handle_));
        return group;
    }
    Group Incl(int n, const int ranks[]) const
    {
        Group group;
        internal::check(MPI_Group_incl(handle_, n, ranks, &group.handle_));
        return group;
    }
    Group Excl(int n, const int ranks[]) const
    {
        Group group;
        internal::check(MPI_Group_excl(handle_, n, ranks, &group.handle_));
        return group;
    }
    /* The C functions read the ranges, although their parameter is not const. */
    Group Range_incl(int n, const int ranges[][3]) const
    {
        Group group;
        internal::check(MPI_Group_range_incl(handle_, n, const_cast<int(*)[3]>(ranges), &group.handle_));
        return group;
    }
    Group Range_excl(int n, const int ranges[][3]) const
    {
        Group group;
        internal::check(MPI_Group_range_excl(handle_, n, const_cast<int(*)[3]>(ranges), &group.handle_));
        return group;
    }
    void Free() { internal::check(MPI_Group_free(&handle_)); }
};

} /* namespace MPI */

#endif
