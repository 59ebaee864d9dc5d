/* Comm: what all communicators have. A part of mpicxx.h. */
#ifndef OXMPI_CXX_COMM_H
#define OXMPI_CXX_COMM_H

#if defined __GNUC__ && !defined OXMPI_MPICXX_WARNINGS
#pragma GCC system_header
#endif

namespace MPI {

/* The destructor is not virtual: it has nothing to do in any class, and so COMM_WORLD needs no call of a
 * destructor at the end of the program. */
class Comm {
public:
    typedef int Copy_attr_function(const Comm &oldcomm, int comm_keyval, void *extra_state, void *attribute_val_in,
                                   void *attribute_val_out, bool &flag);
    typedef int Delete_attr_function(Comm &comm, int comm_keyval, void *attribute_val, void *extra_state);
    typedef void Errhandler_function(Comm &comm, int *error_code, ...);
    typedef Errhandler_function Errhandler_fn;

    operator MPI_Comm() const { return handle_; }
    bool operator==(const Comm &other) const { return handle_ == other.handle_; }
    bool operator!=(const Comm &other) const { return handle_ != other.handle_; }
    bool operator==(MPI_Comm other) const { return handle_ == other; }
    bool operator!=(MPI_Comm other) const { return handle_ != other; }

    /* ---- Messages ---- */

#define OXMPI_CXX_SEND(Name, c_name)                                                                         \
    void Name(const void *buf, int count, const Datatype &datatype, int dest, int tag) const                 \
    {                                                                                                        \
        internal::check(c_name(buf, count, datatype, dest, tag, handle_));                                   \
    }
#define OXMPI_CXX_START(Type, Name, c_name)                                                                  \
    Type Name(const void *buf, int count, const Datatype &datatype, int dest, int tag) const                 \
    {                                                                                                        \
        MPI_Request request = MPI_REQUEST_NULL;                                                              \
        internal::check(c_name(buf, count, datatype, dest, tag, handle_, &request));                         \
        return request;                                                                                      \
    }
    OXMPI_CXX_SEND(Send, MPI_Send)
    OXMPI_CXX_SEND(Bsend, MPI_Bsend)
    OXMPI_CXX_SEND(Ssend, MPI_Ssend)
    OXMPI_CXX_SEND(Rsend, MPI_Rsend)
    OXMPI_CXX_START(Request, Isend, MPI_Isend)
    OXMPI_CXX_START(Request, Ibsend, MPI_Ibsend)
    OXMPI_CXX_START(Request, Issend, MPI_Issend)
    OXMPI_CXX_START(Request, Irsend, MPI_Irsend)
    OXMPI_CXX_START(Prequest, Send_init, MPI_Send_init)
    OXMPI_CXX_START(Prequest, Bsend_init, MPI_Bsend_init)
    OXMPI_CXX_START(Prequest, Ssend_init, MPI_Ssend_init)
    OXMPI_CXX_START(Prequest, Rsend_init, MPI_Rsend_init)
#undef OXMPI_CXX_SEND
#undef OXMPI_CXX_START

