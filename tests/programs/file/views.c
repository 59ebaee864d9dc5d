// ranks: 1 2 3 4 7
// no-check: the ranks give different arguments, which are errors
// Views: blocks that the ranks take in turn, subarrays, distributed arrays, displacements, types that no view may have.
#include "files.h"

static MPI_File fh;
static MPI_Status status;

static int number(long long element) { return (int)(element * 7 + 13); }

// Blocks of `block` ints in turn, behind a header of `disp` bytes; written and read alone or together, in several pieces.
static void in_turn(int block, int pieces, int together) {
    enum { HEADER = 37 };
    const int count = block * pieces;
    MPI_Datatype blocks, filetype;
    MPI_Offset at = -1;
    fh = open_new("turn");
    MPI_Type_contiguous(block, MPI_INT, &blocks);
    MPI_Type_create_resized(blocks, 0, (MPI_Aint)block * size * 4, &filetype);
    MPI_Type_commit(&filetype);
    OK(MPI_File_set_view(fh, HEADER + (MPI_Offset)rank * block * 4, MPI_INT, filetype, "native", MPI_INFO_NULL));
    MPI_Type_free(&filetype);
    MPI_Type_free(&blocks);
    int *mine = get_memory(sizeof(int) * (size_t)count), *got = get_memory(sizeof(int) * (size_t)count);
    for (int i = 0; i < count; i++) mine[i] = number((long long)(i / block) * block * size + rank * block + i % block);
    // Not whole blocks: the second access begins inside of one.
    const int first = count / 3 + 1;
    if (together) {
        OK(MPI_File_write_all(fh, mine, first, MPI_INT, &status));
        CHECK_COUNT(status, MPI_INT, first);
        OK(MPI_File_write_at_all(fh, first, mine + first, count - first, MPI_INT, &status));
    } else {
        OK(MPI_File_write(fh, mine, first, MPI_INT, &status));
        OK(MPI_File_write(fh, mine + first, count - first, MPI_INT, &status));
        OK(MPI_File_get_position(fh, &at));
        CHECK_EQ(at, count);
    }
    CHECK_COUNT(status, MPI_INT, count - first);
    MPI_Barrier(MPI_COMM_WORLD);
    const long long all = (long long)count * size;
    CHECK_EQ(size_outside("turn"), HEADER + 4 * all);
    int *outside = get_memory((size_t)all * 4);
    CHECK_EQ(read_outside("turn", HEADER, outside, (size_t)all * 4), 4 * all);
    for (long long i = 0; i < all; i++)
        if (outside[i] != number(i)) CHECK_FAIL("element %lld is %d", i, outside[i]);
    free(outside);

    OK(MPI_File_seek(fh, 0, MPI_SEEK_SET));
    memset(got, 0, sizeof(int) * (size_t)count);
    if (together) OK(MPI_File_read_all(fh, got, count, MPI_INT, &status));
    else OK(MPI_File_read(fh, got, count, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, count);
    CHECK(!memcmp(got, mine, sizeof(int) * (size_t)count));
    // From inside of a block, into memory with gaps.
    if (count > 5) {
        MPI_Datatype every_second;
        int gaps[11];
        memset(gaps, 0, sizeof gaps);
        MPI_Type_vector(5, 1, 2, MPI_INT, &every_second);
        MPI_Type_commit(&every_second);
        OK(MPI_File_read_at(fh, 1, gaps, 1, every_second, &status));
        for (int i = 0; i < 5; i++) {
            CHECK_EQ(gaps[2 * i], mine[1 + i]);
            CHECK_EQ(gaps[2 * i + 1], 0);
        }
        MPI_Type_free(&every_second);
    }
    // The end of the file in the view, and reading across it.
    OK(MPI_File_seek(fh, -1, MPI_SEEK_END));
    OK(MPI_File_get_position(fh, &at));
    const int seen = at == count - 1 ? 1 : 0;
    // The ranks before the last see an end that lies in another's block.
    CHECK(at == count - 1);
    memset(got, 0, 12);
    OK(MPI_File_read(fh, got, 3, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, seen);
    CHECK_EQ(got[0], mine[count - 1]);
    MPI_Offset byte = -1;
    OK(MPI_File_get_byte_offset(fh, block, &byte));
    CHECK_EQ(byte, HEADER + (MPI_Offset)rank * block * 4 + (MPI_Offset)block * size * 4);
    OK(MPI_File_get_byte_offset(fh, block - 1, &byte));
    CHECK_EQ(byte, HEADER + (MPI_Offset)rank * block * 4 + (block - 1) * 4);
    CHECK_ERROR(MPI_File_get_byte_offset(fh, -1, &byte), MPI_ERR_ARG, "MPI_File_get_byte_offset");
    free(mine);
    free(got);
    close_file(&fh);
}

// A matrix in parts: each rank some columns, then all of it read by rows.
static void subarrays(void) {
    enum { ROWS = 60, EACH = 5 };
    const int columns = EACH * size;
    MPI_Datatype part, rows;
    int mine[ROWS][EACH];
    fh = open_new("matrix");
    MPI_Type_create_subarray(2, (const int[]){ROWS, columns}, (const int[]){ROWS, EACH}, (const int[]){0, EACH * rank},
                             MPI_ORDER_C, MPI_INT, &part);
    MPI_Type_commit(&part);
    OK(MPI_File_set_view(fh, 0, MPI_INT, part, "native", MPI_INFO_NULL));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < EACH; j++) mine[i][j] = number(i * columns + EACH * rank + j);
    OK(MPI_File_write_all(fh, mine, ROWS * EACH, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, ROWS * EACH);
    MPI_Barrier(MPI_COMM_WORLD);
    int *all = get_memory(sizeof(int) * (size_t)(ROWS * columns));
    CHECK_EQ(read_outside("matrix", 0, all, sizeof(int) * (size_t)(ROWS * columns)), 4 * ROWS * columns);
    for (int i = 0; i < ROWS * columns; i++) CHECK_EQ(all[i], number(i));
    // A second tile of the filetype lies behind the whole matrix.
    MPI_Offset byte = -1;
    OK(MPI_File_get_byte_offset(fh, ROWS * EACH, &byte));
    CHECK_EQ(byte, 4 * ROWS * columns + 4 * EACH * rank);
    memset(mine, 0, sizeof mine);
    OK(MPI_File_read_at_all(fh, 0, mine, ROWS * EACH, MPI_INT, &status));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < EACH; j++) CHECK_EQ(mine[i][j], number(i * columns + EACH * rank + j));
    // As rows.
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "internal", MPI_INFO_NULL));
    OK(MPI_File_read_at(fh, 3 * columns, all, columns, MPI_INT, &status));
    for (int i = 0; i < columns; i++) CHECK_EQ(all[i], number(3 * columns + i));
    MPI_Type_free(&part);
    // Etypes that are rows.
    MPI_Type_contiguous(columns, MPI_INT, &rows);
    MPI_Type_commit(&rows);
    OK(MPI_File_set_view(fh, 0, rows, rows, "native", MPI_INFO_NULL));
    OK(MPI_File_seek(fh, 5, MPI_SEEK_SET));
    OK(MPI_File_read(fh, all, 2, rows, &status));
    CHECK_COUNT(status, rows, 2);
    CHECK_COUNT(status, MPI_INT, 2 * columns);
    for (int i = 0; i < 2 * columns; i++) CHECK_EQ(all[i], number(5 * columns + i));
    MPI_Offset at = -1;
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, 7);
    OK(MPI_File_seek(fh, 0, MPI_SEEK_END));
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, ROWS);
    if (columns > 1) CHECK_ERROR(MPI_File_read(fh, all, 1, MPI_INT, &status), MPI_ERR_TYPE, "whole etypes");
    MPI_Type_free(&rows);
    free(all);
    close_file(&fh);
}

