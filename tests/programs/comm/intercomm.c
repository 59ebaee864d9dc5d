// ranks: 1 2 3 4 5 7 8
// Intercommunicators: 1+1, 2+3, 4+1 and others; messages between the groups, merging, splitting, duplicating, comparing.
#include "../check.h"

// Each process sends to all processes of the other group, and receives from all of them.
static void talk(MPI_Comm inter, int tag) {
    int own, local, remote, flag = -1;
    OK(MPI_Comm_test_inter(inter, &flag));
    CHECK_EQ(flag, 1);
    OK(MPI_Comm_rank(inter, &own));
    OK(MPI_Comm_size(inter, &local));
    OK(MPI_Comm_remote_size(inter, &remote));
    int out[2] = {own, local}, got[64][2];
    MPI_Request requests[128];
    MPI_Status statuses[128];
    for (int i = 0; i < remote; i++) {
        OK(MPI_Irecv(got[i], 2, MPI_INT, i, tag, inter, &requests[i]));
        OK(MPI_Isend(out, 2, MPI_INT, i, tag, inter, &requests[remote + i]));
    }
    OK(MPI_Waitall(2 * remote, requests, statuses));
    for (int i = 0; i < remote; i++) {
        CHECK_EQ(got[i][0], i);
        CHECK_EQ(got[i][1], remote);
        CHECK_EQ(statuses[i].MPI_SOURCE, i);
    }
    // From any source, with big messages; ranks are those of the other group.
    static int big[2][20000];
    for (int i = 0; i < 20000; i++) big[0][i] = i + own;
    for (int i = 0; i < remote; i++) OK(MPI_Isend(big[0], 20000, MPI_INT, i, tag + 1, inter, &requests[i]));
    for (int i = 0; i < remote; i++) {
        MPI_Status status;
        OK(MPI_Recv(big[1], 20000, MPI_INT, MPI_ANY_SOURCE, tag + 1, inter, &status));
        CHECK(status.MPI_SOURCE >= 0 && status.MPI_SOURCE < remote);
        CHECK_EQ(big[1][19999], 19999 + status.MPI_SOURCE);
    }
    OK(MPI_Waitall(remote, requests, MPI_STATUSES_IGNORE));
    CHECK_CLASS(MPI_Send(out, 1, MPI_INT, remote, tag, inter), MPI_ERR_RANK);
    OK(MPI_Barrier(inter));
}

// The lowest rank of the host.
static int host;

static int find_host(void) {
    int lowest = rank;
    MPI_Comm all;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &all));
    OK(MPI_Bcast(&lowest, 1, MPI_INT, 0, all));
    OK(MPI_Comm_free(&all));
    return lowest;
}

// Whether a process of the other group is on the host of this one.
static int shares_host(MPI_Comm inter) {
    int hosts[64], remote, found = 0;
    OK(MPI_Comm_remote_size(inter, &remote));
    OK(MPI_Allgather(&host, 1, MPI_INT, hosts, 1, MPI_INT, inter));
    for (int i = 0; i < remote; i++) found |= hosts[i] == host;
    return found;
}

static void compare(MPI_Comm a, MPI_Comm b, int expected) {
    int result = -1;
    OK(MPI_Comm_compare(a, b, &result));
    CHECK_EQ(result, expected);
}

static void merge(MPI_Comm inter, int left, int low, int count) {
    MPI_Comm merged;
    int r, n, flag = -1, local;
    OK(MPI_Comm_size(inter, &local));
    // The left group below, above, and wherever it may be.
    for (int high = 0; high < 3; high++) {
        OK(MPI_Intercomm_merge(inter, high == 2 ? 1 : high == left ? 1 : 0, &merged));
        OK(MPI_Comm_test_inter(merged, &flag));
        CHECK_EQ(flag, 0);
        OK(MPI_Comm_rank(merged, &r));
        OK(MPI_Comm_size(merged, &n));
        CHECK_EQ(n, count);
        int own;
        OK(MPI_Comm_rank(inter, &own));
        if (high == 0) CHECK_EQ(r, left ? own : low + own);
        if (high == 1) CHECK_EQ(r, left ? count - low + own : own);
        int got = -1, next = (r + 1) % n, before = (r + n - 1) % n;
        OK(MPI_Sendrecv(&r, 1, MPI_INT, next, 0, &got, 1, MPI_INT, before, 0, merged, MPI_STATUS_IGNORE));
        CHECK_EQ(got, before);
        OK(MPI_Barrier(merged));
        OK(MPI_Comm_free(&merged));
    }
}