    void Recv(void *buf, int count, const Datatype &datatype, int source, int tag) const
    {
        internal::check(MPI_Recv(buf, count, datatype, source, tag, handle_, MPI_STATUS_IGNORE));
    }
    void Recv(void *buf, int count, const Datatype &datatype, int source, int tag, Status &status) const
    {
        internal::check(MPI_Recv(buf, count, datatype, source, tag, handle_, status.c_status()));
    }
    Request Irecv(void *buf, int count, const Datatype &datatype, int source, int tag) const
    {
        MPI_Request request = MPI_REQUEST_NULL;
        internal::check(MPI_Irecv(buf, count, datatype, source, tag, handle_, &request));
        return request;
    }
    Prequest Recv_init(void *buf, int count, const Datatype &datatype, int source, int tag) const
    {
        MPI_Request request = MPI_REQUEST_NULL;
        internal::check(MPI_Recv_init(buf, count, datatype, source, tag, handle_, &request));
        return request;
    }
    bool Iprobe(int source, int tag) const { return iprobe(source, tag, MPI_STATUS_IGNORE); }
    bool Iprobe(int source, int tag, Status &status) const { return iprobe(source, tag, status.c_status()); }
    void Probe(int source, int tag) const { internal::check(MPI_Probe(source, tag, handle_, MPI_STATUS_IGNORE)); }
    void Probe(int source, int tag, Status &status) const
    {
        internal::check(MPI_Probe(source, tag, handle_, status.c_status()));
    }
    void Sendrecv(const void *sendbuf, int sendcount, const Datatype &sendtype, int dest, int sendtag,
                  void *recvbuf, int recvcount, const Datatype &recvtype, int source, int recvtag) const
    {
        internal::check(MPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                                     source, recvtag, handle_, MPI_STATUS_IGNORE));
    }
    void Sendrecv(const void *sendbuf, int sendcount, const Datatype &sendtype, int dest, int sendtag,
                  void *recvbuf, int recvcount, const Datatype &recvtype, int source, int recvtag,
                  Status &status) const
    {
        internal::check(MPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                                     source, recvtag, handle_, status.c_status()));
    }
    void Sendrecv_replace(void *buf, int count, const Datatype &datatype, int dest, int sendtag, int source,
                          int recvtag) const
    {
        internal::check(MPI_Sendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, handle_,
                                             MPI_STATUS_IGNORE));
    }
    void Sendrecv_replace(void *buf, int count, const Datatype &datatype, int dest, int sendtag, int source,
                          int recvtag, Status &status) const
    {
        internal::check(MPI_Sendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, handle_,
                                             status.c_status()));
    }

    /* ---- Collective operations ---- */

    void Barrier() const { internal::check(MPI_Barrier(handle_)); }
    void Bcast(void *buffer, int count, const Datatype &datatype, int root) const
    {
        internal::check(MPI_Bcast(buffer, count, datatype, root, handle_));
    }
    void Gather(const void *sendbuf, int sendcount, const Datatype &sendtype, void *recvbuf, int recvcount,
                const Datatype &recvtype, int root) const
    {
        internal::check(
            MPI_Gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, handle_));
    }
    void Gatherv(const void *sendbuf, int sendcount, const Datatype &sendtype, void *recvbuf,
                 const int recvcounts[], const int displs[], const Datatype &recvtype, int root) const
    {
        internal::check(
            MPI_Gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, handle_));
    }
    void Scatter(const void *sendbuf, int sendcount, const Datatype &sendtype, void *recvbuf, int recvcount,
                 const Datatype &recvtype, int root) const
    {
        internal::check(
            MPI_Scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, handle_));
    }
    void Scatterv(const void *sendbuf, const int sendcounts[], const int displs[], const Datatype &sendtype,
                  void *recvbuf, int recvcount, const Datatype &recvtype, int root) const
    {
        internal::check(
            MPI_Scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, handle_));
    }
    void Allgather(const void *sendbuf, int sendcount, const Datatype &sendtype, void *recvbuf, int recvcount,
                   const Datatype &recvtype) const
    {
        internal::check(MPI_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, handle_));
    }
    void Allgatherv(const void *sendbuf, int sendcount, const Datatype &sendtype, void *recvbuf,
                    const int recvcounts[], const int displs[], const Datatype &recvtype) const
    {
        internal::check(
            MPI_Allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, handle_));
    }
    void Alltoall(const void *sendbuf, int sendcount, const Datatype &sendtype, void *recvbuf, int recvcount,
                  const Datatype &recvtype) const
    {
        internal::check(MPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, handle_));
    }
    void Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], const Datatype &sendtype,
                   void *recvbuf, const int recvcounts[], const int rdispls[], const Datatype &recvtype) const
    {
        internal::check(MPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                                      recvtype, handle_));
    }
    void Alltoallw(const void *sendbuf, const int sendcounts[], const int sdispls[], const Datatype sendtypes[],
                   void *recvbuf, const int recvcounts[], const int rdispls[], const Datatype recvtypes[]) const
    {
        internal::check(MPI_Alltoallw(sendbuf, sendcounts, sdispls, Datatype::handles(sendtypes), recvbuf,
                                      recvcounts, rdispls, Datatype::handles(recvtypes), handle_));
    }
    void Reduce(const void *sendbuf, void *recvbuf, int count, const Datatype &datatype, const Op &op,
                int root) const
    {
        internal::check(MPI_Reduce(sendbuf, recvbuf, count, datatype, op, root, handle_));
    }
    void Allreduce(const void *sendbuf, void *recvbuf, int count, const Datatype &datatype, const Op &op) const
    {
        internal::check(MPI_Allreduce(sendbuf, recvbuf, count, datatype, op, handle_));
    }
    void Reduce_scatter(const void *sendbuf, void *recvbuf, int recvcounts[], const Datatype &datatype,
                        const Op &op) const
    {
        internal::check(MPI_Reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, handle_));
    }
    void Reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[], const Datatype &datatype,
                        const Op &op) const
    {
        internal::check(MPI_Reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, handle_));
    }
    void Reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount, const Datatype &datatype,
                              const Op &op) const
    {
        internal::check(MPI_Reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, handle_));
    }

    /* ---- The communicator ---- */

    inline Group Get_group() const;
    int Get_size() const
    {
        int size = 0;
        internal::check(MPI_Comm_size(handle_, &size));
        return size;
    }
    int Get_rank() const
    {
        int rank = MPI_UNDEFINED;
        internal::check(MPI_Comm_rank(handle_, &rank));
        return rank;
    }
    static int Compare(const Comm &comm1, const Comm &comm2)
    {
        int result = MPI_UNEQUAL;
        internal::check(MPI_Comm_compare(comm1.handle_, comm2.handle_, &result));
        return result;
    }
    bool Is_inter() const
    {
        int flag = 0;
        internal::check(MPI_Comm_test_inter(handle_, &flag));
        return flag != 0;
    }
    int Get_topology() const
    {
        int status = MPI_UNDEFINED;
        internal::check(MPI_Topo_test(handle_, &status));
        return status;
    }
    /* A duplicate in an object made with new, for programs that do not know the class of the communicator. */
    virtual Comm &Clone() const = 0;
    void Free() { internal::check(MPI_Comm_free(&handle_)); }
    void Disconnect() { internal::check(MPI_Comm_disconnect(&handle_)); }
    void Abort(int errorcode) const { MPI_Abort(handle_, errorcode); }
    static inline Intercomm Get_parent();
    static inline Intercomm Join(const int fd);

    void Set_name(const char *comm_name) { internal::check(MPI_Comm_set_name(handle_, comm_name)); }
    void Get_name(char *comm_name, int &resultlen) const
    {
        internal::check(MPI_Comm_get_name(handle_, comm_name, &resultlen));
    }

    void Set_attr(int keyval, const void *value) const
    {
        internal::check(MPI_Comm_set_attr(handle_, keyval, const_cast<void *>(value)));
    }
    bool Get_attr(int keyval, void *value) const
    {
        int flag = 0;
        internal::check(MPI_Comm_get_attr(handle_, keyval, value, &flag));
        return flag != 0;
    }
    void Delete_attr(int keyval) const { internal::check(MPI_Comm_delete_attr(handle_, keyval)); }
    static inline int Create_keyval(Copy_attr_function *copy, Delete_attr_function *del, void *extra_state);
    static void Free_keyval(int &keyval) { internal::check(MPI_Comm_free_keyval(&keyval)); }

    static int NULL_COPY_FN(const Comm &, int, void *, void *, void *, bool &flag)
    {
        flag = false;
        return MPI_SUCCESS;
    }
    static int DUP_FN(const Comm &, int, void *, void *value, void *copy, bool &flag)
    {
        flag = true;
        *static_cast<void **>(copy) = value;
        return MPI_SUCCESS;
    }
    static int NULL_DELETE_FN(Comm &, int, void *, void *) { return MPI_SUCCESS; }
    static int COMM_NULL_COPY_FN(const Comm &, int, void *, void *, void *, bool &flag)
    {
        flag = false;
        return MPI_SUCCESS;
    }
    static int COMM_DUP_FN(const Comm &comm, int keyval, void *extra, void *value, void *copy, bool &flag)
    {
        return DUP_FN(comm, keyval, extra, value, copy, flag);
    }
    static int COMM_NULL_DELETE_FN(Comm &, int, void *, void *) { return MPI_SUCCESS; }

    /* The function must be an Errhandler_function; a template, as Op::Init. */
    template <class Function> static inline Errhandler Create_errhandler(Function *function);
    void Set_errhandler(const Errhandler &errhandler) const
    {
        const bool throws = errhandler == internal::throws();
        const MPI_Errhandler handler = throws ? internal::throwing_comm_handler() : MPI_Errhandler(errhandler);
        internal::check(MPI_Comm_set_errhandler(handle_, handler));
    }
    Errhandler Get_errhandler() const
    {
        MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
        internal::check(MPI_Comm_get_errhandler(handle_, &handler));
        if (handler != internal::throwing_comm_handler())
            return handler;
        internal::check(MPI_Errhandler_free(&handler));
        return internal::throws();
    }
    void Call_errhandler(int errorcode) const
    {
        internal::check(MPI_Comm_call_errhandler(handle_, errorcode));
        /* The C function succeeds; the handler may want an exception. */
        internal::failed(errorcode);
    }

    /* ---- The names of MPI-1 for attributes and error handlers ---- */

    void Attr_put(int keyval, const void *value) const { Set_attr(keyval, value); }
    bool Attr_get(int keyval, void *value) const { return Get_attr(keyval, value); }
    void Attr_delete(int keyval) const { Delete_attr(keyval); }
    static inline int Keyval_create(Copy_attr_function *copy, Delete_attr_function *del, void *extra_state);
    static void Keyval_free(int &keyval) { Free_keyval(keyval); }
    template <class Function> static inline Errhandler Errhandler_create(Function *function);
    void Errhandler_set(const Errhandler &errhandler) const { Set_errhandler(errhandler); }
    Errhandler Errhandler_get() const { return Get_errhandler(); }

