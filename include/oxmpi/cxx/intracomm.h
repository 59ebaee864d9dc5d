/* Intracomm, Intercomm. A part of mpicxx.h. */
#ifndef OXMPI_CXX_INTRACOMM_H
#define OXMPI_CXX_INTRACOMM_H

#if defined __GNUC__ && !defined OXMPI_MPICXX_WARNINGS
#pragma GCC system_header
#endif

namespace MPI {

class Cartcomm;
class Graphcomm;
class Distgraphcomm;

class Intracomm : public Comm {
public:
    Intracomm() : Comm() {}
    OXMPI_CXX_CONSTEXPR Intracomm(internal::Number number) : Comm(number) {}
    OXMPI_CXX_CONSTEXPR Intracomm(MPI_Comm handle) : Comm(handle) {}
    Intracomm(const Nullcomm &) : Comm() {}
    Intracomm &operator=(MPI_Comm handle)
    {
        handle_ = handle;
        return *this;
    }

    virtual Intracomm &Clone() const { return *new Intracomm(dup()); }
    Intracomm Dup() const { return dup(); }
    Intracomm Split(int color, int key) const { return split(color, key); }
    Intracomm Create(const Group &group) const { return create(group); }
    inline Intercomm Create_intercomm(int local_leader, const Comm &peer_comm, int remote_leader, int tag) const;

    void Scan(const void *sendbuf, void *recvbuf, int count, const Datatype &datatype, const Op &op) const
    {
        internal::check(MPI_Scan(sendbuf, recvbuf, count, datatype, op, handle_));
    }
    void Exscan(const void *sendbuf, void *recvbuf, int count, const Datatype &datatype, const Op &op) const
    {
        internal::check(MPI_Exscan(sendbuf, recvbuf, count, datatype, op, handle_));
    }

    inline Cartcomm Create_cart(int ndims, const int dims[], const bool periods[], bool reorder) const;
    inline Graphcomm Create_graph(int nnodes, const int index[], const int edges[], bool reorder) const;
    inline Distgraphcomm Dist_graph_create(int n, const int sources[], const int degrees[],
                                           const int destinations[], const int weights[], const Info &info,
                                           bool reorder) const;
    inline Distgraphcomm Dist_graph_create(int n, const int sources[], const int degrees[],
                                           const int destinations[], const Info &info, bool reorder) const;
    inline Distgraphcomm Dist_graph_create_adjacent(int indegree, const int sources[], const int sourceweights[],
                                                    int outdegree, const int destinations[],
                                                    const int destweights[], const Info &info,
                                                    bool reorder) const;
    inline Distgraphcomm Dist_graph_create_adjacent(int indegree, const int sources[], int outdegree,
                                                    const int destinations[], const Info &info,
                                                    bool reorder) const;

    inline Intercomm Accept(const char *port_name, const Info &info, int root) const;
    inline Intercomm Connect(const char *port_name, const Info &info, int root) const;
    inline Intercomm Spawn(const char *command, const char *argv[], int maxprocs, const Info &info,
                           int root) const;
    inline Intercomm Spawn(const char *command, const char *argv[], int maxprocs, const Info &info, int root,
                           int array_of_errcodes[]) const;
    inline Intercomm Spawn_multiple(int count, const char *array_of_commands[], const char **array_of_argv[],
                                    const int array_of_maxprocs[], const Info array_of_info[], int root);
    inline Intercomm Spawn_multiple(int count, const char *array_of_commands[], const char **array_of_argv[],
                                    const int array_of_maxprocs[], const Info array_of_info[], int root,
                                    int array_of_errcodes[]);
};

class Intercomm : public Comm {
public:
    Intercomm() : Comm() {}
    OXMPI_CXX_CONSTEXPR Intercomm(MPI_Comm handle) : Comm(handle) {}
    Intercomm(const Nullcomm &) : Comm() {}
    Intercomm &operator=(MPI_Comm handle)
    {
        handle_ = handle;
        return *this;
    }

