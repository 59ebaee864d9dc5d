/* Cartcomm, Graphcomm, Distgraphcomm. A part of mpicxx.h. */
#ifndef OXMPI_CXX_TOPOLOGY_H
#define OXMPI_CXX_TOPOLOGY_H

#if defined __GNUC__ && !defined OXMPI_MPICXX_WARNINGS
#pragma GCC system_header
#endif

namespace MPI {

class Cartcomm : public Intracomm {
public:
    Cartcomm() : Intracomm() {}
    OXMPI_CXX_CONSTEXPR Cartcomm(MPI_Comm handle) : Intracomm(handle) {}
    Cartcomm(const Nullcomm &) : Intracomm() {}
    Cartcomm &operator=(MPI_Comm handle)
    {
        handle_ = handle;
        return *this;
    }

    virtual Cartcomm &Clone() const { return *new Cartcomm(dup()); }
    Cartcomm Dup() const { return dup(); }
    int Get_dim() const
    {
        int ndims = 0;
        internal::check(MPI_Cartdim_get(handle_, &ndims));
        return ndims;
    }
    void Get_topo(int maxdims, int dims[], bool periods[], int coords[]) const
    {
        internal::Flags flags(maxdims);
        int ndims = 0;
        internal::check(MPI_Cartdim_get(handle_, &ndims));
        internal::check(MPI_Cart_get(handle_, maxdims, dims, flags.values(), coords));
        flags.copy_to(periods, ndims);
    }
    int Get_cart_rank(const int coords[]) const
    {
        int rank = MPI_PROC_NULL;
        internal::check(MPI_Cart_rank(handle_, coords, &rank));
        return rank;
    }
    void Get_coords(int rank, int maxdims, int coords[]) const
    {
        internal::check(MPI_Cart_coords(handle_, rank, maxdims, coords));
    }
    void Shift(int direction, int disp, int &rank_source, int &rank_dest) const
    {
        internal::check(MPI_Cart_shift(handle_, direction, disp, &rank_source, &rank_dest));
    }
    Cartcomm Sub(const bool remain_dims[]) const
    {
        MPI_Comm comm = MPI_COMM_NULL;
        int ndims = 0;
        internal::check(MPI_Cartdim_get(handle_, &ndims));
        internal::Flags remain(ndims, remain_dims);
        internal::check(MPI_Cart_sub(handle_, remain.values(), &comm));
        return comm;
    }
    int Map(int ndims, const int dims[], const bool periods[]) const
    {
        int rank = MPI_UNDEFINED;
        internal::Flags flags(ndims, periods);
        internal::check(MPI_Cart_map(handle_, ndims, dims, flags.values(), &rank));
        return rank;
    }
};

class Graphcomm : public Intracomm {
public:
    Graphcomm() : Intracomm() {}
    OXMPI_CXX_CONSTEXPR Graphcomm(MPI_Comm handle) : Intracomm(handle) {}
    Graphcomm(const Nullcomm &) : Intracomm() {}
    Graphcomm &operator=(MPI_Comm handle)
    {
        handle_ = handle;
        return *this;
    }

    virtual Graphcomm &Clone() const { return *new Graphcomm(dup()); }
    Graphcomm Dup() const { return dup(); }
    void Get_dims(int nnodes[], int nedges[]) const
    {
        internal::check(MPI_Graphdims_get(handle_, nnodes, nedges));
    }
    void Get_topo(int maxindex, int maxedges, int index[], int edges[]) const
    {
        internal::check(MPI_Graph_get(handle_, maxindex, maxedges, index, edges));
    }
    int Get_neighbors_count(int rank) const
    {
        int count = 0;
        internal::check(MPI_Graph_neighbors_count(handle_, rank, &count));
        return count;
    }
    void Get_neighbors(int rank, int maxneighbors, int neighbors[]) const
    {
        internal::check(MPI_Graph_neighbors(handle_, rank, maxneighbors, neighbors));
    }
    int Map(int nnodes, const int index[], const int edges[]) const
    {
        int rank = MPI_UNDEFINED;
        internal::check(MPI_Graph_map(handle_, nnodes, index, edges, &rank));
        return rank;
    }
};

class Distgraphcomm : public Intracomm {
public:
    Distgraphcomm() : Intracomm() {}
    OXMPI_CXX_CONSTEXPR Distgraphcomm(MPI_Comm handle) : Intracomm(handle) {}
    Distgraphcomm(const Nullcomm &) : Intracomm() {}
    Distgraphcomm &operator=(MPI_Comm handle)
    {
        handle_ = handle;
        return *this;
    }

