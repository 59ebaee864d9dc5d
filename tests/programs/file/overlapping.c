// ranks: 1 2
// Reads into a memory type whose entries overlap: forbidden, but programs do it to read into one buffer over and over, and
// what is read last stays.
#include "files.h"

enum { BLOCK = 4096, BLOCKS = 4 };

static unsigned char kept[BLOCK], expected[BLOCKS * BLOCK];

// Reads all blocks, of a length, into the same place.
static void over_and_over(MPI_File fh, int length) {
    MPI_Datatype block, same;
    MPI_Status status;
    MPI_Request request;
    OK(MPI_Type_contiguous(length, MPI_BYTE, &block));
    OK(MPI_Type_create_resized(block, 0, 0, &same));
    OK(MPI_Type_commit(&same));
    for (int form = 0; form < 4; form++) {
        memset(kept, 0, sizeof kept);
        switch (form) {
        case 0: OK(MPI_File_read_at(fh, 0, kept, BLOCKS, same, &status)); break;
        case 1: OK(MPI_File_read_at_all(fh, 0, kept, BLOCKS, same, &status)); break;
        case 2:
            OK(MPI_File_iread_at(fh, 0, kept, BLOCKS, same, &request));
            OK(MPI_Wait(&request, &status));
            break;
        default:
            OK(MPI_File_seek(fh, 0, MPI_SEEK_SET));
            OK(MPI_File_read_all(fh, kept, BLOCKS, same, &status));
        }
        CHECK_COUNT(status, same, BLOCKS);
        CHECK(memcmp(kept, expected + (BLOCKS - 1) * length, (size_t)length) == 0);
    }
    MPI_Type_free(&block);
    MPI_Type_free(&same);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    MPI_File fh = open_new("blocks");
    MPI_Status status;
    for (size_t i = 0; i < sizeof expected; i++) expected[i] = (unsigned char)(i * 7 + i / 251);
    if (rank == 0) OK(MPI_File_write_at(fh, 0, expected, sizeof expected, MPI_BYTE, &status));
    OK(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
    // Packed first, and piece by piece; from a file without gaps, and with.
    over_and_over(fh, 8);
    over_and_over(fh, BLOCK);
    MPI_Datatype gaps, twice;
    OK(MPI_Type_create_resized(MPI_BYTE, 0, 2, &gaps));
    OK(MPI_Type_commit(&gaps));
    OK(MPI_File_set_view(fh, 0, MPI_BYTE, gaps, "native", MPI_INFO_NULL));
    for (size_t i = 0; i < sizeof expected / 2; i++) expected[i] = expected[2 * i];
    over_and_over(fh, 8);
    // And with a conversion.
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    const int numbers[2] = {5, 6};
    int last = 0;
    if (rank == 0) OK(MPI_File_write_at(fh, 0, numbers, 2, MPI_INT, &status));
    OK(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Type_create_indexed_block(2, 1, (const int[]){0, 0}, MPI_INT, &twice));
    OK(MPI_Type_commit(&twice));
    OK(MPI_File_read_at(fh, 0, &last, 1, twice, &status));
    CHECK_COUNT(status, twice, 1);
    CHECK_EQ(last, 6);
    MPI_Type_free(&gaps);
    MPI_Type_free(&twice);
    close_file(&fh);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink("blocks");
    return finish();
}