    virtual Intercomm &Clone() const { return *new Intercomm(dup()); }
    Intercomm Dup() const { return dup(); }
    Intercomm Split(int color, int key) const { return split(color, key); }
    Intercomm Create(const Group &group) const { return create(group); }
    int Get_remote_size() const
    {
        int size = 0;
        internal::check(MPI_Comm_remote_size(handle_, &size));
        return size;
    }
    Group Get_remote_group() const
    {
        MPI_Group group = MPI_GROUP_NULL;
        internal::check(MPI_Comm_remote_group(handle_, &group));
        return group;
    }
    Intracomm Merge(bool high) const
    {
        MPI_Comm comm = MPI_COMM_NULL;
        internal::check(MPI_Intercomm_merge(handle_, high ? 1 : 0, &comm));
        return comm;
    }
};

inline Intercomm Comm::Get_parent()
{
    MPI_Comm parent = MPI_COMM_NULL;
    internal::check(MPI_Comm_get_parent(&parent));
    return parent;
}

inline Intercomm Comm::Join(const int fd)
{
    MPI_Comm comm = MPI_COMM_NULL;
    internal::check(MPI_Comm_join(fd, &comm));
    return comm;
}

inline Intercomm Intracomm::Create_intercomm(int local_leader, const Comm &peer_comm, int remote_leader,
                                             int tag) const
{
    MPI_Comm comm = MPI_COMM_NULL;
    internal::check(MPI_Intercomm_create(handle_, local_leader, peer_comm, remote_leader, tag, &comm));
    return comm;
}

inline Intercomm Intracomm::Accept(const char *port_name, const Info &info, int root) const
{
    MPI_Comm comm = MPI_COMM_NULL;
    internal::check(MPI_Comm_accept(port_name, info, root, handle_, &comm));
    return comm;
}

inline Intercomm Intracomm::Connect(const char *port_name, const Info &info, int root) const
{
    MPI_Comm comm = MPI_COMM_NULL;
    internal::check(MPI_Comm_connect(port_name, info, root, handle_, &comm));
    return comm;
}

inline Intercomm Intracomm::Spawn(const char *command, const char *argv[], int maxprocs, const Info &info,
                                  int root) const
{
    return Spawn(command, argv, maxprocs, info, root, MPI_ERRCODES_IGNORE);
}

/* The C functions read the arguments, although their parameters are not const. */
inline Intercomm Intracomm::Spawn(const char *command, const char *argv[], int maxprocs, const Info &info,
                                  int root, int array_of_errcodes[]) const
{
    MPI_Comm comm = MPI_COMM_NULL;
    internal::check(MPI_Comm_spawn(command, const_cast<char **>(argv), maxprocs, info, root, handle_, &comm,
                                   array_of_errcodes));
    return comm;
}

inline Intercomm Intracomm::Spawn_multiple(int count, const char *array_of_commands[],
                                           const char **array_of_argv[], const int array_of_maxprocs[],
                                           const Info array_of_info[], int root)
{
    return Spawn_multiple(count, array_of_commands, array_of_argv, array_of_maxprocs, array_of_info, root,
                          MPI_ERRCODES_IGNORE);
}

inline Intercomm Intracomm::Spawn_multiple(int count, const char *array_of_commands[],
                                           const char **array_of_argv[], const int array_of_maxprocs[],
                                           const Info array_of_info[], int root, int array_of_errcodes[])
{
    MPI_Comm comm = MPI_COMM_NULL;
    internal::check(MPI_Comm_spawn_multiple(
        count, const_cast<char **>(array_of_commands), const_cast<char ***>(array_of_argv), array_of_maxprocs,
        reinterpret_cast<const MPI_Info *>(array_of_info), root, handle_, &comm, array_of_errcodes));
    return comm;
}

} /* namespace MPI */

#endif
