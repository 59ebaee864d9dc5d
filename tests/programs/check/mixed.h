// Buffers with gaps, groups, graphs and files; with `wrong` there is a mistake.
#include "../check.h"

static int is(const char *name, const char *what) { return strcmp(name, what) == 0; }

CHECK_UNUSED static const char *const ALL[] = {"columns", "column", "replace", "replaces", "graph",
                                               "group",   "member", "close",   "gaps"};

// Columns of a matrix of 4 by 4: two of them have no common byte.
static void act_on_columns(const char *name, int wrong) {
    int matrix[16] = {0}, sent[4] = {1, 2, 3, 4};
    MPI_Datatype column;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Type_vector(4, 1, 4, MPI_INT, &column);
    MPI_Type_commit(&column);
    if (rank == 1) {
        MPI_Irecv(matrix + 1, 1, column, 0, 1, MPI_COMM_WORLD, &requests[0]);
        if (is(name, "columns")) MPI_Irecv(matrix + (wrong ? 1 : 2), 1, column, 0, 2, MPI_COMM_WORLD, &requests[1]);
        if (is(name, "column")) MPI_Irecv(matrix + (wrong ? 4 : 6), 2, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[1]);
    }
    if (rank == 0) {
        MPI_Send(sent, 4, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Send(sent, is(name, "columns") ? 4 : 2, MPI_INT, 1, 2, MPI_COMM_WORLD);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Type_free(&column);
    if (rank == 1 && !wrong) CHECK_EQ(matrix[13], 4);
}

static void act_replacing(const char *name, int wrong) {
    int kept[2] = {rank, 5}, got[2];
    MPI_Request request, other = MPI_REQUEST_NULL;
    MPI_Irecv(got, 2, MPI_INT, rank, 3, MPI_COMM_WORLD, &request);
    int *buffer = wrong ? got : kept, peer = (rank + 1) % size, before = (rank + size - 1) % size;
    if (is(name, "replace"))
        MPI_Sendrecv_replace(buffer, 2, MPI_INT, peer, 4, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Isendrecv_replace(buffer, 2, MPI_INT, peer, 4, before, 4, MPI_COMM_WORLD, &other);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    if (!wrong) CHECK_EQ(kept[0], before);
    MPI_Send(kept, 2, MPI_INT, rank, 3, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// The ranks that call with one group must have the same one; others may have another one, or none.
static void act_on_groups(const char *name, int wrong) {
    int up[] = {0, 1}, down[] = {1, 0}, rest[] = {2};
    MPI_Group all, group;
    MPI_Comm made;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    if (rank == 2) MPI_Group_incl(all, 1, rest, &group);
    else if (is(name, "group")) MPI_Group_incl(all, 2, wrong && rank == 1 ? down : up, &group);
    else MPI_Group_incl(all, wrong && rank == 1 ? 1 : 2, up, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &made);
    if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
    MPI_Group_free(&group);
    MPI_Group_excl(all, 1, up, &group);
    MPI_Comm_create(MPI_COMM_WORLD, rank == 0 ? MPI_GROUP_EMPTY : group, &made);
    if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
    MPI_Group_free(&group);
    MPI_Group_free(&all);
}

static void act_on_file(const char *name, int wrong) {
    static int numbers[1 << 16];
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "mixed", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (is(name, "close")) {
        MPI_Request request;
        MPI_File_iwrite_at(file, rank * (MPI_Offset)sizeof numbers, numbers, 1 << 16, MPI_INT, &request);
        if (!wrong) MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return;
    }
    // Every third number: each rank has its own, or the same.
    MPI_Datatype third;
    MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &third);
    MPI_Type_commit(&third);
    MPI_File_set_view(file, (wrong ? 0 : rank) * (MPI_Offset)sizeof(int), MPI_INT, third, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, numbers, 5, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Type_free(&third);
    MPI_File_close(&file);
}

static void act(const char *name, int wrong) {
    if (is(name, "columns") || is(name, "column")) act_on_columns(name, wrong);
    if (is(name, "replace") || is(name, "replaces")) act_replacing(name, wrong);
    if (is(name, "group") || is(name, "member")) act_on_groups(name, wrong);
    if (is(name, "close") || is(name, "gaps")) act_on_file(name, wrong);
    if (is(name, "graph")) {
        int index[] = {1, 2, 3}, edges[] = {1, 2, 0};
        MPI_Comm graph;
        if (wrong && rank == 1) edges[2] = 2;
        MPI_Graph_create(MPI_COMM_WORLD, 3, index, edges, 0, &graph);
        MPI_Comm_free(&graph);
    }
}
