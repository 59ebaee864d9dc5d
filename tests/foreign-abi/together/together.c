/* Plugins for three ABIs in one process, which itself needs no MPI: the arguments are their paths, in the order of loading.
 * Each object that one makes is used by each, and its functions are called in the ABI of their plugin. */
#include "plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 3 };

static const struct plugin *plugins[MOST];

static void fail(const char *maker, const char *user, const char *text)
{
    fprintf(stderr, "together: an object of %s in %s: %s\n", maker, user, text);
    exit(1);
}

int main(int argc, char **argv)
{
    int count = argc - 1, rank = 0, made[MADE], integers[PREDEFINED];
    if (count < 1 || count > MOST) return 2;
    for (int i = 0; i < count; i++) {
        void *library = dlopen(argv[i + 1], i % 2 ? RTLD_LAZY | RTLD_LOCAL : RTLD_NOW | RTLD_LOCAL);
        plugins[i] = library ? dlsym(library, "plugin") : NULL;
        if (!plugins[i]) {
            fprintf(stderr, "together: %s\n", dlerror());
            return 1;
        }
    }
    for (int i = 0; i < count; i++) rank = plugins[i]->start();
    /* MPI_REDUCE_LOCAL as programs in Fortran of each ABI call it. */
    void (*reduce_local[MOST])(void *, void *, int *, int *, int *, int *);
    int fortrans = 0;
    char *libraries = getenv("FORTRAN_LIBRARIES");
    for (char *path = libraries ? strtok(libraries, ":") : NULL; path && fortrans < MOST; path = strtok(NULL, ":")) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *function = library ? dlsym(library, "mpi_reduce_local_") : NULL;
        if (!function) {
            fprintf(stderr, "together: %s\n", dlerror());
            return 1;
        }
        memcpy(&reduce_local[fortrans++], &function, sizeof function);
    }
    int pairs = 0, listed = 0;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            const struct plugin *maker = plugins[i], *user = plugins[j];
            listed = maker->list_predefined(integers);
            const char *wrong = listed <= PREDEFINED ? user->check_predefined(integers) : "too many handles";
            if (wrong) fail(maker->abi, user->abi, wrong);
            maker->make(made, "together.file");
            for (int k = 0; k < fortrans; k++) {
                int in = 3, inout = 4, one = 1, error = -1;
                reduce_local[k](&in, &inout, &one, &made[INT], &made[OP], &error);
                if (error != 0 || inout != 14) fail(maker->abi, "Fortran", "a reduction");
            }
            wrong = user->use(made);
            if (wrong) fail(maker->abi, user->abi, wrong);
            user->release(made);
            int fired = maker->fired();
            if (fired != CALLS) {
                fprintf(stderr, "together: %s: %d of %d functions were called\n", maker->abi, fired, CALLS);
                return 1;
            }
            pairs++;
        }
    plugins[count - 1]->end();
    for (int i = 0; i < count; i++) {
        int fired = plugins[i]->fired();
        if (fired == CALLS_AT_END) continue;
        fprintf(stderr, "together: %s: %d of %d functions were called by MPI_Finalize\n", plugins[i]->abi, fired, CALLS_AT_END);
        return 1;
    }
    if (rank == 0) printf("%d pairs of ABIs, %d predefined handles, %d libraries of Fortran\n", pairs, listed, fortrans);
    return 0;
}
