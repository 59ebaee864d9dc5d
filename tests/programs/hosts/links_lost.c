// ranks: 3 5
// launch: --with-ft ulfm --pretend-hosts 3
// timeout: 120
// args: wait
// args: test
// args: window
// expect-stderr: rank 1 is ended, because
// sleeps: a verdict comes after some seconds
// no-valgrind: a rank is killed
// Rank 1 loses its links to all ranks of other hosts, and nobody has died: rank 1 is ended, and nobody else, although the others
// have lost a link, too. Whoever waits, or tests again and again, learns of it within seconds.
#include "../ft/ft.h"
#include <dirent.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { CUT = 1, LIMIT = 40 };

// Takes every TCP connection of this process.
static int cut_links(void) {
    int cut = 0;
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        struct sockaddr_storage peer;
        socklen_t length = sizeof peer;
        int fd = atoi(entry->d_name);
        if (getpeername(fd, (struct sockaddr *)&peer, &length) != 0) continue;
        if (peer.ss_family != AF_INET && peer.ss_family != AF_INET6) continue;
        if (shutdown(fd, SHUT_RDWR) == 0) cut++;
    }
    closedir(folder);
    return cut;
}

static int put_at(int target, MPI_Win win) {
    int code = MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    if (code != MPI_SUCCESS) return code;
    code = MPI_Put(&rank, 1, MPI_INT, target, 0, 1, MPI_INT, win);
    int closed = MPI_Win_unlock(target, win);
    return code != MPI_SUCCESS ? code : closed;
}

int main(int argc, char **argv) {
    MPI_Win win = MPI_WIN_NULL;
    MPI_Comm left;
    int got = 0, far, *memory;
    ft_start(&argc, &argv);
    const char *how = argc > 1 ? argv[1] : "wait";
    int uses_window = strcmp(how, "window") == 0;
    if (uses_window) {
        OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
        OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    }
    // All have links to rank 1, and it has those to the agents.
    far = size - 1;
    for (int r = 0; r < size; r++)
        if (r != CUT && rank == r) OK(MPI_Send(&rank, 1, MPI_INT, CUT, 1, MPI_COMM_WORLD));
    for (int r = 0; r < size; r++)
        if (r != CUT && rank == CUT) OK(MPI_Recv(&got, 1, MPI_INT, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (uses_window && rank == CUT) OK(put_at(far, win));
    double begin = MPI_Wtime();
    if (rank == CUT) {
        CHECK(cut_links() > 0);
        if (uses_window) put_at(far, win);
    }
    if (strcmp(how, "test") == 0) {
        MPI_Request request;
        int flag = 0, code = MPI_SUCCESS;
        OK(MPI_Irecv(&got, 1, MPI_INT, rank == CUT ? far : CUT, 2, MPI_COMM_WORLD, &request));
        while (!flag && code == MPI_SUCCESS && MPI_Wtime() < begin + 2 * LIMIT) code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK_EQ(code, PROC_FAILED);
    } else {
        FAILS(MPI_Recv(&got, 1, MPI_INT, rank == CUT ? far : CUT, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), PROC_FAILED);
    }
    CHECK(rank != CUT);
    CHECK(MPI_Wtime() < begin + LIMIT);
    left = shrunk(MPI_COMM_WORLD, size - 1);
    OK(MPI_Comm_free(&left));
    if (uses_window) OK(MPI_Win_free(&win));
    return finish();
}