protected:
    Comm() : handle_(MPI_COMM_NULL) {}
    OXMPI_CXX_CONSTEXPR explicit Comm(internal::Number number) : number_(number.value) {}
    OXMPI_CXX_CONSTEXPR explicit Comm(MPI_Comm handle) : handle_(handle) {}

    MPI_Comm dup() const
    {
        MPI_Comm comm = MPI_COMM_NULL;
        internal::check(MPI_Comm_dup(handle_, &comm));
        return comm;
    }
    MPI_Comm split(int color, int key) const
    {
        MPI_Comm comm = MPI_COMM_NULL;
        internal::check(MPI_Comm_split(handle_, color, key, &comm));
        return comm;
    }
    MPI_Comm create(const Group &group) const
    {
        MPI_Comm comm = MPI_COMM_NULL;
        internal::check(MPI_Comm_create(handle_, group, &comm));
        return comm;
    }

    union {
        MPI_Aint number_;
        MPI_Comm handle_;
    };

private:
    bool iprobe(int source, int tag, MPI_Status *status) const
    {
        int flag = 0;
        internal::check(MPI_Iprobe(source, tag, handle_, &flag, status));
        return flag != 0;
    }
};

inline Group Comm::Get_group() const
{
    MPI_Group group = MPI_GROUP_NULL;
    internal::check(MPI_Comm_group(handle_, &group));
    return group;
}

inline void Datatype::Pack(const void *inbuf, int incount, void *outbuf, int outsize, int &position,
                           const Comm &comm) const
{
    internal::check(MPI_Pack(inbuf, incount, handle_, outbuf, outsize, &position, comm));
}

inline void Datatype::Unpack(const void *inbuf, int insize, void *outbuf, int outcount, int &position,
                             const Comm &comm) const
{
    internal::check(MPI_Unpack(inbuf, insize, &position, outbuf, outcount, handle_, comm));
}

inline int Datatype::Pack_size(int incount, const Comm &comm) const
{
    int size = 0;
    internal::check(MPI_Pack_size(incount, handle_, comm, &size));
    return size;
}

/* The class of COMM_NULL, from which an object of every other class can be made. */
class Nullcomm : public Comm {
public:
    Nullcomm() : Comm() {}
    OXMPI_CXX_CONSTEXPR Nullcomm(internal::Number null) : Comm(null) {}
    OXMPI_CXX_CONSTEXPR Nullcomm(MPI_Comm null) : Comm(null) {}
    virtual Nullcomm &Clone() const { return *new Nullcomm(dup()); }
};

} /* namespace MPI */

#endif
