/* Win. A part of mpicxx.h. */
#ifndef OXMPI_CXX_WIN_H
#define OXMPI_CXX_WIN_H

#if defined __GNUC__ && !defined OXMPI_MPICXX_WARNINGS
#pragma GCC system_header
#endif

namespace MPI {

class Win {
    OXMPI_CXX_HANDLE(Win, MPI_Win, MPI_WIN_NULL)
    typedef int Copy_attr_function(const Win &oldwin, int win_keyval, void *extra_state, void *attribute_val_in,
                                   void *attribute_val_out, bool &flag);
    typedef int Delete_attr_function(Win &win, int win_keyval, void *attribute_val, void *extra_state);
    typedef void Errhandler_function(Win &win, int *error_code, ...);
    typedef Errhandler_function Errhandler_fn;

    static Win Create(const void *base, Aint size, int disp_unit, const Info &info, const Intracomm &comm)
    {
        Win win;
        internal::check(
            MPI_Win_create(const_cast<void *>(base), size, disp_unit, info, comm, &win.handle_));
        return win;
    }
    void Free() { internal::check(MPI_Win_free(&handle_)); }
    Group Get_group() const
    {
        MPI_Group group = MPI_GROUP_NULL;
        internal::check(MPI_Win_get_group(handle_, &group));
        return group;
    }

    void Put(const void *origin_addr, int origin_count, const Datatype &origin_datatype, int target_rank,
             Aint target_disp, int target_count, const Datatype &target_datatype) const
    {
        internal::check(MPI_Put(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                                target_count, target_datatype, handle_));
    }
    void Get(void *origin_addr, int origin_count, const Datatype &origin_datatype, int target_rank,
             Aint target_disp, int target_count, const Datatype &target_datatype) const
    {
        internal::check(MPI_Get(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                                target_count, target_datatype, handle_));
    }
    void Accumulate(const void *origin_addr, int origin_count, const Datatype &origin_datatype, int target_rank,
                    Aint target_disp, int target_count, const Datatype &target_datatype, const Op &op) const
    {
        internal::check(MPI_Accumulate(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                                       target_count, target_datatype, op, handle_));
    }

    void Fence(int assert) const { internal::check(MPI_Win_fence(assert, handle_)); }
    void Start(const Group &group, int assert) const { internal::check(MPI_Win_start(group, assert, handle_)); }
    void Complete() const { internal::check(MPI_Win_complete(handle_)); }
    void Post(const Group &group, int assert) const { internal::check(MPI_Win_post(group, assert, handle_)); }
    void Wait() const { internal::check(MPI_Win_wait(handle_)); }
    bool Test() const
    {
        int flag = 0;
        internal::check(MPI_Win_test(handle_, &flag));
        return flag != 0;
    }
    void Lock(int lock_type, int rank, int assert) const
    {
        internal::check(MPI_Win_lock(lock_type, rank, assert, handle_));
    }
    void Unlock(int rank) const { internal::check(MPI_Win_unlock(rank, handle_)); }

    void Set_name(const char *win_name) { internal::check(MPI_Win_set_name(handle_, win_name)); }
    void Get_name(char *win_name, int &resultlen) const
    {
        internal::check(MPI_Win_get_name(handle_, win_name, &resultlen));
    }
    void Set_attr(int keyval, const void *value)
    {
        internal::check(MPI_Win_set_attr(handle_, keyval, const_cast<void *>(value)));
    }
    bool Get_attr(int keyval, void *value) const
    {
        int flag = 0;
        internal::check(MPI_Win_get_attr(handle_, keyval, value, &flag));
        return flag != 0;
    }
    void Delete_attr(int keyval) { internal::check(MPI_Win_delete_attr(handle_, keyval)); }
    static inline int Create_keyval(Copy_attr_function *copy, Delete_attr_function *del, void *extra_state);
    static void Free_keyval(int &keyval) { internal::check(MPI_Win_free_keyval(&keyval)); }

    static int NULL_COPY_FN(const Win &, int, void *, void *, void *, bool &flag)
    {
        flag = false;
        return MPI_SUCCESS;
    }
    static int DUP_FN(const Win &, int, void *, void *value, void *copy, bool &flag)
    {
        flag = true;
        *static_cast<void **>(copy) = value;
        return MPI_SUCCESS;
    }
    static int NULL_DELETE_FN(Win &, int, void *, void *) { return MPI_SUCCESS; }
    static int WIN_NULL_COPY_FN(const Win &, int, void *, void *, void *, bool &flag)
    {
        flag = false;
        return MPI_SUCCESS;
    }
    static int WIN_DUP_FN(const Win &win, int keyval, void *extra, void *value, void *copy, bool &flag)
    {
        return DUP_FN(win, keyval, extra, value, copy, flag);
    }
    static int WIN_NULL_DELETE_FN(Win &, int, void *, void *) { return MPI_SUCCESS; }

    /* The function must be an Errhandler_function; a template, as Op::Init. */
    template <class Function> static inline Errhandler Create_errhandler(Function *function);
    void Set_errhandler(const Errhandler &errhandler) const
    {
        const bool throws = errhandler == internal::throws();
        const MPI_Errhandler handler = throws ? internal::throwing_win_handler() : MPI_Errhandler(errhandler);
        internal::check(MPI_Win_set_errhandler(handle_, handler));
    }
    Errhandler Get_errhandler() const
    {
        MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
        internal::check(MPI_Win_get_errhandler(handle_, &handler));
        if (handler != internal::throwing_win_handler())
            return handler;
        internal::check(MPI_Errhandler_free(&handler));
        return internal::throws();
    }
    void Call_errhandler(int errorcode) const
    {
        internal::check(MPI_Win_call_errhandler(handle_, errorcode));
        internal::failed(errorcode);
    }
};

} /* namespace MPI */

#endif
