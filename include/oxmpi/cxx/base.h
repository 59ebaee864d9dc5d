/* What all classes use: the shape of a handle, and errors. A part of mpicxx.h. */
#ifndef OXMPI_CXX_BASE_H
#define OXMPI_CXX_BASE_H

#if defined __GNUC__ && !defined OXMPI_MPICXX_WARNINGS
#pragma GCC system_header
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Constants are initialised by the compiler where the language allows it. */
#if __cplusplus >= 201103L
#define OXMPI_CXX_CONSTEXPR constexpr
#else
#define OXMPI_CXX_CONSTEXPR
#endif

/* A predefined object: of the program, or, before C++17, of each source file. */
#if __cplusplus >= 201703L
#define OXMPI_CXX_OBJECT inline
#else
#define OXMPI_CXX_OBJECT __attribute__((unused)) static
#endif

/* Programs may be compiled with -fno-exceptions. */
#if defined __cpp_exceptions || defined __EXCEPTIONS
#define OXMPI_CXX_HAS_EXCEPTIONS 1
#endif

/* The members that all classes with a handle have. An object has nothing but the handle, so an array of objects
 * is an array of handles. Copies are copies of the handle; a destructor frees nothing. The number is there for the
 * predefined objects: an object made of one is initialised before the program runs. */
#define OXMPI_CXX_HANDLE(Class, Handle, Null)                                                                \
public:                                                                                                      \
    Class() : handle_(Null) {}                                                                               \
    OXMPI_CXX_CONSTEXPR Class(internal::Number number) : number_(number.value) {}                            \
    OXMPI_CXX_CONSTEXPR Class(Handle handle) : handle_(handle) {}                                            \
    Class &operator=(Handle handle)                                                                          \
    {                                                                                                        \
        handle_ = handle;                                                                                    \
        return *this;                                                                                        \
    }                                                                                                        \
    operator Handle() const { return handle_; }                                                              \
    bool operator==(const Class &other) const { return handle_ == other.handle_; }                           \
    bool operator!=(const Class &other) const { return handle_ != other.handle_; }                           \
    bool operator==(Handle other) const { return handle_ == other; }                                         \
    bool operator!=(Handle other) const { return handle_ != other; }                                         \
                                                                                                             \
protected:                                                                                                   \
    union {                                                                                                  \
        MPI_Aint number_;                                                                                    \
        Handle handle_;                                                                                      \
    };                                                                                                       \
                                                                                                             \
public:

namespace MPI {

typedef MPI_Aint Aint;
typedef MPI_Offset Offset;
typedef MPI_Fint Fint;

class Comm;
class Intracomm;
class Intercomm;
class Group;
class Datatype;
class Op;
class Request;
class Status;
class Errhandler;
class Info;
class Win;
class File;

/* No names for programs. */
namespace internal {

/* The number of a predefined handle. */
struct Number {
    OXMPI_CXX_CONSTEXPR explicit Number(MPI_Aint number) : value(number) {}
    MPI_Aint value;
};

} /* namespace internal */

typedef void User_function(const void *invec, void *inoutvec, int len, const Datatype &datatype);

/* What a call throws when its error handler is ERRORS_THROW_EXCEPTIONS. */
class Exception {
public:
    Exception(int error_code) : code_(error_code), class_(MPI_ERR_UNKNOWN)
    {
        int length = 0;
        text_[0] = '\0';
        MPI_Error_class(error_code, &class_);
        if (MPI_Error_string(error_code, text_, &length) != MPI_SUCCESS)
            text_[0] = '\0';
    }
    int Get_error_code() const { return code_; }
    int Get_error_class() const { return class_; }
    const char *Get_error_string() const { return text_; }

private:
    int code_;
    int class_;
    char text_[MPI_MAX_ERROR_STRING];
};

namespace internal {

/* The error that the handler ERRORS_THROW_EXCEPTIONS was called with, in this thread. The handler cannot throw:
 * between it and the program is the library. The C++ function throws when it gets the code from the library. */
inline int &error_to_throw()
{
    static __thread int code;
    return code;
}

inline void failed(int code)
{
    const int to_throw = error_to_throw();
    /* For MPI_ERR_IN_STATUS the handler gets the code of the first request that has failed. */
    if (to_throw == MPI_SUCCESS || (to_throw != code && code != MPI_ERR_IN_STATUS))
        return; /* The error handler has done what the program wants to be done. */
    error_to_throw() = MPI_SUCCESS;
#ifdef OXMPI_CXX_HAS_EXCEPTIONS
    throw Exception(code);
#else
    const Exception exception(code);
    fprintf(stderr, "MPI::Exception in a program without exceptions: %s\n", exception.Get_error_string());
    abort();
#endif
}

/* Every function of this interface passes the result of the C function to this one. */
inline void check(int code)
{
    if (code != MPI_SUCCESS)
        failed(code);
}

/* The C handler behind ERRORS_THROW_EXCEPTIONS. */
template <class Handle> inline void keep_error(Handle *, int *code, ...)
{
    error_to_throw() = *code;
}

/* ERRORS_THROW_EXCEPTIONS exists before MPI_Init; the C handlers behind it are made when they are needed. */
#define OXMPI_CXX_THROWS 1

inline MPI_Errhandler throws()
{
    return reinterpret_cast<MPI_Errhandler>(static_cast<MPI_Aint>(OXMPI_CXX_THROWS));
}

inline MPI_Errhandler new_comm_handler()
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    check(MPI_Comm_create_errhandler(keep_error<MPI_Comm>, &handler));
    return handler;
}
inline MPI_Errhandler new_win_handler()
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    check(MPI_Win_create_errhandler(keep_error<MPI_Win>, &handler));
    return handler;
}
inline MPI_Errhandler new_file_handler()
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    check(MPI_File_create_errhandler(keep_error<MPI_File>, &handler));
    return handler;
}
inline MPI_Errhandler throwing_comm_handler()
{
    static const MPI_Errhandler handler = new_comm_handler();
    return handler;
}
inline MPI_Errhandler throwing_win_handler()
{
    static const MPI_Errhandler handler = new_win_handler();
    return handler;
}
inline MPI_Errhandler throwing_file_handler()
{
    static const MPI_Errhandler handler = new_file_handler();
    return handler;
}

