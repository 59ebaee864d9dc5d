/* File. A part of mpicxx.h. */
#ifndef OXMPI_CXX_FILE_H
#define OXMPI_CXX_FILE_H

#if defined __GNUC__ && !defined OXMPI_MPICXX_WARNINGS
#pragma GCC system_header
#endif

namespace MPI {

/* The forms of an access: with and without a status, at an offset or not, complete, or with a request. `Buf` is
 * the type of the buffer. */
#define OXMPI_CXX_ACCESS(Name, c_name, Buf)                                                                  \
    void Name(Buf buf, int count, const Datatype &datatype) const                                            \
    {                                                                                                        \
        internal::check(c_name(handle_, buf, count, datatype, MPI_STATUS_IGNORE));                           \
    }                                                                                                        \
    void Name(Buf buf, int count, const Datatype &datatype, Status &status) const                            \
    {                                                                                                        \
        internal::check(c_name(handle_, buf, count, datatype, status.c_status()));                           \
    }
#define OXMPI_CXX_ACCESS_AT(Name, c_name, Buf)                                                               \
    void Name(Offset offset, Buf buf, int count, const Datatype &datatype) const                             \
    {                                                                                                        \
        internal::check(c_name(handle_, offset, buf, count, datatype, MPI_STATUS_IGNORE));                   \
    }                                                                                                        \
    void Name(Offset offset, Buf buf, int count, const Datatype &datatype, Status &status) const             \
    {                                                                                                        \
        internal::check(c_name(handle_, offset, buf, count, datatype, status.c_status()));                   \
    }
#define OXMPI_CXX_START(Name, c_name, Buf)                                                                   \
    Request Name(Buf buf, int count, const Datatype &datatype) const                                         \
    {                                                                                                        \
        MPI_Request request = MPI_REQUEST_NULL;                                                              \
        internal::check(c_name(handle_, buf, count, datatype, &request));                                    \
        return request;                                                                                      \
    }
#define OXMPI_CXX_START_AT(Name, c_name, Buf)                                                                \
    Request Name(Offset offset, Buf buf, int count, const Datatype &datatype) const                          \
    {                                                                                                        \
        MPI_Request request = MPI_REQUEST_NULL;                                                              \
        internal::check(c_name(handle_, offset, buf, count, datatype, &request));                            \
        return request;                                                                                      \
    }
#define OXMPI_CXX_BEGIN(Name, c_name, Buf)                                                                   \
    void Name(Buf buf, int count, const Datatype &datatype) const                                            \
    {                                                                                                        \
        internal::check(c_name(handle_, buf, count, datatype));                                              \
    }
#define OXMPI_CXX_BEGIN_AT(Name, c_name, Buf)                                                                \
    void Name(Offset offset, Buf buf, int count, const Datatype &datatype) const                             \
    {                                                                                                        \
        internal::check(c_name(handle_, offset, buf, count, datatype));                                      \
    }
#define OXMPI_CXX_END(Name, c_name, Buf)                                                                     \
    void Name(Buf buf) const { internal::check(c_name(handle_, buf, MPI_STATUS_IGNORE)); }                   \
    void Name(Buf buf, Status &status) const { internal::check(c_name(handle_, buf, status.c_status())); }

class File {
    OXMPI_CXX_HANDLE(File, MPI_File, MPI_FILE_NULL)
    typedef void Errhandler_function(File &file, int *error_code, ...);
    typedef Errhandler_function Errhandler_fn;

    static File Open(const Intracomm &comm, const char *filename, int amode, const Info &info)
    {
        File file;
        internal::check(MPI_File_open(comm, filename, amode, info, &file.handle_));
        return file;
    }
    void Close() { internal::check(MPI_File_close(&handle_)); }
    static void Delete(const char *filename, const Info &info) { internal::check(MPI_File_delete(filename, info)); }

    void Set_size(Offset size) const { internal::check(MPI_File_set_size(handle_, size)); }
    void Preallocate(Offset size) const { internal::check(MPI_File_preallocate(handle_, size)); }
    Offset Get_size() const
    {
        Offset size = 0;
        internal::check(MPI_File_get_size(handle_, &size));
        return size;
    }
    Group Get_group() const
    {
        MPI_Group group = MPI_GROUP_NULL;
        internal::check(MPI_File_get_group(handle_, &group));
        return group;
    }
    int Get_amode() const
    {
        int amode = 0;
        internal::check(MPI_File_get_amode(handle_, &amode));
        return amode;
    }
    void Set_info(const Info &info) const { internal::check(MPI_File_set_info(handle_, info)); }
    Info Get_info() const
    {
        MPI_Info info = MPI_INFO_NULL;
        internal::check(MPI_File_get_info(handle_, &info));
        return info;
    }
    void Set_view(Offset disp, const Datatype &etype, const Datatype &filetype, const char *datarep,
                  const Info &info) const
    {
        internal::check(MPI_File_set_view(handle_, disp, etype, filetype, datarep, info));
    }
    void Get_view(Offset &disp, Datatype &etype, Datatype &filetype, char *datarep) const
    {
        MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
        internal::check(MPI_File_get_view(handle_, &disp, &types[0], &types[1], datarep));
        etype = types[0];
        filetype = types[1];
    }

