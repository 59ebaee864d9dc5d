// ranks: 1 2 4
// Errors in the completions of many: MPI_ERR_IN_STATUS, and in each status the success, the truncation
// or MPI_ERR_PENDING of its own operation. Without an error the error fields stay as they were.
#include "../check.h"

enum { N = 6, MARK = 123456 };

static int left, right;

// Messages of 4 ints come; receives 1 and 4 have room for two of them only.
static int too_small(int i) { return i == 1 || i == 4; }

static void begin(int out[N][4], int in[N][4], MPI_Request *sends, MPI_Request *receives, MPI_Status *statuses) {
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 4; k++) {
            out[i][k] = 100 * i + k;
            in[i][k] = -1;
        }
        statuses[i].MPI_ERROR = MARK;
        OK(MPI_Irecv(in[i], too_small(i) ? 2 : 4, MPI_INT, left, i, MPI_COMM_WORLD, &receives[i]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) OK(MPI_Isend(out[i], 4, MPI_INT, right, i, MPI_COMM_WORLD, &sends[i]));
    OK(MPI_Waitall(N, sends, MPI_STATUSES_IGNORE));
}

static void check_fields(int i, const MPI_Status *status) {
    if (too_small(i)) {
        CHECK_CLASS(status->MPI_ERROR, MPI_ERR_TRUNCATE);
        char text[16];
        snprintf(text, sizeof text, "tag %d", i);
        CHECK_TEXT(status->MPI_ERROR, text);
    } else {
        CHECK_EQ(status->MPI_ERROR, MPI_SUCCESS);
        CHECK_STATUS(*status, left, i, 16);
    }
}

// Completes one by one what a call left as MPI_ERR_PENDING.
static void finish_pending(MPI_Request *receives, MPI_Status *statuses) {
    for (int i = 0; i < N; i++)
        if (receives[i] != MPI_REQUEST_NULL) {
            CHECK_EQ(check_class(statuses[i].MPI_ERROR), MPI_ERR_PENDING);
            int code = MPI_Wait(&receives[i], &statuses[i]);
            statuses[i].MPI_ERROR = code;
        }
}

static void all(int by_test) {
    int out[N][4], in[N][4], flag = 0, code = MPI_SUCCESS;
    MPI_Request sends[N], receives[N];
    MPI_Status statuses[N];
    begin(out, in, sends, receives, statuses);
    if (by_test) {
        while (code == MPI_SUCCESS && !flag) code = MPI_Testall(N, receives, &flag, statuses);
    } else {
        code = MPI_Waitall(N, receives, statuses);
    }
    CHECK_CLASS(code, MPI_ERR_IN_STATUS);
    finish_pending(receives, statuses);
    for (int i = 0; i < N; i++) {
        CHECK(receives[i] == MPI_REQUEST_NULL);
        check_fields(i, &statuses[i]);
        if (!too_small(i)) CHECK_EQ(in[i][3], 100 * i + 3);
        else CHECK_EQ(in[i][2], -1);
    }
}

static void some(int by_test) {
    int out[N][4], in[N][4], seen = 0, errors = 0;
    MPI_Request sends[N], receives[N];
    MPI_Status statuses[N];
    begin(out, in, sends, receives, statuses);
    while (seen < N) {
        int count = -1, indices[N], failed = 0;
        for (int i = 0; i < N; i++) statuses[i].MPI_ERROR = MARK;
        int code = by_test ? MPI_Testsome(N, receives, &count, indices, statuses)
                           : MPI_Waitsome(N, receives, &count, indices, statuses);
        for (int i = 0; i < count; i++) failed |= too_small(indices[i]);
        CHECK_CLASS(code, failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS);
        for (int i = 0; i < count; i++) {
            CHECK(receives[indices[i]] == MPI_REQUEST_NULL);
            if (failed)
                check_fields(indices[i], &statuses[i]);
            else
                CHECK_EQ(statuses[i].MPI_ERROR, MARK);
            errors += too_small(indices[i]);
        }
        seen += count;
    }
    CHECK_EQ(seen, N);
    CHECK_EQ(errors, 2);
}

static void any(int by_test) {
    int out[N][4], in[N][4];
    MPI_Request sends[N], receives[N];
    MPI_Status statuses[N], status;
    begin(out, in, sends, receives, statuses);
    for (int seen = 0; seen < N;) {
        int index = -1, flag = 1, code;
        if (by_test)
            code = MPI_Testany(N, receives, &index, &flag, &status);
        else
            code = MPI_Waitany(N, receives, &index, &status);
        if (code == MPI_SUCCESS && !flag) continue;
        CHECK(index >= 0 && index < N);
        CHECK_CLASS(code, too_small(index) ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        CHECK(receives[index] == MPI_REQUEST_NULL);
        seen++;
    }
}

// The statuses may be ignored; the code still says that something failed.
static void ignored(void) {
    int out[N][4], in[N][4];
    MPI_Request sends[N], receives[N];
    MPI_Status statuses[N];
    begin(out, in, sends, receives, statuses);
    CHECK_CLASS(MPI_Waitall(N, receives, MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);
    for (int i = 0; i < N; i++)
        if (receives[i] != MPI_REQUEST_NULL) MPI_Wait(&receives[i], MPI_STATUS_IGNORE);
}

// All well: the error fields are not touched.
static void clean(void) {
    int out[2] = {1, 2}, in[2] = {0, 0};
    MPI_Request requests[4];
    MPI_Status statuses[4];
    for (int i = 0; i < 4; i++) statuses[i].MPI_ERROR = MARK;
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[2 + i]);
    }
    OK(MPI_Waitall(4, requests, statuses));
    for (int i = 0; i < 4; i++) CHECK_EQ(statuses[i].MPI_ERROR, MARK);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    for (int by_test = 0; by_test < 2; by_test++) {
        all(by_test);
        some(by_test);
        any(by_test);
    }
    ignored();
    clean();
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
