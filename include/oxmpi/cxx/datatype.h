/* Datatype, Op. A part of mpicxx.h. */
#ifndef OXMPI_CXX_DATATYPE_H
#define OXMPI_CXX_DATATYPE_H

#if defined __GNUC__ && !defined OXMPI_MPICXX_WARNINGS
#pragma GCC system_header
#endif

namespace MPI {

class Datatype {
    OXMPI_CXX_HANDLE(Datatype, MPI_Datatype, MPI_DATATYPE_NULL)
    typedef int Copy_attr_function(const Datatype &oldtype, int type_keyval, void *extra_state,
                                   const void *attribute_val_in, void *attribute_val_out, bool &flag);
    typedef int Delete_attr_function(Datatype &type, int type_keyval, void *attribute_val, void *extra_state);
    /* MPICH has the attribute that is copied without const. */
    typedef int Copy_attr_function_mpich(const Datatype &oldtype, int type_keyval, void *extra_state,
                                         void *attribute_val_in, void *attribute_val_out, bool &flag);

    Datatype Create_contiguous(int count) const
    {
        Datatype type;
        internal::check(MPI_Type_contiguous(count, handle_, &type.handle_));
        return type;
    }
    Datatype Create_vector(int count, int blocklength, int stride) const
    {
        Datatype type;
        internal::check(MPI_Type_vector(count, blocklength, stride, handle_, &type.handle_));
        return type;
    }
    Datatype Create_hvector(int count, int blocklength, Aint stride) const
    {
        Datatype type;
        internal::check(MPI_Type_create_hvector(count, blocklength, stride, handle_, &type.handle_));
        return type;
    }
    Datatype Create_indexed(int count, const int blocklengths[], const int displacements[]) const
    {
        Datatype type;
        internal::check(MPI_Type_indexed(count, blocklengths, displacements, handle_, &type.handle_));
        return type;
    }
    Datatype Create_hindexed(int count, const int blocklengths[], const Aint displacements[]) const
    {
        Datatype type;
        internal::check(MPI_Type_create_hindexed(count, blocklengths, displacements, handle_, &type.handle_));
        return type;
    }
    Datatype Create_indexed_block(int count, int blocklength, const int displacements[]) const
    {
        Datatype type;
        internal::check(MPI_Type_create_indexed_block(count, blocklength, displacements, handle_, &type.handle_));
        return type;
    }
    static Datatype Create_struct(int count, const int blocklengths[], const Aint displacements[],
                                  const Datatype types[])
    {
        Datatype type;
        internal::check(
            MPI_Type_create_struct(count, blocklengths, displacements, handles(types), &type.handle_));
        return type;
    }
    Datatype Create_subarray(int ndims, const int sizes[], const int subsizes[], const int starts[],
                             int order) const
    {
        Datatype type;
        internal::check(
            MPI_Type_create_subarray(ndims, sizes, subsizes, starts, order, handle_, &type.handle_));
        return type;
    }
    Datatype Create_darray(int size, int rank, int ndims, const int gsizes[], const int distribs[],
                           const int dargs[], const int psizes[], int order) const
    {
        Datatype type;
        internal::check(MPI_Type_create_darray(size, rank, ndims, gsizes, distribs, dargs, psizes, order,
                                               handle_, &type.handle_));
        return type;
    }
    Datatype Create_resized(Aint lb, Aint extent) const
    {
        Datatype type;
        internal::check(MPI_Type_create_resized(handle_, lb, extent, &type.handle_));
        return type;
    }
    Datatype Dup() const
    {
        Datatype type;
        internal::check(MPI_Type_dup(handle_, &type.handle_));
        return type;
    }
    static Datatype Create_f90_integer(int r)
    {
        Datatype type;
        internal::check(MPI_Type_create_f90_integer(r, &type.handle_));
        return type;
    }
    static Datatype Create_f90_real(int p, int r)
    {
        Datatype type;
        internal::check(MPI_Type_create_f90_real(p, r, &type.handle_));
        return type;
    }
    static Datatype Create_f90_complex(int p, int r)
    {
        Datatype type;
        internal::check(MPI_Type_create_f90_complex(p, r, &type.handle_));
        return type;
    }
    static Datatype Match_size(int typeclass, int size)
    {
        Datatype type;
        internal::check(MPI_Type_match_size(typeclass, size, &type.handle_));
        return type;
    }
    void Commit() { internal::check(MPI_Type_commit(&handle_)); }
    void Free() { internal::check(MPI_Type_free(&handle_)); }

    int Get_size() const
    {
        int size = 0;
        internal::check(MPI_Type_size(handle_, &size));
        return size;
    }
    void Get_extent(Aint &lb, Aint &extent) const { internal::check(MPI_Type_get_extent(handle_, &lb, &extent)); }
    void Get_true_extent(Aint &true_lb, Aint &true_extent) const
    {
        internal::check(MPI_Type_get_true_extent(handle_, &true_lb, &true_extent));
    }
    void Get_envelope(int &num_integers, int &num_addresses, int &num_datatypes, int &combiner) const
    {
        internal::check(
            MPI_Type_get_envelope(handle_, &num_integers, &num_addresses, &num_datatypes, &combiner));
    }
    void Get_contents(int max_integers, int max_addresses, int max_datatypes, int integers[], Aint addresses[],
                      Datatype datatypes[]) const
    {
        internal::check(MPI_Type_get_contents(handle_, max_integers, max_addresses, max_datatypes, integers,
                                              addresses, reinterpret_cast<MPI_Datatype *>(datatypes)));
    }

