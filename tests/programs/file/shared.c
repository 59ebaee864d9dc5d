// ranks: 1 2 3 5 8
// no-check: the ranks give different arguments, which are errors
// The shared file pointer: every record is in the file once, wherever it is; ordered accesses are in the order of ranks.
#include "files.h"

typedef struct {
    int rank, number, length;
    char filler[52];
} Record;

static MPI_File fh;
static MPI_Status status;

static MPI_Offset shared_position(void) {
    MPI_Offset at = -1;
    OK(MPI_File_get_position_shared(fh, &at));
    return at;
}

// All ranks write records when they like, then read them all, each once.
static void records(void) {
    enum { EACH = 60 };
    MPI_Datatype type;
    Record record;
    fh = open_new("records");
    MPI_Type_contiguous(sizeof(Record), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    OK(MPI_File_set_view(fh, 100, type, type, "native", MPI_INFO_NULL));
    for (int i = 0; i < EACH; i++) {
        record = (Record){.rank = rank, .number = i, .length = (int)sizeof record};
        memset(record.filler, rank * 7 + i, sizeof record.filler);
        if (i % 3 == 0) OK(MPI_File_write_shared(fh, &record, 1, type, &status));
        else if (i % 3 == 1) OK(MPI_File_write_shared_c(fh, &record, 1, type, &status));
        else {
            MPI_Request request;
            if (i % 2) OK(MPI_File_iwrite_shared(fh, &record, 1, type, &request));
            else OK(MPI_File_iwrite_shared_c(fh, &record, 1, type, &request));
            OK(MPI_Wait(&request, &status));
        }
        CHECK_COUNT(status, type, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(shared_position(), EACH * size);
    CHECK_EQ(size_outside("records"), 100 + (long long)sizeof(Record) * EACH * size);
    MPI_Offset at = -1;
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, 0);

    // Each rank's records are in the order in which it wrote them.
    static int next[64];
    memset(next, 0, sizeof next);
    for (int i = 0; i < EACH * size; i++) {
        CHECK_EQ(read_outside("records", 100 + (long long)sizeof(Record) * i, &record, sizeof record), sizeof record);
        CHECK(record.rank >= 0 && record.rank < size);
        CHECK_EQ(record.number, next[record.rank]);
        next[record.rank]++;
        CHECK_BYTES(record.filler, sizeof record.filler, record.rank * 7 + record.number);
    }
    OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    int seen[64] = {0}, all[64], total = 0;
    for (;;) {
        if (total % 2) OK(MPI_File_read_shared(fh, &record, 1, type, &status));
        else {
            MPI_Request request;
            if (total % 4) OK(MPI_File_iread_shared(fh, &record, 1, type, &request));
            else OK(MPI_File_iread_shared_c(fh, &record, 1, type, &request));
            OK(MPI_Wait(&request, &status));
        }
        int count = -1;
        OK(MPI_Get_count(&status, type, &count));
        if (count == 0) break;
        CHECK_EQ(count, 1);
        seen[record.rank]++;
        total++;
    }
    MPI_Allreduce(seen, all, 64, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) CHECK_EQ(all[i], EACH);
    OK(MPI_File_seek_shared(fh, -1, MPI_SEEK_END));
    CHECK_EQ(shared_position(), EACH * size - 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        OK(MPI_File_read_shared_c(fh, &record, 3, type, &status));
        CHECK_COUNT(status, type, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(shared_position(), EACH * size);
    MPI_Type_free(&type);
    close_file(&fh);
}

// Each rank writes another number of ints, in rank order, again and again; with records of shared writes between them.
static void ordered(void) {
    enum { ROUNDS = 30 };
    int mine[64], got[64], before = 0;
    fh = open_new("ordered");
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int i = 0; i < rank; i++) before += i + 1;
    const int all = size * (size + 1) / 2;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i <= rank; i++) mine[i] = 10000 * round + 100 * rank + i;
        if (round % 2) OK(MPI_File_write_ordered(fh, mine, rank + 1, MPI_INT, &status));
        else OK(MPI_File_write_ordered_c(fh, mine, rank + 1, MPI_INT, &status));
        CHECK_COUNT(status, MPI_INT, rank + 1);
        // Immediately afterwards, in any order of ranks.
        OK(MPI_File_write_shared(fh, &round, 1, MPI_INT, &status));
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_EQ(shared_position(), (round + 1) * (all + size));
        CHECK_EQ(read_outside("ordered", 4LL * (round * (all + size) + before), got, 4 * (size_t)(rank + 1)), 4 * (rank + 1));
        for (int i = 0; i <= rank; i++) CHECK_EQ(got[i], mine[i]);
        CHECK_EQ(read_outside("ordered", 4LL * (round * (all + size) + all + rank), got, 4), 4);
        CHECK_EQ(got[0], round);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(MPI_File_seek_shared(fh, 3 * (all + size), MPI_SEEK_SET));
    OK(MPI_File_read_ordered(fh, got, rank + 1, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, rank + 1);
    for (int i = 0; i <= rank; i++) CHECK_EQ(got[i], 30000 + 100 * rank + i);
    // Nothing is a part, too.
    OK(MPI_File_read_ordered_c(fh, got, 0, MPI_INT, &status));
    CHECK_EQ(shared_position(), 4 * all + 3 * size);
    MPI_Barrier(MPI_COMM_WORLD);
    // Beyond the end no rank gets data, and the pointer moves to the end of the last request.
    OK(MPI_File_seek_shared(fh, -1, MPI_SEEK_END));
    OK(MPI_File_read_ordered(fh, got, 1, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, rank == 0);
    CHECK_EQ(shared_position(), ROUNDS * (all + size) - 1 + size);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_seek_shared(fh, 1 - size, MPI_SEEK_CUR));
    CHECK_EQ(shared_position(), ROUNDS * (all + size));
    close_file(&fh);
}

static void wrong(void) {
    int value = 0;
    fh = open_new("wrong");
    CHECK_ERROR(MPI_File_seek_shared(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG, "MPI_File_seek_shared");
    CHECK_ERROR(MPI_File_seek_shared(fh, 0, 3), MPI_ERR_ARG, "whence is 3");
    if (size > 1) {
        CHECK_ERROR(MPI_File_seek_shared(fh, rank, MPI_SEEK_SET), MPI_ERR_NOT_SAME, "offset");
        CHECK_ERROR(MPI_File_seek_shared(fh, 0, rank ? MPI_SEEK_SET : MPI_SEEK_END), MPI_ERR_NOT_SAME, "whence");
        // One that cannot take part is an error for all.
        CHECK_ERROR(MPI_File_write_ordered(fh, &value, rank ? 1 : -1, MPI_INT, &status), MPI_ERR_COUNT,
                    rank ? "rank 0" : "-1");
    }
    CHECK_ERROR(MPI_File_write_shared(fh, NULL, 1, MPI_INT, &status), MPI_ERR_BUFFER, "null");
    CHECK_EQ(shared_position(), 0);
    OK(MPI_File_write_ordered(fh, &value, 1, MPI_INT, &status));
    CHECK_EQ(shared_position(), 4 * size);
    // A view sets it back.
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    CHECK_EQ(shared_position(), 0);
    close_file(&fh);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    records();
    ordered();
    wrong();
    return finish();
}
