// ranks: 1 2 3
// Puts through a target type whose entries overlap: forbidden, but programs do it (a scatter with a repeated index), and the
// last entry stays.
#include "windows.h"

int main(int argc, char **argv) {
    enum { LONG = 5000 };
    start(&argc, &argv);
    return_errors();
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int kind = 0; kind < KINDS; kind++) {
        Window w = window(kind, LONG / 4 * 5 * sizeof(double), sizeof(double));
        OK(MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN));
        const double *got = (const double *)w.base;
        const int lengths[3] = {1, 1, 1}, places[3] = {0, 2, 2};
        const double sent[3] = {rank + 1, rank + 10, rank + 100};
        MPI_Datatype twice, shifted, halves;
        OK(MPI_Type_indexed(3, lengths, places, MPI_DOUBLE, &twice));
        OK(MPI_Type_commit(&twice));
        OK(MPI_Win_lock_all(0, w.win));
        OK(MPI_Put(sent, 3, MPI_DOUBLE, next, place(&w, next, 0), 1, twice, w.win));
        OK(MPI_Win_flush(next, w.win));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Win_sync(w.win));
        CHECK(got[0] == before + 1 && got[1] == 0 && got[2] == before + 100);
        MPI_Barrier(MPI_COMM_WORLD);

        // With a request, from memory with gaps.
        const double spread[5] = {rank + 5, -1, rank + 6, -1, rank + 7};
        MPI_Request request;
        OK(MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &shifted));
        OK(MPI_Type_commit(&shifted));
        OK(MPI_Rput(spread, 1, shifted, next, place(&w, next, 0), 1, twice, w.win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Win_flush(next, w.win));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Win_sync(w.win));
        CHECK(got[0] == before + 5 && got[1] == 0 && got[2] == before + 7);
        MPI_Barrier(MPI_COMM_WORLD);

        // Long blocks, each over the second half of the one before.
        double *many = malloc(4 * LONG / 2 * sizeof *many);
        for (int i = 0; i < 4 * LONG / 2; i++) many[i] = 10000.0 * rank + i;
        OK(MPI_Type_create_hvector(4, LONG / 2, LONG / 4 * sizeof(double), MPI_DOUBLE, &halves));
        OK(MPI_Type_commit(&halves));
        OK(MPI_Put(many, 4 * LONG / 2, MPI_DOUBLE, next, place(&w, next, 0), 1, halves, w.win));
        OK(MPI_Win_flush(next, w.win));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Win_sync(w.win));
        for (int i = 0; i < LONG / 4 * 5; i++) {
            const int block = i / (LONG / 4) < 3 ? i / (LONG / 4) : 3;
            if (got[i] != 10000.0 * before + block * (LONG / 2) + i - block * (LONG / 4))
                CHECK_FAIL("place %d has %g", i, got[i]);
        }
        free(many);
        // What is read into, or added to, must still not overlap.
        double into[3];
        CHECK_ERROR(MPI_Get(into, 1, twice, next, place(&w, next, 0), 3, MPI_DOUBLE, w.win), MPI_ERR_TYPE, "overlap");
        CHECK_ERROR(MPI_Accumulate(sent, 3, MPI_DOUBLE, next, place(&w, next, 0), 1, twice, MPI_SUM, w.win), MPI_ERR_TYPE,
                    "overlap");
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Win_unlock_all(w.win));
        MPI_Type_free(&twice);
        MPI_Type_free(&shifted);
        MPI_Type_free(&halves);
        window_free(&w);
    }
    return finish();
}
