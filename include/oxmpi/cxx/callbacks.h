/* Functions of the program, with C++ signatures, behind functions that C can call. A part of mpicxx.h. */
#ifndef OXMPI_CXX_CALLBACKS_H
#define OXMPI_CXX_CALLBACKS_H

#if defined __GNUC__ && !defined OXMPI_MPICXX_WARNINGS
#pragma GCC system_header
#endif

namespace MPI {

namespace internal {

/* ---- Functions that get no pointer of their own: reductions and error handlers ---- */

/* Each function of the program gets one place, and keeps it: MPI does not say when it is used for the last time. */
template <class Function, int Most> struct Places {
    static Function *at[Most];

    /* The place of a function, or -1 when there is none left. */
    static int of(Function *function)
    {
        for (int place = 0; place < Most; place++) {
            Function *before = __sync_val_compare_and_swap(&at[place], static_cast<Function *>(0), function);
            if (before == 0 || before == function)
                return place;
        }
        return -1;
    }
};
template <class Function, int Most> Function *Places<Function, Most>::at[Most];

enum { most_operations = 256, most_handlers = 64 };

template <int N>
inline void call_operation(void *invec, void *inoutvec, int *len, MPI_Datatype *datatype)
{
    Places<User_function, most_operations>::at[N](invec, inoutvec, *len, Datatype(*datatype));
}

/* Calls a function with the object of the class that a communicator has. */
template <class Called> inline int with_comm(MPI_Comm handle, const Called &called)
{
    int is_inter = 0, topology = MPI_UNDEFINED;
    if (handle != MPI_COMM_NULL) {
        MPI_Comm_test_inter(handle, &is_inter);
        if (!is_inter)
            MPI_Topo_test(handle, &topology);
    }
    if (is_inter) {
        Intercomm comm(handle);
        return called(comm);
    }
    if (topology == MPI_CART) {
        Cartcomm comm(handle);
        return called(comm);
    }
    if (topology == MPI_GRAPH) {
        Graphcomm comm(handle);
        return called(comm);
    }
    if (topology == MPI_DIST_GRAPH) {
        Distgraphcomm comm(handle);
        return called(comm);
    }
    Intracomm comm(handle);
    return called(comm);
}

struct Comm_error {
    Comm::Errhandler_function *function;
    int *code;
    int operator()(Comm &comm) const
    {
        function(comm, code);
        return MPI_SUCCESS;
    }
};

template <int N> inline void comm_failed(MPI_Comm *comm, int *code, ...)
{
    const Comm_error called = {Places<Comm::Errhandler_function, most_handlers>::at[N], code};
    with_comm(*comm, called);
}
template <int N> inline void win_failed(MPI_Win *handle, int *code, ...)
{
    Win win(*handle);
    Places<Win::Errhandler_function, most_handlers>::at[N](win, code);
}
template <int N> inline void file_failed(MPI_File *handle, int *code, ...)
{
    File file(*handle);
    Places<File::Errhandler_function, most_handlers>::at[N](file, code);
}

#define OXMPI_CXX_4(f, n) f<(n)>, f<(n) + 1>, f<(n) + 2>, f<(n) + 3>
#define OXMPI_CXX_16(f, n) OXMPI_CXX_4(f, n), OXMPI_CXX_4(f, n + 4), OXMPI_CXX_4(f, n + 8), OXMPI_CXX_4(f, n + 12)
#define OXMPI_CXX_64(f, n) \
    OXMPI_CXX_16(f, n), OXMPI_CXX_16(f, n + 16), OXMPI_CXX_16(f, n + 32), OXMPI_CXX_16(f, n + 48)

/* The C functions of all places, by the type of the function of the program. */
template <class Function> struct Tables {
    static MPI_User_function *operation(int place)
    {
        static MPI_User_function *const all[most_operations] = {
            OXMPI_CXX_64(call_operation, 0), OXMPI_CXX_64(call_operation, 64), OXMPI_CXX_64(call_operation, 128),
            OXMPI_CXX_64(call_operation, 192)};
        return all[place];
    }
    static MPI_Comm_errhandler_function *comm_handler(int place)
    {
        static MPI_Comm_errhandler_function *const all[most_handlers] = {OXMPI_CXX_64(comm_failed, 0)};
        return all[place];
    }
    static MPI_Win_errhandler_function *win_handler(int place)
    {
        static MPI_Win_errhandler_function *const all[most_handlers] = {OXMPI_CXX_64(win_failed, 0)};
        return all[place];
    }
    static MPI_File_errhandler_function *file_handler(int place)
    {
        static MPI_File_errhandler_function *const all[most_handlers] = {OXMPI_CXX_64(file_failed, 0)};
        return all[place];
    }
};

#undef OXMPI_CXX_4
#undef OXMPI_CXX_16
#undef OXMPI_CXX_64

/* Reports that there is no place left, as an error of MPI_COMM_SELF. */
inline void too_many(const char *text)
{
    int code = MPI_ERR_OTHER;
    MPI_Add_error_code(MPI_ERR_OTHER, &code);
    MPI_Add_error_string(code, text);
    MPI_Comm_call_errhandler(MPI_COMM_SELF, code);
    failed(code);
}

/* ---- Attributes ---- */

/* What a key has as the extra state of its C functions. It stays as long as the program runs: attributes may
 * outlive their key, and MPI does not say when the last one goes. */
template <class Copy, class Delete> struct Attribute_functions {
    Attribute_functions(Copy *copy_fn, Delete *delete_fn, void *extra)
        : copy(copy_fn), del(delete_fn), extra_state(extra), next(newest())
    {
        newest() = this;
    }
    /* All of them, so that tools which look for lost memory see that they are not lost. */
    static Attribute_functions *&newest()
    {
        static Attribute_functions *first;
        return first;
    }
    Copy *copy;
    Delete *del;
    void *extra_state;
    Attribute_functions *next;
};

typedef Attribute_functions<Comm::Copy_attr_function, Comm::Delete_attr_function> Comm_functions;
typedef Attribute_functions<Win::Copy_attr_function, Win::Delete_attr_function> Win_functions;

struct Comm_copy {
    const Comm_functions *functions;
    int keyval;
    void *in, *out;
    int *flag;
    int operator()(Comm &comm) const
    {
        bool is_copied = false;
        const int code = functions->copy(comm, keyval, functions->extra_state, in, out, is_copied);
        *flag = is_copied ? 1 : 0;
        return code;
    }
};
struct Comm_delete {
    const Comm_functions *functions;
    int keyval;
    void *value;
    int operator()(Comm &comm) const { return functions->del(comm, keyval, value, functions->extra_state); }
};

inline int copy_comm_attribute(MPI_Comm comm, int keyval, void *state, void *in, void *out, int *flag)
{
    const Comm_copy called = {static_cast<const Comm_functions *>(state), keyval, in, out, flag};
    return with_comm(comm, called);
}
inline int delete_comm_attribute(MPI_Comm comm, int keyval, void *value, void *state)
{
    const Comm_delete called = {static_cast<const Comm_functions *>(state), keyval, value};
    return with_comm(comm, called);
}

template <class Functions>
inline int copy_type_attribute(MPI_Datatype handle, int keyval, void *state, void *in, void *out, int *flag)
{
    const Functions *functions = static_cast<const Functions *>(state);
    bool is_copied = false;
    const int code = functions->copy(Datatype(handle), keyval, functions->extra_state, in, out, is_copied);
    *flag = is_copied ? 1 : 0;
    return code;
}
template <class Functions> inline int delete_type_attribute(MPI_Datatype handle, int keyval, void *value, void *state)
{
    const Functions *functions = static_cast<const Functions *>(state);
    Datatype type(handle);
    return functions->del(type, keyval, value, functions->extra_state);
}
template <class Copy> inline int new_type_key(Copy *copy, Datatype::Delete_attr_function *del, void *extra_state)
{
    typedef Attribute_functions<Copy, Datatype::Delete_attr_function> Functions;
    int keyval = MPI_KEYVAL_INVALID;
    check(MPI_Type_create_keyval(copy_type_attribute<Functions>, delete_type_attribute<Functions>, &keyval,
                                 new Functions(copy, del, extra_state)));
    return keyval;
}

inline int copy_win_attribute(MPI_Win win, int keyval, void *state, void *in, void *out, int *flag)
{
    const Win_functions *functions = static_cast<const Win_functions *>(state);
    bool is_copied = false;
    const int code = functions->copy(Win(win), keyval, functions->extra_state, in, out, is_copied);
    *flag = is_copied ? 1 : 0;
    return code;
}
inline int delete_win_attribute(MPI_Win handle, int keyval, void *value, void *state)
{
    const Win_functions *functions = static_cast<const Win_functions *>(state);
    Win win(handle);
    return functions->del(win, keyval, value, functions->extra_state);
}

} /* namespace internal */

template <class Function> inline void Op::Init(Function *function, bool commute)
{
    User_function *const user_function = function;
    const int place = internal::Places<User_function, internal::most_operations>::of(user_function);
    if (place < 0)
        return internal::too_many("MPI::Op::Init: a program can have at most 256 different functions");
    internal::check(MPI_Op_create(internal::Tables<Function>::operation(place), commute ? 1 : 0, &handle_));
}

template <class Function> inline Errhandler Comm::Create_errhandler(Function *function)
{
    Errhandler_function *const user_function = function;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    const int place = internal::Places<Errhandler_function, internal::most_handlers>::of(user_function);
    if (place < 0)
        internal::too_many("MPI::Comm::Create_errhandler: a program can have at most 64 different functions");
    else
        internal::check(
            MPI_Comm_create_errhandler(internal::Tables<Function>::comm_handler(place), &handler));
    return handler;
}

template <class Function> inline Errhandler Comm::Errhandler_create(Function *function)
{
    return Create_errhandler(function);
}

template <class Function> inline Errhandler Win::Create_errhandler(Function *function)
{
    Errhandler_function *const user_function = function;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    const int place = internal::Places<Errhandler_function, internal::most_handlers>::of(user_function);
    if (place < 0)
        internal::too_many("MPI::Win::Create_errhandler: a program can have at most 64 different functions");
    else
        internal::check(
            MPI_Win_create_errhandler(internal::Tables<Function>::win_handler(place), &handler));
    return handler;
}

template <class Function> inline Errhandler File::Create_errhandler(Function *function)
{
    Errhandler_function *const user_function = function;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    const int place = internal::Places<Errhandler_function, internal::most_handlers>::of(user_function);
    if (place < 0)
        internal::too_many("MPI::File::Create_errhandler: a program can have at most 64 different functions");
    else
        internal::check(
            MPI_File_create_errhandler(internal::Tables<Function>::file_handler(place), &handler));
    return handler;
}

inline int Comm::Create_keyval(Copy_attr_function *copy, Delete_attr_function *del, void *extra_state)
{
    int keyval = MPI_KEYVAL_INVALID;
    internal::check(MPI_Comm_create_keyval(internal::copy_comm_attribute, internal::delete_comm_attribute, &keyval,
                                           new internal::Comm_functions(copy, del, extra_state)));
    return keyval;
}

inline int Comm::Keyval_create(Copy_attr_function *copy, Delete_attr_function *del, void *extra_state)
{
    return Create_keyval(copy, del, extra_state);
}

inline int Datatype::Create_keyval(Copy_attr_function *copy, Delete_attr_function *del, void *extra_state)
{
    return internal::new_type_key(copy, del, extra_state);
}

inline int Datatype::Create_keyval(Copy_attr_function_mpich *copy, Delete_attr_function *del, void *extra_state)
{
    return internal::new_type_key(copy, del, extra_state);
}

inline int Win::Create_keyval(Copy_attr_function *copy, Delete_attr_function *del, void *extra_state)
{
    int keyval = MPI_KEYVAL_INVALID;
    internal::check(MPI_Win_create_keyval(internal::copy_win_attribute, internal::delete_win_attribute, &keyval,
                                          new internal::Win_functions(copy, del, extra_state)));
    return keyval;
}

} /* namespace MPI */

#endif