// A cyclic distribution; ranks without any part take part, too.
static void distributed(int elements, int cycle) {
    MPI_Datatype part;
    int bytes = 0;
    fh = open_new("darray");
    MPI_Type_create_darray(size, rank, 1, &elements, (const int[]){MPI_DISTRIBUTE_CYCLIC}, &cycle, &size, MPI_ORDER_C,
                           MPI_INT, &part);
    MPI_Type_commit(&part);
    MPI_Type_size(part, &bytes);
    const int count = bytes / 4;
    OK(MPI_File_set_view(fh, 0, MPI_INT, part, "native", MPI_INFO_NULL));
    int *mine = get_memory((size_t)bytes), *got = get_memory((size_t)bytes), k = 0;
    for (int i = 0; i < elements; i++)
        if (i / cycle % size == rank) mine[k++] = number(i);
    CHECK_EQ(k, count);
    OK(MPI_File_write_all(fh, mine, count, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, count);
    MPI_Barrier(MPI_COMM_WORLD);
    int *all = get_memory(sizeof(int) * (size_t)elements);
    CHECK_EQ(read_outside("darray", 0, all, sizeof(int) * (size_t)elements), 4 * elements);
    for (int i = 0; i < elements; i++) CHECK_EQ(all[i], number(i));
    OK(MPI_File_read_at_all(fh, 0, got, count, MPI_INT, &status));
    CHECK(!memcmp(got, mine, (size_t)bytes));
    if (count == 0) CHECK_ERROR(MPI_File_write(fh, all, 1, MPI_INT, &status), MPI_ERR_TYPE, "no data");
    free(all);
    free(mine);
    free(got);
    MPI_Type_free(&part);
    close_file(&fh);
}

// What a view is, as the file tells it.
static void asked(void) {
    MPI_Offset disp = -1;
    MPI_Datatype etype, filetype, vector;
    char datarep[MPI_MAX_DATAREP_STRING];
    fh = open_new("asked");
    OK(MPI_File_get_view(fh, &disp, &etype, &filetype, datarep));
    CHECK_EQ(disp, 0);
    CHECK(etype == MPI_BYTE);
    CHECK(filetype == MPI_BYTE);
    CHECK(!strcmp(datarep, "native"));
    MPI_Type_vector(3, 1, 2, MPI_FLOAT, &vector);
    MPI_Type_commit(&vector);
    OK(MPI_File_seek(fh, 99, MPI_SEEK_SET));
    OK(MPI_File_set_view(fh, 17 + rank, MPI_FLOAT, vector, "external32", MPI_INFO_NULL));
    MPI_Type_free(&vector);
    OK(MPI_File_get_position(fh, &disp));
    CHECK_EQ(disp, 0);
    OK(MPI_File_get_view(fh, &disp, &etype, &filetype, datarep));
    CHECK_EQ(disp, 17 + rank);
    CHECK(etype == MPI_FLOAT);
    CHECK(!strcmp(datarep, "external32"));
    int bytes = 0, ints, addresses, types, combiner;
    MPI_Type_size(filetype, &bytes);
    CHECK_EQ(bytes, 12);
    MPI_Type_get_envelope(filetype, &ints, &addresses, &types, &combiner);
    CHECK_EQ(combiner, MPI_COMBINER_VECTOR);
    // It is committed: it can be used at once.
    OK(MPI_File_set_view(fh, 0, etype, filetype, "native", MPI_INFO_NULL));
    MPI_Aint extent = -1;
    OK(MPI_File_get_type_extent(fh, filetype, &extent));
    CHECK_EQ(extent, 20);
    MPI_Type_free(&filetype);
    close_file(&fh);
}

static void wrong(void) {
    MPI_Datatype backwards, twice, odd, negative, open;
    fh = open_new("wrong");
    MPI_Type_create_indexed_block(2, 1, (const int[]){2, 0}, MPI_INT, &backwards);
    MPI_Type_create_indexed_block(2, 1, (const int[]){1, 1}, MPI_INT, &twice);
    MPI_Type_create_indexed_block(2, 1, (const int[]){-1, 1}, MPI_INT, &negative);
    MPI_Type_contiguous(6, MPI_BYTE, &odd);
    MPI_Type_contiguous(2, MPI_INT, &open);
    MPI_Type_commit(&backwards);
    MPI_Type_commit(&twice);
    MPI_Type_commit(&negative);
    MPI_Type_commit(&odd);
#define VIEW(disp, etype, filetype, datarep) MPI_File_set_view(fh, disp, etype, filetype, datarep, MPI_INFO_NULL)
    CHECK_ERROR(VIEW(0, MPI_INT, backwards, "native"), MPI_ERR_TYPE, "backwards");
    CHECK_ERROR(VIEW(0, MPI_INT, twice, "native"), MPI_ERR_TYPE, "overlap");
    CHECK_ERROR(VIEW(0, MPI_INT, negative, "native"), MPI_ERR_TYPE, "negative");
    CHECK_ERROR(VIEW(0, MPI_INT, odd, "native"), MPI_ERR_TYPE, "multiple");
    CHECK_ERROR(VIEW(0, MPI_INT, open, "native"), MPI_ERR_TYPE, "committed");
    CHECK_ERROR(VIEW(0, MPI_DATATYPE_NULL, MPI_INT, "native"), MPI_ERR_TYPE, "MPI_DATATYPE_NULL");
    CHECK_ERROR(VIEW(-3, MPI_INT, MPI_INT, "native"), MPI_ERR_ARG, "-3");
    CHECK_ERROR(VIEW(MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native"), MPI_ERR_ARG, "MPI_DISPLACEMENT_CURRENT");
    CHECK_ERROR(VIEW(0, MPI_INT, MPI_INT, "roman"), MPI_ERR_UNSUPPORTED_DATAREP, "roman");
    CHECK_ERROR(VIEW(0, MPI_INT, MPI_INT, NULL), MPI_ERR_ARG, "datarep");
    CHECK_ERROR(VIEW(0, MPI_INT, MPI_INT, "Native"), MPI_ERR_UNSUPPORTED_DATAREP, "Native");
    if (size > 1) {
        CHECK_ERROR(VIEW(0, rank ? MPI_INT : MPI_DOUBLE, MPI_DOUBLE, "native"), MPI_ERR_NOT_SAME, "etype");
        CHECK_ERROR(VIEW(0, MPI_INT, MPI_INT, rank ? "native" : "internal"), MPI_ERR_NOT_SAME, "representation");
        // If one rank makes a mistake, all ranks get an error.
        CHECK_ERROR(VIEW(rank ? 0 : -2, MPI_INT, MPI_INT, "native"), MPI_ERR_ARG, rank ? "rank 0" : "-2");
    }
    // Nothing of all this has changed the view.
    MPI_Offset disp = -1;
    MPI_Datatype etype, filetype;
    char datarep[MPI_MAX_DATAREP_STRING];
    OK(MPI_File_get_view(fh, &disp, &etype, &filetype, datarep));
    CHECK(disp == 0 && etype == MPI_BYTE && filetype == MPI_BYTE);
    close_file(&fh);
    // What is only read may be seen twice.
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) write_outside("wrong", (const int[]){10, 11, 12, 13, 14, 15}, 24);
    OK(MPI_File_open(MPI_COMM_WORLD, "wrong", MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
    OK(VIEW(0, MPI_INT, twice, "native"));
    int got[6] = {0};
    OK(MPI_File_read(fh, got, 4, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, 4);
    CHECK_EQ(got[0], 11);
    CHECK_EQ(got[1], 11);
    // Copies that lie one into the other.
    MPI_Datatype apart, comb;
    MPI_Type_vector(2, 1, 2, MPI_INT, &apart);
    MPI_Type_create_resized(apart, 0, 4, &comb);
    MPI_Type_commit(&comb);
    OK(VIEW(0, MPI_INT, comb, "native"));
    OK(MPI_File_read(fh, got, 6, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, 6);
    for (int i = 0; i < 6; i++) CHECK_EQ(got[i], 10 + i / 2 + i % 2 * 2);
    MPI_Type_free(&apart);
    MPI_Type_free(&comb);
    close_file(&fh);
    MPI_Type_free(&backwards);
    MPI_Type_free(&twice);
    MPI_Type_free(&negative);
    MPI_Type_free(&odd);
    MPI_Type_free(&open);
}

// Etypes that lie gigabytes apart.
static void sparse(void) {
    MPI_Datatype far;
    int mine[3] = {rank, rank + 1, rank + 2}, got[3] = {0};
    fh = open_new("sparse");
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)3 << 30, &far);
    MPI_Type_commit(&far);
    OK(MPI_File_set_view(fh, 4 * rank, MPI_INT, far, "native", MPI_INFO_NULL));
    OK(MPI_File_write_all(fh, mine, 3, MPI_INT, &status));
    OK(MPI_File_read_at(fh, 0, got, 3, MPI_INT, &status));
    CHECK(!memcmp(mine, got, sizeof got));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(size_outside("sparse"), ((long long)6 << 30) + 4 * size);
    int outside = -1;
    CHECK_EQ(read_outside("sparse", ((long long)6 << 30) + 4 * rank, &outside, 4), 4);
    CHECK_EQ(outside, rank + 2);
    MPI_Type_free(&far);
    close_file(&fh);
}

// A struct of a type with an end of its own and one far behind: its extent is that of the first, so a second copy would overlap.
// As a selection of an array that is used once, it is good.
static void once(void) {
    MPI_Datatype marked, filetype;
    const int far = 1000 * size;
    int mine[3] = {rank, rank + 100, rank + 200}, got[3] = {-1, -1, -1};
    fh = open_new("once");
    MPI_Type_create_resized(MPI_INT, 0, 20, &marked);
    MPI_Type_create_struct(2, (const int[]){1, 2}, (const MPI_Aint[]){4 * rank, 4 * (far + 2 * rank)},
                           (const MPI_Datatype[]){marked, MPI_INT}, &filetype);
    MPI_Type_commit(&filetype);
    OK(MPI_File_set_view(fh, 0, MPI_INT, filetype, "native", MPI_INFO_NULL));
    OK(MPI_File_write_all(fh, mine, 3, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, 3);
    OK(MPI_File_read_at_all(fh, 0, got, 3, MPI_INT, &status));
    CHECK(!memcmp(mine, got, sizeof got));
    CHECK_ERROR(MPI_File_write_at(fh, 2, mine, 2, MPI_INT, &status), MPI_ERR_ARG, "overlap");
    CHECK_ERROR(MPI_File_read(fh, got, 1, MPI_INT, &status), MPI_ERR_ARG, "overlap");
    MPI_Barrier(MPI_COMM_WORLD);
    int outside[2] = {-1, -1};
    CHECK_EQ(read_outside("once", 4 * rank, outside, 4), 4);
    CHECK_EQ(outside[0], rank);
    CHECK_EQ(read_outside("once", 4 * (far + 2 * rank), outside, 8), 8);
    CHECK(outside[0] == rank + 100 && outside[1] == rank + 200);
    CHECK_EQ(size_outside("once"), 4 * (far + 2 * size));
    MPI_Type_free(&filetype);
    MPI_Type_free(&marked);
    close_file(&fh);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    for (int together = 0; together < 2; together++) {
        in_turn(1, 300, together);
        in_turn(7, 50, together);
        in_turn(5000, 4, together);
        in_turn(100000, 2, together);
    }
    subarrays();
    distributed(1000, 3);
    distributed(2, 1);
    asked();
    wrong();
    sparse();
    once();
    return finish();
}
