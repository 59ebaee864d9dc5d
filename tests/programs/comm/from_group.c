// ranks: 1 2 3 4 7 8
// Communicators from groups, in a session and without a world: intra and inter; handlers, hints, session buffers; every wrong
// argument.
#include "../check.h"

static int heard;

static void handler(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    heard++;
}

static void ring(MPI_Comm comm) {
    int got = -1, next = (rank + 1) % size, before = (rank + size - 1) % size;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, next, 0, &got, 1, MPI_INT, before, 0, comm, MPI_STATUS_IGNORE));
    CHECK_EQ(got, before);
    OK(MPI_Barrier(comm));
}

static void inter(MPI_Group all) {
    if (size < 2) return;
    MPI_Comm comm, merged;
    for (int low = 1; low < size; low += size > 4 ? 3 : 1) {
        MPI_Group near, far;
        int range[1][3] = {{0, low - 1, 1}}, n, got = -1;
        OK(MPI_Group_range_incl(all, 1, range, rank < low ? &near : &far));
        OK(MPI_Group_range_excl(all, 1, range, rank < low ? &far : &near));
        int leader = rank < low ? low - 1 : 0, leads = rank == low - 1 || rank == low;
        // The other group matters to the leaders only.
        OK(MPI_Intercomm_create_from_groups(near, leader, leads ? far : MPI_GROUP_NULL, leads ? (rank < low ? 0 : low - 1) : -1,
                                            "org.example.inter", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
        OK(MPI_Comm_remote_size(comm, &n));
        CHECK_EQ(n, rank < low ? size - low : low);
        if (leads) {
            int other = rank < low ? 0 : low - 1;
            OK(MPI_Sendrecv(&rank, 1, MPI_INT, other, 1, &got, 1, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE));
            CHECK_EQ(got, rank < low ? rank + 1 : rank - 1);
        }
        OK(MPI_Barrier(comm));
        OK(MPI_Intercomm_merge(comm, rank >= low, &merged));
        OK(MPI_Comm_rank(merged, &n));
        CHECK_EQ(n, rank);
        OK(MPI_Comm_free(&merged));
        OK(MPI_Comm_free(&comm));
        if (rank != low - 1 && rank != low) {
            CHECK_ERROR(MPI_Intercomm_create_from_groups(far, 0, near, 0, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
                        MPI_ERR_GROUP, "MPI_Intercomm_create_from_groups");
        }
        OK(MPI_Group_free(&near));
        OK(MPI_Group_free(&far));
    }
}

static void buffers(MPI_Session session, MPI_Comm comm) {
    static char memory[100 + MPI_BSEND_OVERHEAD];
    int out = rank, in = -1, length;
    void *base;
    static char big[sizeof memory];
    CHECK_ERROR(MPI_Bsend(&out, 1, MPI_INT, rank, 1, comm), MPI_ERR_BUFFER, "MPI_Bsend");
    OK(MPI_Session_attach_buffer(session, memory, sizeof memory));
    OK(MPI_Bsend(&out, 1, MPI_INT, rank, 1, comm));
    OK(MPI_Recv(&in, 1, MPI_INT, rank, 1, comm, MPI_STATUS_IGNORE));
    CHECK_EQ(in, rank);
    CHECK_CLASS(MPI_Bsend(big, sizeof big, MPI_CHAR, rank, 1, comm), MPI_ERR_BUFFER);
    // A duplicate is of the same session.
    MPI_Comm dup;
    OK(MPI_Comm_dup(comm, &dup));
    OK(MPI_Bsend(&out, 1, MPI_INT, rank, 1, dup));
    OK(MPI_Recv(&in, 1, MPI_INT, rank, 1, dup, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&dup));
    OK(MPI_Session_detach_buffer(session, &base, &length));
    CHECK(base == memory && length == (int)sizeof memory);
}

int main(int argc, char **argv) {
    MPI_Session session;
    MPI_Group all, own, got;
    MPI_Comm comm, self, part;
    MPI_Errhandler made, has;
    MPI_Info info, used;
    int n, flag, length;
    char text[1100];
    (void)argc, (void)argv;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
    OK(MPI_Group_from_session_pset(session, "mpi://SELF", &own));
    OK(MPI_Group_size(all, &size));
    OK(MPI_Group_rank(all, &rank));
    OK(MPI_Group_size(own, &n));
    CHECK_EQ(n, 1);
    got = all;
    CHECK_ERROR(MPI_Group_from_session_pset(session, "mpi://NOBODY", &got), MPI_ERR_ARG, "MPI_Group_from_session_pset");
    CHECK(got == MPI_GROUP_NULL);
    CHECK_ERROR(MPI_Group_from_session_pset(session, NULL, &got), MPI_ERR_ARG, "MPI_Group_from_session_pset");
    CHECK_ERROR(MPI_Group_from_session_pset(session, "mpi://SELF", NULL), MPI_ERR_ARG, "MPI_Group_from_session_pset");

    OK(MPI_Comm_create_errhandler(handler, &made));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_assert_no_any_source", "true"));
    OK(MPI_Comm_create_from_group(all, "org.example.all", info, made, &comm));
    OK(MPI_Comm_get_info(comm, &used));
    length = sizeof text;
    OK(MPI_Info_get_string(used, "mpi_assert_no_any_source", &length, text, &flag));
    CHECK(flag && !strcmp(text, "true"));
    OK(MPI_Info_free(&used));
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_get_errhandler(comm, &has));
    CHECK(has == made);
    OK(MPI_Errhandler_free(&has));
    CHECK_CLASS(MPI_Send(&n, 1, MPI_INT, size, 0, comm), MPI_ERR_RANK);
    CHECK_EQ(heard, 1);
    OK(MPI_Comm_rank(comm, &n));
    CHECK_EQ(n, rank);
    ring(comm);
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Comm_group(comm, &got));
    OK(MPI_Group_compare(got, all, &n));
    CHECK_EQ(n, MPI_IDENT);
    OK(MPI_Group_free(&got));

    OK(MPI_Comm_create_from_group(own, "org.example.self", MPI_INFO_NULL, MPI_ERRORS_RETURN, &self));
    OK(MPI_Comm_size(self, &n));
    CHECK_EQ(n, 1);
    OK(MPI_Comm_free(&self));
    OK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &self));
    CHECK(self == MPI_COMM_NULL);
    OK(MPI_Comm_split(comm, rank % 2, 0, &part));
    OK(MPI_Barrier(part));
    OK(MPI_Comm_free(&part));

    // A process set as what divides a communicator.
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_pset_name", "mpi://SELF"));
    OK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &part));
    OK(MPI_Comm_size(part, &n));
    CHECK_EQ(n, 1);
    OK(MPI_Comm_free(&part));
    OK(MPI_Info_set(info, "mpi_pset_name", "mpi://WORLD"));
    OK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &part));
    OK(MPI_Comm_compare(part, comm, &n));
    CHECK_EQ(n, MPI_CONGRUENT);
    OK(MPI_Comm_free(&part));
    OK(MPI_Info_set(info, "mpi_pset_name", "mpi://NOBODY"));
    OK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &part));
    CHECK(part == MPI_COMM_NULL);
    OK(MPI_Info_free(&info));

    inter(all);
    buffers(session, comm);

    memset(text, 'x', sizeof text);
    text[MPI_MAX_STRINGTAG_LEN] = 0;
    CHECK_ERROR(MPI_Comm_create_from_group(all, text, MPI_INFO_NULL, MPI_ERRORS_RETURN, &self), MPI_ERR_ARG,
                "MPI_Comm_create_from_group");
    CHECK_ERROR(MPI_Comm_create_from_group(MPI_GROUP_NULL, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &self), MPI_ERR_GROUP,
                "MPI_Comm_create_from_group");
    CHECK_ERROR(MPI_Comm_create_from_group(all, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &self), MPI_ERR_ARG,
                "MPI_Comm_create_from_group");
    heard = 0;
    CHECK_ERROR(MPI_Comm_create_from_group(all, NULL, MPI_INFO_NULL, made, &self), MPI_ERR_ARG,
                "MPI_Comm_create_from_group");
    CHECK_EQ(heard, 1);
    if (size > 1) {
        int other = (rank + 1) % size;
        OK(MPI_Group_incl(all, 1, &other, &got));
        CHECK_ERROR(MPI_Comm_create_from_group(got, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &self), MPI_ERR_GROUP,
                    "MPI_Comm_create_from_group");
        OK(MPI_Group_free(&got));
    }
    text[MPI_MAX_STRINGTAG_LEN - 1] = 0;
    OK(MPI_Comm_create_from_group(all, text, MPI_INFO_NULL, made, &self));
    OK(MPI_Errhandler_free(&made));
    OK(MPI_Comm_disconnect(&self));
    OK(MPI_Comm_disconnect(&comm));
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&own));
    OK(MPI_Session_finalize(&session));
    return 0;
}
