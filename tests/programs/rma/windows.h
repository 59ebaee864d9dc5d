// Windows of every kind behind one face: what the tests of one-sided communication share.
#ifndef WINDOWS_H
#define WINDOWS_H

#include "../check.h"

enum { CREATED, ALLOCATED, SHARED, GIVEN, DYNAMIC };

// Without single copies there are no dynamic windows.
#define KINDS (getenv("OXMPI_SINGLE_COPY") ? DYNAMIC : DYNAMIC + 1)

static const char *const kind_names[] CHECK_UNUSED = {"created", "allocated", "shared", "given", "dynamic"};

typedef struct {
    int kind;
    int unit;
    char *base;
    MPI_Win win;
    MPI_Aint *addresses;  // of every rank's memory, for a dynamic window
    int ranks;
} Window;

// Whether all processes of a communicator are on one host. Collective.
CHECK_UNUSED static int is_one_host(MPI_Comm comm) {
    MPI_Comm host;
    int all, here;
    MPI_Comm_size(comm, &all);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &here);
    MPI_Comm_free(&host);
    return here == all;
}

// A window over a communicator; the memory is filled with zeroes. Collective.
CHECK_UNUSED static Window window_on(MPI_Comm comm, int kind, size_t bytes, int unit) {
    Window w = {.kind = kind, .unit = kind == DYNAMIC ? 1 : unit};
    int me;
    MPI_Comm_size(comm, &w.ranks);
    MPI_Comm_rank(comm, &me);
    w.addresses = calloc((size_t)w.ranks, sizeof *w.addresses);
    // Between hosts there is no shared memory.
    if (kind == ALLOCATED || (kind == SHARED && !is_one_host(comm))) {
        MPI_Win_allocate((MPI_Aint)bytes, unit, MPI_INFO_NULL, comm, &w.base, &w.win);
    } else if (kind == SHARED) {
        // Every part begins at a multiple of eight bytes.
        MPI_Win_allocate_shared((MPI_Aint)((bytes + 7) / 8 * 8), unit, MPI_INFO_NULL, comm, &w.base, &w.win);
    } else if (kind == GIVEN) {
        // Created over memory of MPI_Alloc_mem, but not from its start.
        char *memory;
        MPI_Alloc_mem((MPI_Aint)bytes + 64, MPI_INFO_NULL, &memory);
        w.base = memory + 64;
        MPI_Win_create(w.base, (MPI_Aint)bytes, unit, MPI_INFO_NULL, comm, &w.win);
    } else {
        w.base = get_memory(bytes);
        if (kind == CREATED) {
            MPI_Win_create(w.base, (MPI_Aint)bytes, unit, MPI_INFO_NULL, comm, &w.win);
        } else {
            MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &w.win);
            MPI_Win_attach(w.win, w.base, (MPI_Aint)bytes);
            MPI_Get_address(w.base, &w.addresses[me]);
            for (int step = 1; step < w.ranks; step++) {
                int to = (me + step) % w.ranks, from = (me + w.ranks - step) % w.ranks;
                MPI_Sendrecv(&w.addresses[me], 1, MPI_AINT, to, 7, &w.addresses[from], 1, MPI_AINT, from, 7, comm,
                             MPI_STATUS_IGNORE);
            }
        }
    }
    // Under a lock, so that others see it in every memory model.
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, w.win);
    memset(w.base, 0, bytes);
    MPI_Win_unlock(me, w.win);
    MPI_Barrier(comm);
    return w;
}

CHECK_UNUSED static Window window(int kind, size_t bytes, int unit) {
    return window_on(MPI_COMM_WORLD, kind, bytes, unit);
}

// The displacement of a place, given in the window's units, in the memory of a rank.
CHECK_UNUSED static MPI_Aint place(const Window *w, int target, MPI_Aint at) {
    return w->kind == DYNAMIC ? w->addresses[target] + at : at;
}

CHECK_UNUSED static void window_free(Window *w) {
    if (w->kind == DYNAMIC) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_detach(w->win, w->base);
    }
    MPI_Win_free(&w->win);
    CHECK(w->win == MPI_WIN_NULL);
    if (w->kind == CREATED || w->kind == DYNAMIC) free(w->base);
    if (w->kind == GIVEN) MPI_Free_mem(w->base - 64);
    free(w->addresses);
}

#endif