// The first `low` of `count` processes on one side, the others on the other; the leaders are the last of each.
static void pair(MPI_Comm comm, int low, int count) {
    MPI_Comm local, inter, second, part;
    MPI_Request request;
    MPI_Group near, far, all, both;
    int r, left, own, n, result = -1;
    OK(MPI_Comm_rank(comm, &r));
    left = r < low;
    OK(MPI_Comm_split(comm, left, left ? r : -r, &local));
    OK(MPI_Comm_rank(local, &own));
    OK(MPI_Comm_size(local, &n));
    // On the right side the ranks go backwards, so its last one is the process `low`.
    OK(MPI_Intercomm_create(local, n - 1, own == n - 1 ? comm : MPI_COMM_NULL, left ? low : low - 1, 17, &inter));
    talk(inter, 4);
    compare(inter, inter, MPI_IDENT);
    compare(inter, local, MPI_UNEQUAL);
    OK(MPI_Comm_group(inter, &near));
    OK(MPI_Comm_remote_group(inter, &far));
    OK(MPI_Comm_group(comm, &all));
    OK(MPI_Group_union(near, far, &both));
    OK(MPI_Group_compare(all, both, &result));
    CHECK(result == MPI_IDENT || result == MPI_SIMILAR);
    OK(MPI_Group_free(&both));
    OK(MPI_Group_intersection(near, far, &both));
    CHECK(both == MPI_GROUP_EMPTY);

    OK(MPI_Comm_dup(inter, &second));
    compare(inter, second, MPI_CONGRUENT);
    talk(second, 4);
    OK(MPI_Comm_free(&second));
    OK(MPI_Comm_idup(inter, &second, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    talk(second, 4);
    merge(second, left, low, count);
    OK(MPI_Comm_free(&second));

    // The same in reverse order is similar.
    OK(MPI_Comm_split(inter, 3, -own, &second));
    compare(inter, second, count == 2 ? MPI_CONGRUENT : MPI_SIMILAR);
    talk(second, 9);
    OK(MPI_Comm_free(&second));
    // Even with even, odd with odd, if there are any on both sides.
    int other = left ? count - low : low;
    OK(MPI_Comm_split(inter, own % 2, 0, &part));
    if (own % 2 == 0 || other > 1) {
        int remote;
        OK(MPI_Comm_remote_size(part, &remote));
        CHECK_EQ(remote, own % 2 ? other / 2 : (other + 1) / 2);
        talk(part, 1);
        OK(MPI_Comm_free(&part));
    } else {
        CHECK(part == MPI_COMM_NULL);
    }
    OK(MPI_Comm_split(inter, left, 0, &part));
    CHECK(part == MPI_COMM_NULL);
    // Those of each host, if both sides have some there.
    OK(MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part));
    if (shares_host(inter)) {
        talk(part, 1);
        OK(MPI_Comm_free(&part));
    } else {
        CHECK(part == MPI_COMM_NULL);
    }
    // The first of the left side with all of the right side.
    int first = 0;
    MPI_Group group = near, one = MPI_GROUP_NULL;
    if (left) {
        OK(MPI_Group_incl(near, 1, &first, &one));
        group = one;
    }
    OK(MPI_Comm_create(inter, group, &part));
    if (!left || own == 0) {
        OK(MPI_Comm_remote_size(part, &n));
        CHECK_EQ(n, left ? count - low : 1);
        talk(part, 1);
        OK(MPI_Comm_free(&part));
    } else {
        CHECK(part == MPI_COMM_NULL);
    }
    OK(MPI_Comm_create(inter, left ? near : MPI_GROUP_EMPTY, &part));
    CHECK(part == MPI_COMM_NULL);
    if (left) OK(MPI_Group_free(&one));
    OK(MPI_Group_free(&near));
    OK(MPI_Group_free(&far));
    OK(MPI_Group_free(&all));
    OK(MPI_Comm_free(&local));
    // What an intercommunicator is not for.
    CHECK_ERROR(MPI_Comm_create_group(inter, MPI_GROUP_EMPTY, 0, &part), MPI_ERR_COMM, "MPI_Comm_create_group");
    CHECK_ERROR(MPI_Intercomm_create(inter, 0, comm, 0, 0, &part), MPI_ERR_COMM, "MPI_Intercomm_create");
    OK(MPI_Comm_disconnect(&inter));
    CHECK(inter == MPI_COMM_NULL);
}

int main(int argc, char **argv) {
    MPI_Comm comm;
    int n;
    start(&argc, &argv);
    return_errors();
    host = find_host();
    CHECK_ERROR(MPI_Comm_remote_size(MPI_COMM_WORLD, &n), MPI_ERR_COMM, "MPI_Comm_remote_size");
    MPI_Group group;
    CHECK_ERROR(MPI_Comm_remote_group(MPI_COMM_WORLD, &group), MPI_ERR_COMM, "MPI_Comm_remote_group");
    CHECK_ERROR(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &comm), MPI_ERR_COMM, "MPI_Intercomm_merge");
    CHECK_ERROR(MPI_Intercomm_create(MPI_COMM_WORLD, size, MPI_COMM_WORLD, 0, 0, &comm), MPI_ERR_RANK,
                "MPI_Intercomm_create");
    CHECK_ERROR(MPI_Intercomm_create(MPI_COMM_WORLD, 0, MPI_COMM_WORLD, 0, -1, &comm), MPI_ERR_TAG,
                "MPI_Intercomm_create");
    // A leader that cannot reach the other one: no process waits for it.
    CHECK(MPI_Intercomm_create(MPI_COMM_WORLD, 0, MPI_COMM_NULL, 0, 0, &comm) != MPI_SUCCESS);
    CHECK(MPI_Intercomm_create(MPI_COMM_WORLD, size - 1, MPI_COMM_WORLD, size, 0, &comm) != MPI_SUCCESS);
    for (int count = 2; count <= size; count++) {
        OK(MPI_Comm_split(MPI_COMM_WORLD, rank < count ? 1 : MPI_UNDEFINED, 0, &comm));
        if (rank < count) {
            int lows[] = {1, 2, count / 2, count - 1};
            for (int i = 0; i < 4; i++)
                if (lows[i] > 0 && lows[i] < count) pair(comm, lows[i], count);
            OK(MPI_Comm_free(&comm));
        }
    }
    return finish();
}
