/* Functions that belong to no class. A part of mpicxx.h. */
#ifndef OXMPI_CXX_FUNCTIONS_H
#define OXMPI_CXX_FUNCTIONS_H

#if defined __GNUC__ && !defined OXMPI_MPICXX_WARNINGS
#pragma GCC system_header
#endif

namespace MPI {

inline void Init(int &argc, char **&argv) { internal::check(MPI_Init(&argc, &argv)); }
inline void Init() { internal::check(MPI_Init(0, 0)); }
inline int Init_thread(int &argc, char **&argv, int required)
{
    int provided = MPI_THREAD_SINGLE;
    internal::check(MPI_Init_thread(&argc, &argv, required, &provided));
    return provided;
}
inline int Init_thread(int required)
{
    int provided = MPI_THREAD_SINGLE;
    internal::check(MPI_Init_thread(0, 0, required, &provided));
    return provided;
}
inline void Finalize() { internal::check(MPI_Finalize()); }
inline bool Is_initialized()
{
    int flag = 0;
    internal::check(MPI_Initialized(&flag));
    return flag != 0;
}
inline bool Is_finalized()
{
    int flag = 0;
    internal::check(MPI_Finalized(&flag));
    return flag != 0;
}
inline bool Is_thread_main()
{
    int flag = 0;
    internal::check(MPI_Is_thread_main(&flag));
    return flag != 0;
}
inline int Query_thread()
{
    int provided = MPI_THREAD_SINGLE;
    internal::check(MPI_Query_thread(&provided));
    return provided;
}

inline double Wtime() { return MPI_Wtime(); }
inline double Wtick() { return MPI_Wtick(); }
inline void Get_version(int &version, int &subversion)
{
    internal::check(MPI_Get_version(&version, &subversion));
}
inline void Get_processor_name(char *name, int &resultlen)
{
    internal::check(MPI_Get_processor_name(name, &resultlen));
}
/* The further arguments are for tools, which see the C function. */
inline void Pcontrol(const int level, ...) { internal::check(MPI_Pcontrol(level)); }

inline void Get_error_string(int errorcode, char *string, int &resultlen)
{
    internal::check(MPI_Error_string(errorcode, string, &resultlen));
}
inline int Get_error_class(int errorcode)
{
    int errorclass = MPI_ERR_UNKNOWN;
    internal::check(MPI_Error_class(errorcode, &errorclass));
    return errorclass;
}
inline int Add_error_class()
{
    int errorclass = MPI_ERR_UNKNOWN;
    internal::check(MPI_Add_error_class(&errorclass));
    return errorclass;
}
inline int Add_error_code(int errorclass)
{
    int errorcode = MPI_ERR_UNKNOWN;
    internal::check(MPI_Add_error_code(errorclass, &errorcode));
    return errorcode;
}
inline void Add_error_string(int errorcode, const char *string)
{
    internal::check(MPI_Add_error_string(errorcode, string));
}

inline void Attach_buffer(void *buffer, int size) { internal::check(MPI_Buffer_attach(buffer, size)); }
inline int Detach_buffer(void *&buffer)
{
    int size = 0;
    internal::check(MPI_Buffer_detach(&buffer, &size));
    return size;
}
inline void *Alloc_mem(Aint size, const Info &info)
{
    void *memory = 0;
    internal::check(MPI_Alloc_mem(size, info, &memory));
    return memory;
}
inline void Free_mem(void *base) { internal::check(MPI_Free_mem(base)); }
inline Aint Get_address(const void *location)
{
    Aint address = 0;
    internal::check(MPI_Get_address(location, &address));
    return address;
}
inline void Compute_dims(int nnodes, int ndims, int dims[]) { internal::check(MPI_Dims_create(nnodes, ndims, dims)); }

inline void Open_port(const Info &info, char *port_name) { internal::check(MPI_Open_port(info, port_name)); }
inline void Close_port(const char *port_name) { internal::check(MPI_Close_port(port_name)); }
inline void Publish_name(const char *service_name, const Info &info, const char *port_name)
{
    internal::check(MPI_Publish_name(service_name, info, port_name));
}
inline void Unpublish_name(const char *service_name, const Info &info, const char *port_name)
{
    internal::check(MPI_Unpublish_name(service_name, info, port_name));
}
inline void Lookup_name(const char *service_name, const Info &info, char *port_name)
{
    internal::check(MPI_Lookup_name(service_name, info, port_name));
}

/* ---- Data representations ---- */

typedef void Datarep_extent_function(const Datatype &datatype, Aint &file_extent, void *extra_state);
typedef void Datarep_conversion_function(void *userbuf, Datatype &datatype, int count, void *filebuf,
                                         Offset position, void *extra_state);
/* In MPICH the functions have a result, an error code. */
typedef int Datarep_extent_function_mpich(const Datatype &datatype, Aint &file_extent, void *extra_state);
typedef int Datarep_conversion_function_mpich(void *userbuf, Datatype &datatype, int count, void *filebuf,
                                              Offset position, void *extra_state);

namespace internal {

/* The extra state of the C functions of a representation, which exists until the program ends. One of each pair
 * of functions is used. */
struct Datarep {
    Datarep_conversion_function *read, *write;
    Datarep_extent_function *extent;
    Datarep_conversion_function_mpich *read_mpich, *write_mpich;
    Datarep_extent_function_mpich *extent_mpich;
    void *extra_state;
    Datarep *next;
};
inline Datarep *&newest_datarep()
{
    static Datarep *first;
    return first;
}

inline int datarep_extent(MPI_Datatype handle, MPI_Aint *extent, void *state)
{
    const Datarep *datarep = static_cast<const Datarep *>(state);
    if (datarep->extent_mpich)
        return datarep->extent_mpich(Datatype(handle), *extent, datarep->extra_state);
    datarep->extent(Datatype(handle), *extent, datarep->extra_state);
    return MPI_SUCCESS;
}
inline int datarep_read(void *userbuf, MPI_Datatype handle, int count, void *filebuf, MPI_Offset position,
                        void *state)
{
    const Datarep *datarep = static_cast<const Datarep *>(state);
    Datatype type(handle);
    if (datarep->read_mpich)
        return datarep->read_mpich(userbuf, type, count, filebuf, position, datarep->extra_state);
    datarep->read(userbuf, type, count, filebuf, position, datarep->extra_state);
    return MPI_SUCCESS;
}
inline int datarep_write(void *userbuf, MPI_Datatype handle, int count, void *filebuf, MPI_Offset position,
                         void *state)
{
    const Datarep *datarep = static_cast<const Datarep *>(state);
    Datatype type(handle);
    if (datarep->write_mpich)
        return datarep->write_mpich(userbuf, type, count, filebuf, position, datarep->extra_state);
    datarep->write(userbuf, type, count, filebuf, position, datarep->extra_state);
    return MPI_SUCCESS;
}
inline void register_datarep(const char *name, const Datarep &functions)
{
    Datarep *datarep = new Datarep(functions);
    datarep->next = newest_datarep();
    newest_datarep() = datarep;
    const bool reads = datarep->read || datarep->read_mpich, writes = datarep->write || datarep->write_mpich;
    check(MPI_Register_datarep(name, reads ? datarep_read : MPI_CONVERSION_FN_NULL,
                               writes ? datarep_write : MPI_CONVERSION_FN_NULL, datarep_extent, datarep));
}

} /* namespace internal */

inline void Register_datarep(const char *datarep, Datarep_conversion_function *read_conversion_fn,
                             Datarep_conversion_function *write_conversion_fn,
                             Datarep_extent_function *dtype_file_extent_fn, void *extra_state)
{
    const internal::Datarep functions = {
        read_conversion_fn, write_conversion_fn, dtype_file_extent_fn, 0, 0, 0, extra_state, 0};
    internal::register_datarep(datarep, functions);
}
inline void Register_datarep(const char *datarep, Datarep_conversion_function_mpich *read_conversion_fn,
                             Datarep_conversion_function_mpich *write_conversion_fn,
                             Datarep_extent_function_mpich *dtype_file_extent_fn, void *extra_state)
{
    const internal::Datarep functions = {
        0, 0, 0, read_conversion_fn, write_conversion_fn, dtype_file_extent_fn, extra_state, 0};
    internal::register_datarep(datarep, functions);
}

} /* namespace MPI */

#endif