    virtual Distgraphcomm &Clone() const { return *new Distgraphcomm(dup()); }
    Distgraphcomm Dup() const { return dup(); }
    void Get_dist_neighbors_count(int &indegree, int &outdegree, bool &weighted) const
    {
        int has_weights = 0;
        internal::check(MPI_Dist_graph_neighbors_count(handle_, &indegree, &outdegree, &has_weights));
        weighted = has_weights != 0;
    }
    void Get_dist_neighbors(int maxindegree, int sources[], int sourceweights[], int maxoutdegree,
                            int destinations[], int destweights[]) const
    {
        internal::check(MPI_Dist_graph_neighbors(handle_, maxindegree, sources, sourceweights, maxoutdegree,
                                                 destinations, destweights));
    }
};

inline Cartcomm Intracomm::Create_cart(int ndims, const int dims[], const bool periods[], bool reorder) const
{
    MPI_Comm comm = MPI_COMM_NULL;
    internal::Flags flags(ndims, periods);
    internal::check(MPI_Cart_create(handle_, ndims, dims, flags.values(), reorder ? 1 : 0, &comm));
    return comm;
}

inline Graphcomm Intracomm::Create_graph(int nnodes, const int index[], const int edges[], bool reorder) const
{
    MPI_Comm comm = MPI_COMM_NULL;
    internal::check(MPI_Graph_create(handle_, nnodes, index, edges, reorder ? 1 : 0, &comm));
    return comm;
}

inline Distgraphcomm Intracomm::Dist_graph_create(int n, const int sources[], const int degrees[],
                                                  const int destinations[], const int weights[],
                                                  const Info &info, bool reorder) const
{
    MPI_Comm comm = MPI_COMM_NULL;
    internal::check(MPI_Dist_graph_create(handle_, n, sources, degrees, destinations, weights, info,
                                          reorder ? 1 : 0, &comm));
    return comm;
}

inline Distgraphcomm Intracomm::Dist_graph_create(int n, const int sources[], const int degrees[],
                                                  const int destinations[], const Info &info,
                                                  bool reorder) const
{
    return Dist_graph_create(n, sources, degrees, destinations, MPI_UNWEIGHTED, info, reorder);
}

inline Distgraphcomm Intracomm::Dist_graph_create_adjacent(int indegree, const int sources[],
                                                           const int sourceweights[], int outdegree,
                                                           const int destinations[], const int destweights[],
                                                           const Info &info, bool reorder) const
{
    MPI_Comm comm = MPI_COMM_NULL;
    internal::check(MPI_Dist_graph_create_adjacent(handle_, indegree, sources, sourceweights, outdegree,
                                                   destinations, destweights, info, reorder ? 1 : 0, &comm));
    return comm;
}

inline Distgraphcomm Intracomm::Dist_graph_create_adjacent(int indegree, const int sources[], int outdegree,
                                                           const int destinations[], const Info &info,
                                                           bool reorder) const
{
    return Dist_graph_create_adjacent(indegree, sources, MPI_UNWEIGHTED, outdegree, destinations, MPI_UNWEIGHTED,
                                      info, reorder);
}

} /* namespace MPI */

#endif