/* The logical values of C, from those of C++ and back. */
class Flags {
public:
    explicit Flags(int count) : count_(count > 0 ? count : 0), values_(count_ > few ? new int[count_] : own_) {}
    Flags(int count, const bool flags[]) : count_(count > 0 ? count : 0), values_(count_ > few ? new int[count_] : own_)
    {
        for (int i = 0; i < count_; i++)
            values_[i] = flags[i] ? 1 : 0;
    }
    ~Flags()
    {
        if (values_ != own_)
            delete[] values_;
    }
    int *values() { return values_; }
    void copy_to(bool flags[], int count) const
    {
        for (int i = 0; i < count && i < count_; i++)
            flags[i] = values_[i] != 0;
    }

private:
    Flags(const Flags &);
    Flags &operator=(const Flags &);
    enum { few = 16 };
    int count_;
    int own_[few];
    int *values_;
};

} /* namespace internal */

class Errhandler {
    OXMPI_CXX_HANDLE(Errhandler, MPI_Errhandler, MPI_ERRHANDLER_NULL)
    void Free()
    {
        /* The three C handlers stay: other objects may use them. */
        if (number_ == OXMPI_CXX_THROWS)
            handle_ = MPI_ERRHANDLER_NULL;
        else
            internal::check(MPI_Errhandler_free(&handle_));
    }
};

class Info {
    OXMPI_CXX_HANDLE(Info, MPI_Info, MPI_INFO_NULL)
    static Info Create()
    {
        Info info;
        internal::check(MPI_Info_create(&info.handle_));
        return info;
    }
    Info Dup() const
    {
        Info info;
        internal::check(MPI_Info_dup(handle_, &info.handle_));
        return info;
    }
    void Free() { internal::check(MPI_Info_free(&handle_)); }
    void Set(const char *key, const char *value) { internal::check(MPI_Info_set(handle_, key, value)); }
    void Delete(const char *key) { internal::check(MPI_Info_delete(handle_, key)); }
    bool Get(const char *key, int valuelen, char *value) const
    {
        int flag = 0;
        internal::check(MPI_Info_get(handle_, key, valuelen, value, &flag));
        return flag != 0;
    }
    bool Get_valuelen(const char *key, int &valuelen) const
    {
        int flag = 0;
        internal::check(MPI_Info_get_valuelen(handle_, key, &valuelen, &flag));
        return flag != 0;
    }
    int Get_nkeys() const
    {
        int nkeys = 0;
        internal::check(MPI_Info_get_nkeys(handle_, &nkeys));
        return nkeys;
    }
    void Get_nthkey(int n, char *key) const { internal::check(MPI_Info_get_nthkey(handle_, n, key)); }
};

} /* namespace MPI */

#endif