    OXMPI_CXX_ACCESS_AT(Read_at, MPI_File_read_at, void *)
    OXMPI_CXX_ACCESS_AT(Read_at_all, MPI_File_read_at_all, void *)
    OXMPI_CXX_ACCESS_AT(Write_at, MPI_File_write_at, const void *)
    OXMPI_CXX_ACCESS_AT(Write_at_all, MPI_File_write_at_all, const void *)
    OXMPI_CXX_START_AT(Iread_at, MPI_File_iread_at, void *)
    OXMPI_CXX_START_AT(Iwrite_at, MPI_File_iwrite_at, const void *)
    OXMPI_CXX_BEGIN_AT(Read_at_all_begin, MPI_File_read_at_all_begin, void *)
    OXMPI_CXX_BEGIN_AT(Write_at_all_begin, MPI_File_write_at_all_begin, const void *)
    OXMPI_CXX_END(Read_at_all_end, MPI_File_read_at_all_end, void *)
    OXMPI_CXX_END(Write_at_all_end, MPI_File_write_at_all_end, const void *)

    OXMPI_CXX_ACCESS(Read, MPI_File_read, void *)
    OXMPI_CXX_ACCESS(Read_all, MPI_File_read_all, void *)
    OXMPI_CXX_ACCESS(Write, MPI_File_write, const void *)
    OXMPI_CXX_ACCESS(Write_all, MPI_File_write_all, const void *)
    OXMPI_CXX_START(Iread, MPI_File_iread, void *)
    OXMPI_CXX_START(Iwrite, MPI_File_iwrite, const void *)
    OXMPI_CXX_BEGIN(Read_all_begin, MPI_File_read_all_begin, void *)
    OXMPI_CXX_BEGIN(Write_all_begin, MPI_File_write_all_begin, const void *)
    OXMPI_CXX_END(Read_all_end, MPI_File_read_all_end, void *)
    OXMPI_CXX_END(Write_all_end, MPI_File_write_all_end, const void *)

    OXMPI_CXX_ACCESS(Read_shared, MPI_File_read_shared, void *)
    OXMPI_CXX_ACCESS(Write_shared, MPI_File_write_shared, const void *)
    OXMPI_CXX_START(Iread_shared, MPI_File_iread_shared, void *)
    OXMPI_CXX_START(Iwrite_shared, MPI_File_iwrite_shared, const void *)
    OXMPI_CXX_ACCESS(Read_ordered, MPI_File_read_ordered, void *)
    OXMPI_CXX_ACCESS(Write_ordered, MPI_File_write_ordered, const void *)
    OXMPI_CXX_BEGIN(Read_ordered_begin, MPI_File_read_ordered_begin, void *)
    OXMPI_CXX_BEGIN(Write_ordered_begin, MPI_File_write_ordered_begin, const void *)
    OXMPI_CXX_END(Read_ordered_end, MPI_File_read_ordered_end, void *)
    OXMPI_CXX_END(Write_ordered_end, MPI_File_write_ordered_end, const void *)

    void Seek(Offset offset, int whence) const { internal::check(MPI_File_seek(handle_, offset, whence)); }
    void Seek_shared(Offset offset, int whence) const
    {
        internal::check(MPI_File_seek_shared(handle_, offset, whence));
    }
    Offset Get_position() const
    {
        Offset offset = 0;
        internal::check(MPI_File_get_position(handle_, &offset));
        return offset;
    }
    Offset Get_position_shared() const
    {
        Offset offset = 0;
        internal::check(MPI_File_get_position_shared(handle_, &offset));
        return offset;
    }
    Offset Get_byte_offset(const Offset disp) const
    {
        Offset offset = 0;
        internal::check(MPI_File_get_byte_offset(handle_, disp, &offset));
        return offset;
    }
    Aint Get_type_extent(const Datatype &datatype) const
    {
        Aint extent = 0;
        internal::check(MPI_File_get_type_extent(handle_, datatype, &extent));
        return extent;
    }
    void Set_atomicity(bool flag) const { internal::check(MPI_File_set_atomicity(handle_, flag ? 1 : 0)); }
    bool Get_atomicity() const
    {
        int flag = 0;
        internal::check(MPI_File_get_atomicity(handle_, &flag));
        return flag != 0;
    }
    void Sync() const { internal::check(MPI_File_sync(handle_)); }

    /* The function must be an Errhandler_function; a template, as Op::Init. */
    template <class Function> static inline Errhandler Create_errhandler(Function *function);
    void Set_errhandler(const Errhandler &errhandler) const
    {
        const bool throws = errhandler == internal::throws();
        const MPI_Errhandler handler = throws ? internal::throwing_file_handler() : MPI_Errhandler(errhandler);
        internal::check(MPI_File_set_errhandler(handle_, handler));
    }
    Errhandler Get_errhandler() const
    {
        MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
        internal::check(MPI_File_get_errhandler(handle_, &handler));
        if (handler != internal::throwing_file_handler())
            return handler;
        internal::check(MPI_Errhandler_free(&handler));
        return internal::throws();
    }
    void Call_errhandler(int errorcode) const
    {
        internal::check(MPI_File_call_errhandler(handle_, errorcode));
        internal::failed(errorcode);
    }
};

#undef OXMPI_CXX_ACCESS
#undef OXMPI_CXX_ACCESS_AT
#undef OXMPI_CXX_START
#undef OXMPI_CXX_START_AT
#undef OXMPI_CXX_BEGIN
#undef OXMPI_CXX_BEGIN_AT
#undef OXMPI_CXX_END

} /* namespace MPI */

#endif
