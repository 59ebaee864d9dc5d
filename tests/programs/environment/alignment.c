// ranks: 1
// MPI_Alloc_mem with the alignment that the program asks for.
#include "../check.h"

int main(int argc, char **argv) {
    static const char *const wanted[] = {"1", "64", "4096", "2097152"};
    static const char *const wrong[] = {"0", "96", "-8", "much"};
    MPI_Info info;
    void *base = NULL;
    char *memory;
    start(&argc, &argv);
    return_errors();
    OK(MPI_Info_create(&info));
    for (int i = 0; i < 4; i++) {
        OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", wanted[i]));
        OK(MPI_Alloc_mem(1000, info, &memory));
        CHECK_EQ((uintptr_t)memory % (uintptr_t)atol(wanted[i]), 0);
        CHECK_EQ((uintptr_t)memory % 16, 0);
        fill(memory, 1000, 1);
        CHECK_PATTERN(memory, 1000, 1);
        OK(MPI_Free_mem(memory));
    }
    for (int i = 0; i < 4; i++) {
        OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", wrong[i]));
        CHECK_ERROR(MPI_Alloc_mem(1000, info, &base), MPI_ERR_INFO_VALUE, wrong[i]);
    }
    OK(MPI_Info_free(&info));
    CHECK_ERROR(MPI_Alloc_mem(8, MPI_INFO_NULL, NULL), MPI_ERR_ARG, "baseptr");
    CHECK_ERROR(MPI_Alloc_mem(8, (MPI_Info)MPI_INT, &base), MPI_ERR_INFO, "MPI_Alloc_mem");
    CHECK_ERROR(MPI_Alloc_mem(PTRDIFF_MAX, MPI_INFO_NULL, &base), MPI_ERR_NO_MEM, "MPI_Alloc_mem");
    OK(MPI_Alloc_mem(8, MPI_INFO_NULL, &base));
    OK(MPI_Free_mem(base));
    CHECK_ERROR(MPI_Free_mem(base), MPI_ERR_BASE, "MPI_Free_mem");
    CHECK_ERROR(MPI_Free_mem(&info), MPI_ERR_BASE, "MPI_Free_mem");
    return finish();
}
