/* Collective file access: blocks of one size alternate between the ranks in one file. The first
 * argument is the name of the place in the results, the second a directory there; further ones are
 * hints, as KEY=VALUE.
 *
 *   write_all   MPI_File_write_all, over a file that exists
 *   read_all    MPI_File_read_all of what was written, which is then compared
 *   iwrite_all  MPI_File_iwrite_all and MPI_Wait
 *
 * The rate is that of all ranks together, from a barrier to the slowest rank's return. The file stays
 * in the page cache: how fast a device is says nothing about an MPI library.
 */
#include <mpi.h>
#include <unistd.h>

#include "bench.h"

enum { ROUNDS = 7 };

static int rank, ranks, failed;
static MPI_Info hints = MPI_INFO_NULL;

static void check(int error, const char *what)
{
    if (error != MPI_SUCCESS) {
        fprintf(stderr, "io: %s failed on rank %d\n", what, rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static int byte_of(int of, size_t at) { return (int)((at * 7 + (size_t)of * 31 + at / 251) & 0xff); }

static void measure(const char *place, const char *file, size_t block, size_t bytes)
{
    static const char *const forms[] = {"write_all", "read_all", "iwrite_all"};
    size_t blocks = bytes / block;
    char *data = page_buffer(bytes), *found = page_buffer(bytes);
    MPI_Datatype one, type;
    MPI_File fh;

    for (size_t i = 0; i < bytes; i++)
        data[i] = (char)byte_of(rank, i);
    MPI_Type_contiguous((int)block, MPI_BYTE, &one);
    MPI_Type_create_resized(one, 0, (MPI_Aint)(block * (size_t)ranks), &type);
    MPI_Type_commit(&type);
    check(MPI_File_open(MPI_COMM_WORLD, file, MPI_MODE_RDWR | MPI_MODE_CREATE, hints, &fh), "MPI_File_open");
    check(MPI_File_set_view(fh, (MPI_Offset)(block * (size_t)rank), MPI_BYTE, type, "native", MPI_INFO_NULL),
          "MPI_File_set_view");
    for (int form = 0; form < 3; form++) {
        double rates[ROUNDS];
        for (int round = -1; round < ROUNDS; round++) {
            MPI_Status status;
            MPI_Request request;
            check(MPI_File_seek(fh, 0, MPI_SEEK_SET), "MPI_File_seek");
            MPI_Barrier(MPI_COMM_WORLD);
            double t = seconds(), slowest;
            switch (form) {
            case 0: check(MPI_File_write_all(fh, data, (int)(blocks * block), MPI_BYTE, &status), forms[form]); break;
            case 1: check(MPI_File_read_all(fh, found, (int)(blocks * block), MPI_BYTE, &status), forms[form]); break;
            default:
                check(MPI_File_iwrite_all(fh, data, (int)(blocks * block), MPI_BYTE, &request), forms[form]);
                check(MPI_Wait(&request, &status), "MPI_Wait");
            }
            t = seconds() - t;
            MPI_Allreduce(&t, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
            if (round >= 0)
                rates[round] = (double)(blocks * block) * ranks / slowest / 1e6;
        }
        if (form == 1 && memcmp(data, found, blocks * block) != 0) {
            fprintf(stderr, "io: rank %d read other bytes than it wrote, in blocks of %zu\n", rank, block);
            failed = 1;
        }
        if (rank == 0) {
            char name[80], size[24];
            snprintf(name, sizeof name, "io/%s/%s/%s", place, forms[form], size_name(block, size));
            report(name, "MB/s", rates, ROUNDS);
        }
    }
    MPI_File_close(&fh);
    MPI_Type_free(&type);
    MPI_Type_free(&one);
    free(data);
    free(found);
}

int main(int argc, char **argv)
{
    static const size_t blocks[] = {8, 64, 512, 4096, 65536, 1 << 20};
    char file[4096];
    int quick = is_quick(argc, argv);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 3) {
        fprintf(stderr, "usage: io PLACE DIRECTORY [--quick]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    long pid = (long)getpid();
    MPI_Bcast(&pid, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    MPI_Info_create(&hints);
    for (int i = 3; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (value) {
            *value = '\0';
            MPI_Info_set(hints, argv[i], value + 1);
        }
    }
    snprintf(file, sizeof file, "%s/oxmpi-bench-io-%ld", argv[2], pid);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        measure(argv[1], file, blocks[i], (size_t)(quick ? 1 : 4) << 20);
    if (rank == 0)
        unlink(file);
    MPI_Info_free(&hints);
    MPI_Finalize();
    return failed;
}
