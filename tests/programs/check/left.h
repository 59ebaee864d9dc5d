// What a program leaves behind at its end, with `wrong`; without it nothing.
#include "../check.h"

static int is(const char *name, const char *what) { return strcmp(name, what) == 0; }

CHECK_UNUSED static void add(void *from, void *to, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++) ((int *)to)[i] += ((int *)from)[i];
}

CHECK_UNUSED static const char *const COMMS[] = {"dup", "idup", "split", "split-type", "create", "create-group", "cart", "cart-sub",
                                    "graph", "dist-graph", "inter", "merge"};
CHECK_UNUSED static const char *const TYPES[] = {"contiguous", "vector", "hvector", "indexed", "hindexed", "indexed-block", "struct",
                                    "resized", "subarray", "darray", "dup-type"};
CHECK_UNUSED static const char *const REQUESTS[] = {"isend", "issend", "irecv", "ibarrier", "ibcast", "iallreduce", "igather", "ialltoall",
                                       "send_init", "recv_init", "allreduce_init", "psend_init", "precv_init", "rput", "rget",
                                       "iwrite"};
CHECK_UNUSED static const char *const KEPT[] = {"send_init", "recv_init", "allreduce_init", "psend_init", "precv_init"};
CHECK_UNUSED static const char *const SENT[] = {"send", "bsend", "isend", "sendrecv", "persistent", "partitioned"};
#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