    inline void Pack(const void *inbuf, int incount, void *outbuf, int outsize, int &position,
                     const Comm &comm) const;
    inline void Unpack(const void *inbuf, int insize, void *outbuf, int outcount, int &position,
                       const Comm &comm) const;
    inline int Pack_size(int incount, const Comm &comm) const;
    void Pack_external(const char *datarep, const void *inbuf, int incount, void *outbuf, Aint outsize,
                       Aint &position) const
    {
        internal::check(MPI_Pack_external(datarep, inbuf, incount, handle_, outbuf, outsize, &position));
    }
    Aint Pack_external_size(const char *datarep, int incount) const
    {
        Aint size = 0;
        internal::check(MPI_Pack_external_size(datarep, incount, handle_, &size));
        return size;
    }
    void Unpack_external(const char *datarep, const void *inbuf, Aint insize, Aint &position, void *outbuf,
                         int outcount) const
    {
        internal::check(MPI_Unpack_external(datarep, inbuf, insize, &position, outbuf, outcount, handle_));
    }

    void Set_name(const char *type_name) { internal::check(MPI_Type_set_name(handle_, type_name)); }
    void Get_name(char *type_name, int &resultlen) const
    {
        internal::check(MPI_Type_get_name(handle_, type_name, &resultlen));
    }
    void Set_attr(int keyval, const void *value)
    {
        internal::check(MPI_Type_set_attr(handle_, keyval, const_cast<void *>(value)));
    }
    bool Get_attr(int keyval, void *value) const
    {
        int flag = 0;
        internal::check(MPI_Type_get_attr(handle_, keyval, value, &flag));
        return flag != 0;
    }
    void Delete_attr(int keyval) { internal::check(MPI_Type_delete_attr(handle_, keyval)); }
    static inline int Create_keyval(Copy_attr_function *copy, Delete_attr_function *del, void *extra_state);
    static inline int Create_keyval(Copy_attr_function_mpich *copy, Delete_attr_function *del, void *extra_state);
    static void Free_keyval(int &keyval) { internal::check(MPI_Type_free_keyval(&keyval)); }

    static int NULL_COPY_FN(const Datatype &, int, void *, const void *, void *, bool &flag)
    {
        flag = false;
        return MPI_SUCCESS;
    }
    static int DUP_FN(const Datatype &, int, void *, const void *value, void *copy, bool &flag)
    {
        flag = true;
        *static_cast<const void **>(copy) = value;
        return MPI_SUCCESS;
    }
    static int NULL_DELETE_FN(Datatype &, int, void *, void *) { return MPI_SUCCESS; }
    static int TYPE_NULL_COPY_FN(const Datatype &, int, void *, const void *, void *, bool &flag)
    {
        flag = false;
        return MPI_SUCCESS;
    }
    static int TYPE_DUP_FN(const Datatype &type, int keyval, void *extra, const void *value, void *copy, bool &flag)
    {
        return DUP_FN(type, keyval, extra, value, copy, flag);
    }
    static int TYPE_NULL_DELETE_FN(Datatype &, int, void *, void *) { return MPI_SUCCESS; }

    /* An array of types, for the C functions. */
    static const MPI_Datatype *handles(const Datatype types[])
    {
        return reinterpret_cast<const MPI_Datatype *>(types);
    }
};

class Op {
    OXMPI_CXX_HANDLE(Op, MPI_Op, MPI_OP_NULL)
    /* The function must be a User_function. At most 256 different ones; an operation may be made of one any number
     * of times. A template, so that only programs that call it compile what is behind it. */
    template <class Function> inline void Init(Function *function, bool commute);
    void Free() { internal::check(MPI_Op_free(&handle_)); }
    bool Is_commutative() const
    {
        int commute = 0;
        internal::check(MPI_Op_commutative(handle_, &commute));
        return commute != 0;
    }
    void Reduce_local(const void *inbuf, void *inoutbuf, int count, const Datatype &datatype) const
    {
        internal::check(MPI_Reduce_local(inbuf, inoutbuf, count, datatype, handle_));
    }
};

inline int Status::Get_count(const Datatype &datatype) const
{
    int count = MPI_UNDEFINED;
    internal::check(MPI_Get_count(&status_, datatype, &count));
    return count;
}

inline int Status::Get_elements(const Datatype &datatype) const
{
    int count = MPI_UNDEFINED;
    internal::check(MPI_Get_elements(&status_, datatype, &count));
    return count;
}

inline void Status::Set_elements(const Datatype &datatype, int count)
{
    internal::check(MPI_Status_set_elements(&status_, datatype, count));
}

} /* namespace MPI */

#endif
