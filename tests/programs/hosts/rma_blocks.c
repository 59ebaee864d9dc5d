// ranks: 2
// launch: --pretend-hosts 2
// timeout: 120
// A put, a get and an accumulate with a million small blocks in the target's type: what goes over the wire is little more than
// the data. The sockets of this process tell how much that was.
#include "../rma/windows.h"
#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { BLOCKS = 1000000 };

// Bytes that went through the TCP sockets of this process, both ways.
static double moved(void) {
    double bytes = 0;
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct tcp_info info = {0};
        socklen_t length = sizeof info;
        if (getsockopt(atoi(entry->d_name), IPPROTO_TCP, TCP_INFO, &info, &length) == 0)
            bytes += (double)info.tcpi_bytes_received + (double)info.tcpi_bytes_acked;
    }
    if (dir) closedir(dir);
    return bytes;
}

static double bytes_of(void (*operation)(Window *, MPI_Datatype, int *), Window *w, MPI_Datatype type, int *numbers) {
    const double before = moved();
    operation(w, type, numbers);
    MPI_Win_flush(0, w->win);
    return moved() - before;
}

static void put(Window *w, MPI_Datatype type, int *numbers) {
    MPI_Put(numbers, BLOCKS, MPI_INT, 0, place(w, 0, 0), 1, type, w->win);
}

static void get(Window *w, MPI_Datatype type, int *numbers) {
    memset(numbers, 0, BLOCKS * sizeof(int));
    MPI_Get(numbers, BLOCKS, MPI_INT, 0, place(w, 0, 0), 1, type, w->win);
}

static void add(Window *w, MPI_Datatype type, int *numbers) {
    MPI_Accumulate(numbers, BLOCKS, MPI_INT, 0, place(w, 0, 0), 1, type, MPI_SUM, w->win);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Datatype type;
    MPI_Type_vector(BLOCKS, 1, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int kind = CREATED; kind <= ALLOCATED; kind++) {
        Window w = window(kind, 3 * BLOCKS * sizeof(int), 1);
        int *numbers = get_memory(BLOCKS * sizeof(int));
        for (int i = 0; i < BLOCKS; i++) numbers[i] = i;
        if (rank == 1) {
            MPI_Win_lock_all(0, w.win);
            const double data = BLOCKS * sizeof(int), most = 1.02 * data;
            const double puts = bytes_of(put, &w, type, numbers), gets = bytes_of(get, &w, type, numbers);
            for (int i = 0; i < BLOCKS; i++) CHECK_EQ(numbers[i], i);
            const double adds = bytes_of(add, &w, type, numbers);
            MPI_Win_unlock_all(w.win);
            printf("%s: %.0f bytes of data: put %.0f, get %.0f, accumulate %.0f\n", kind_names[kind], data, puts, gets, adds);
            if (puts < data || puts > most || gets < data || gets > most || adds < data || adds > most) CHECK_FAIL("the bytes on the wire are not those of the data");
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win);
        if (rank == 0)
            for (int i = 0; i < 3 * BLOCKS; i++) CHECK_EQ(((int *)w.base)[i], i % 3 ? 0 : 2 * (i / 3));
        MPI_Win_unlock(rank, w.win);
        free(numbers);
        window_free(&w);
    }
    MPI_Type_free(&type);
    return finish();
}