CHECK_UNUSED static void leave_comm(const char *name, int wrong) {
    MPI_Comm world = MPI_COMM_WORLD, made, other;
    MPI_Group all;
    MPI_Request request;
    int dims = size, yes = 1, next = (rank + 1) % size, index[64], edges[64];
    MPI_Comm_group(world, &all);
    for (int i = 0; i < size; i++) index[i] = i + 1, edges[i] = (i + 1) % size;
    if (is(name, "dup")) MPI_Comm_dup(world, &made);
    if (is(name, "idup")) {
        MPI_Comm_idup(world, &made, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (is(name, "split")) MPI_Comm_split(world, rank, 0, &made);
    if (is(name, "split-type")) MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
    if (is(name, "create")) MPI_Comm_create(world, all, &made);
    if (is(name, "create-group")) MPI_Comm_create_group(world, all, 3, &made);
    if (is(name, "cart")) MPI_Cart_create(world, 1, &dims, &yes, 0, &made);
    if (is(name, "cart-sub")) {
        MPI_Cart_create(world, 1, &dims, &yes, 0, &other);
        MPI_Cart_sub(other, &yes, &made);
        MPI_Comm_free(&other);
    }
    if (is(name, "graph")) MPI_Graph_create(world, size, index, edges, 0, &made);
    if (is(name, "dist-graph")) {
        MPI_Dist_graph_create(world, 1, &rank, &yes, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
    }
    if (is(name, "inter") || is(name, "merge")) {
        MPI_Comm_split(world, rank == 0, 0, &other);
        MPI_Intercomm_create(other, 0, world, rank == 0 ? 1 : 0, 9, &made);
        MPI_Comm_free(&other);
        if (is(name, "merge")) {
            MPI_Intercomm_merge(made, 0, &other);
            MPI_Comm_free(&made);
            made = other;
        }
    }
    MPI_Group_free(&all);
    if (!wrong) MPI_Comm_free(&made);
}

CHECK_UNUSED static void leave_type(const char *name, int wrong) {
    MPI_Datatype type = MPI_DATATYPE_NULL, parts[2] = {MPI_INT, MPI_DOUBLE};
    int two[2] = {2, 2}, at[2] = {0, 4}, four = 4, none = 0;
    MPI_Aint far[2] = {0, 64};
    if (is(name, "contiguous")) MPI_Type_contiguous(3, MPI_INT, &type);
    if (is(name, "vector")) MPI_Type_vector(2, 1, 3, MPI_INT, &type);
    if (is(name, "hvector")) MPI_Type_create_hvector(2, 1, 64, MPI_INT, &type);
    if (is(name, "indexed")) MPI_Type_indexed(2, two, at, MPI_INT, &type);
    if (is(name, "hindexed")) MPI_Type_create_hindexed(2, two, far, MPI_INT, &type);
    if (is(name, "indexed-block")) MPI_Type_create_indexed_block(2, 2, at, MPI_INT, &type);
    if (is(name, "struct")) MPI_Type_create_struct(2, two, far, parts, &type);
    if (is(name, "resized")) MPI_Type_create_resized(MPI_INT, 0, 16, &type);
    if (is(name, "subarray")) MPI_Type_create_subarray(1, &four, two, &none, MPI_ORDER_C, MPI_INT, &type);
    if (is(name, "darray")) {
        int how = MPI_DISTRIBUTE_BLOCK, dense = MPI_DISTRIBUTE_DFLT_DARG, one = 1;
        MPI_Type_create_darray(1, 0, 1, &four, &how, &dense, &one, MPI_ORDER_C, MPI_INT, &type);
    }
    if (is(name, "dup-type")) MPI_Type_dup(MPI_INT, &type);
    MPI_Type_commit(&type);
    if (!wrong) MPI_Type_free(&type);
}

// A request: never completed if `wrong` is 1, a persistent one never freed if it is 2.
CHECK_UNUSED static void leave_request(const char *name, int wrong) {
    static int a[64], b[64];
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request one = MPI_REQUEST_NULL, two = MPI_REQUEST_NULL;
    MPI_Win win = MPI_WIN_NULL;
    MPI_File file = MPI_FILE_NULL;
    int peer = rank ^ 1;
    if (is(name, "isend")) MPI_Isend(a, 4, MPI_INT, peer, 1, comm, &one);
    if (is(name, "issend")) MPI_Issend(a, 4, MPI_INT, peer, 1, comm, &one);
    if (is(name, "send_init")) MPI_Send_init(a, 4, MPI_INT, peer, 1, comm, &one);
    if (is(name, "irecv")) MPI_Irecv(b, 4, MPI_INT, peer, 1, comm, &one);
    if (is(name, "recv_init")) MPI_Recv_init(b, 4, MPI_INT, peer, 1, comm, &one);
    if (is(name, "ibarrier")) MPI_Ibarrier(comm, &one);
    if (is(name, "ibcast")) MPI_Ibcast(a, 4, MPI_INT, 0, comm, &one);
    if (is(name, "iallreduce")) MPI_Iallreduce(a, b, 4, MPI_INT, MPI_SUM, comm, &one);
    if (is(name, "igather")) MPI_Igather(a, 4, MPI_INT, b, 4, MPI_INT, 0, comm, &one);
    if (is(name, "ialltoall")) MPI_Ialltoall(a, 4, MPI_INT, b, 4, MPI_INT, comm, &one);
    if (is(name, "allreduce_init")) MPI_Allreduce_init(a, b, 4, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &one);
    if (is(name, "psend_init") || is(name, "precv_init")) {
        int sends = is(name, "psend_init");
        MPI_Psend_init(a, 2, 2, MPI_INT, peer, 1, comm, MPI_INFO_NULL, sends ? &one : &two);
        MPI_Precv_init(b, 2, 2, MPI_INT, peer, 1, comm, MPI_INFO_NULL, sends ? &two : &one);
        MPI_Start(&two);
    }
    if (is(name, "rput") || is(name, "rget")) {
        MPI_Win_create(b, sizeof b, sizeof *b, MPI_INFO_NULL, comm, &win);
        MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win);
        if (is(name, "rput")) MPI_Rput(a, 1, MPI_INT, peer, rank, 1, MPI_INT, win, &one);
        else MPI_Rget(a, 1, MPI_INT, peer, rank, 1, MPI_INT, win, &one);
        MPI_Win_unlock(peer, win);
    }
    if (is(name, "iwrite")) {
        MPI_File_open(comm, "file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
        MPI_File_iwrite_at(file, rank * 16, a, 4, MPI_INT, &one);
    }
    if (strstr(name, "_init")) MPI_Start(&one);
    if (is(name, "psend_init")) MPI_Pready_range(0, 1, one);
    if (is(name, "precv_init")) MPI_Pready_range(0, 1, two);
    if (strstr(name, "send") && !strstr(name, "psend")) MPI_Recv(b, 4, MPI_INT, peer, 1, comm, MPI_STATUS_IGNORE);
    if (is(name, "irecv") || is(name, "recv_init")) MPI_Send(a, 4, MPI_INT, peer, 1, comm);
    MPI_Barrier(comm);
    if (two != MPI_REQUEST_NULL) {
        MPI_Wait(&two, MPI_STATUS_IGNORE);
        MPI_Request_free(&two);
    }
    if (wrong != 1) MPI_Wait(&one, MPI_STATUS_IGNORE);
    if (wrong == 0 && one != MPI_REQUEST_NULL) MPI_Request_free(&one);
    if (win != MPI_WIN_NULL) MPI_Win_free(&win);
    if (file != MPI_FILE_NULL) MPI_File_close(&file);
}

CHECK_UNUSED static void leave_other(const char *name, int wrong) {
    static int memory[16];
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Group group = MPI_GROUP_NULL, all;
    MPI_Op op;
    MPI_Win win = MPI_WIN_NULL;
    MPI_File file;
    int *own;
    if (is(name, "op")) {
        MPI_Op_create(add, 1, &op);
        if (!wrong) MPI_Op_free(&op);
    }
    if (is(name, "group") || is(name, "group-incl")) {
        MPI_Comm_group(world, &all);
        if (is(name, "group-incl")) {
            MPI_Group_incl(all, 1, &rank, &group);
            MPI_Group_free(&all);
            all = group;
        }
        if (!wrong) MPI_Group_free(&all);
    }
    if (is(name, "win-create")) MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, world, &win);
    if (is(name, "win-allocate")) MPI_Win_allocate(64, 4, MPI_INFO_NULL, world, &own, &win);
    if (is(name, "win-dynamic")) MPI_Win_create_dynamic(MPI_INFO_NULL, world, &win);
    if (win != MPI_WIN_NULL && !wrong) MPI_Win_free(&win);
    if (is(name, "file")) {
        MPI_File_open(world, "file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
        if (!wrong) MPI_File_close(&file);
    }
}

// A message that is not received if `wrong`.
CHECK_UNUSED static void leave_message(const char *name, int wrong) {
    static int a[8], b[8];
    static char space[1024];
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request = MPI_REQUEST_NULL;
    void *given;
    int length;
    if (rank == 0) {
        if (is(name, "send")) MPI_Send(a, 4, MPI_INT, 1, 1, comm);
        if (is(name, "bsend")) {
            MPI_Buffer_attach(space, sizeof space);
            MPI_Bsend(a, 4, MPI_INT, 1, 1, comm);
            MPI_Buffer_detach(&given, &length);
        }
        if (is(name, "isend")) MPI_Isend(a, 4, MPI_INT, 1, 1, comm, &request);
        if (is(name, "sendrecv")) MPI_Sendrecv(a, 4, MPI_INT, 1, 1, b, 4, MPI_INT, MPI_PROC_NULL, 1, comm, MPI_STATUS_IGNORE);
        if (is(name, "persistent")) MPI_Send_init(a, 4, MPI_INT, 1, 1, comm, &request);
        if (is(name, "partitioned")) MPI_Psend_init(a, 2, 2, MPI_INT, 1, 1, comm, MPI_INFO_NULL, &request);
        if (is(name, "persistent") || is(name, "partitioned")) {
            MPI_Start(&request);
            if (is(name, "partitioned")) MPI_Pready_range(0, 1, request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Request_free(&request);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (rank == 1 && !wrong) {
        if (is(name, "partitioned")) {
            MPI_Precv_init(b, 2, 2, MPI_INT, 0, 1, comm, MPI_INFO_NULL, &request);
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Request_free(&request);
        } else {
            MPI_Recv(b, 4, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
        }
    }
}
