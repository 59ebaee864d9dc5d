// ranks: 3
// one-host: some cases use shared memory
// timeout: 60
// sleeps: ranks wait for seconds before they go on
// args: thread_self
// args: world_then_session
// args: mixed_collectives
// args: spin_lock
// args: tests
// args: file_lock
// args: reads_file_lines
// args: spawned_late
// args: parents_late
// args: error_handler_waits
// args: bcast_ahead
// args: mpirun_stopped
// args: idup_late
// args: file_late
// args: iwrite_late
// args: disconnect_late
// args: mpmd : -n 1 sleep 6
// More right programs in which ranks sleep in MPI for long and something else goes on: nothing is said, and they end well.
#define _GNU_SOURCE
#include "../check.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LATE 1500
static int rank, size;
static char many[1 << 20];
static MPI_Comm world;

static void pause_ms(int ms) {
    double end = MPI_Wtime() + ms / 1000.0;
    while (MPI_Wtime() < end) usleep(10000);
}

static void recv_from(int source, int tag) {
    int x;
    MPI_Recv(&x, 1, MPI_INT, source, tag, world, MPI_STATUS_IGNORE);
}

static void send_to(int dest, int tag) {
    MPI_Send(&rank, 1, MPI_INT, dest, tag, world);
}

static void *late_self(void *unused) {
    pause_ms(LATE);
    send_to(rank, 1);
    return unused;
}

static int wires[2];

/* As one that asks somebody who sits before the terminal. */
static void waits_for_input(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    CHECK(pipe(wires) == 0);
    pid_t child = fork();
    if (child == 0) {
        usleep(LATE * 1000);
        _exit(write(wires[1], "x", 1) != 1);
    }
    char byte;
    CHECK(read(wires[0], &byte, 1) == 1);
    waitpid(child, NULL, 0);
}

static MPI_Comm from_session(MPI_Session session, const char *tag) {
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

static int child(MPI_Comm parent, const char *name) {
    int x = 0;
    world = MPI_COMM_WORLD;
    if (strcmp(name, "spawned_late") == 0) {
        pause_ms(LATE);
        if (rank == 0) MPI_Send(&x, 1, MPI_INT, 0, 1, parent);
        pause_ms(LATE);
    } else {
        MPI_Bcast(&x, 1, MPI_INT, 0, parent);
        CHECK_EQ(x, 7);
    }
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2) return 1;
    int threads = strcmp(argv[1], "thread_self") == 0, level;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    MPI_Comm parent, one, inter;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) return child(parent, argv[1]);
    int next = (rank + 1) % size, before = (rank + size - 1) % size, x = rank, y = 0, flag = 0;
    MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Win win;
    MPI_File file;
    pthread_t thread;
#define CASE(name) else if (strcmp(argv[1], #name) == 0)
#define OPEN                                                                                                      \
    MPI_File_open(world, "right_more.tmp", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,             \
                  MPI_INFO_NULL, &file)
    if (0) {
    }
    CASE(thread_self) {
        pthread_create(&thread, NULL, late_self, NULL);
        recv_from(rank, 1);
        pthread_join(thread, NULL);
    }
    CASE(world_then_session) {
        MPI_Session session;
        if (rank == 1) {
            MPI_Finalize();
            usleep(LATE * 1000);
            MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        } else {
            MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        }
        one = from_session(session, "later");
        MPI_Barrier(one);
        MPI_Comm_free(&one);
        MPI_Session_finalize(&session);
        if (rank != 1) MPI_Finalize();
        return 0;
    }
    CASE(mixed_collectives) {
        MPI_Barrier_init(world, MPI_INFO_NULL, &requests[0]);
        if (rank == 2) pause_ms(LATE);
        MPI_Iallreduce(&x, &y, 1, MPI_INT, MPI_SUM, world, &requests[1]);
        MPI_Start(&requests[0]);
        MPI_Ibcast(many, sizeof many, MPI_CHAR, 1, world, &requests[2]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        CHECK_EQ(y, size * (size - 1) / 2);
        MPI_Request_free(&requests[0]);
    }
    CASE(spin_lock) {
        int *word, free_word = 0, taken = 1, seen = 1;
        MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, world, &word, &win);
        *word = 0;
        MPI_Barrier(world);
        MPI_Win_lock_all(0, win);
        if (rank != 2) {
            while (seen != free_word) {
                MPI_Compare_and_swap(&taken, &free_word, &seen, MPI_INT, 0, 0, win);
                MPI_Win_flush(0, win);
            }
            pause_ms(LATE / 2);
            MPI_Accumulate(&free_word, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, win);
            MPI_Win_flush(0, win);
            send_to(2, 1);
        } else {
            recv_from(0, 1);
            recv_from(1, 1);
        }
        MPI_Win_unlock_all(win);
        MPI_Win_free(&win);
    }
    CASE(tests) {
        if (rank == 0) {
            double end = MPI_Wtime() + LATE / 1000.0;
            MPI_Irecv(&x, 1, MPI_INT, 1, 1, world, &requests[0]);
            while (MPI_Wtime() < end) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
            send_to(1, 2);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            recv_from(0, 2);
            send_to(0, 1);
        }
        MPI_Barrier(world);
    }
    CASE(file_lock) {
        // Rank 0 holds a lock that rank 1 waits for outside MPI; the others sleep in MPI.
        int fd = open("lock.tmp", O_CREAT | O_RDWR, 0600);
        struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        CHECK(fd >= 0);
        if (rank == 0) CHECK(fcntl(fd, F_SETLKW, &all) == 0);
        MPI_Barrier(world);
        if (rank == 0) {
            pause_ms(LATE);
            all.l_type = F_UNLCK;
            CHECK(fcntl(fd, F_SETLK, &all) == 0);
            recv_from(1, 1);
        } else if (rank == 1) {
            CHECK(fcntl(fd, F_SETLKW, &all) == 0);
            send_to(0, 1);
        }
        MPI_Barrier(world);
        close(fd);
        if (rank == 0) unlink("lock.tmp");
    }
    CASE(reads_file_lines) {
        // A rank reads what a program prints slowly, as it would read its stdin.
        if (rank == 1) {
            FILE *lines = popen("for i in 1 2 3; do sleep 0.5; echo $i; done", "r");
            char line[16];
            while (fgets(line, sizeof line, lines)) flag++;
            CHECK_EQ(flag, 3);
            pclose(lines);
        }
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, world);
    }
    CASE(spawned_late) {
        char *args[] = {argv[1], NULL};
        MPI_Comm_spawn(argv[0], args, 2, MPI_INFO_NULL, 0, world, &inter, MPI_ERRCODES_IGNORE);
        if (rank == 0) MPI_Recv(&y, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);
        MPI_Barrier(world);
        MPI_Comm_disconnect(&inter);
    }
    CASE(parents_late) {
        char *args[] = {argv[1], NULL};
        MPI_Comm_spawn(argv[0], args, 2, MPI_INFO_NULL, 0, world, &inter, MPI_ERRCODES_IGNORE);
        if (rank == 0) pause_ms(LATE);
        y = 7;
        MPI_Bcast(&y, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
        MPI_Comm_disconnect(&inter);
    }
    CASE(error_handler_waits) {
        MPI_Errhandler handler;
        MPI_Comm_create_errhandler(waits_for_input, &handler);
        MPI_Comm_dup(world, &one);
        MPI_Comm_set_errhandler(one, handler);
        if (rank == 1) MPI_Send(&x, 1, MPI_INT, size + 5, 1, one);
        MPI_Barrier(world);
        MPI_Errhandler_free(&handler);
        MPI_Comm_free(&one);
    }
    CASE(bcast_ahead) {
        if (rank == 2) pause_ms(LATE);
        for (int i = 0; i < 200; i++) {
            y = rank == 0 ? i : -1;
            MPI_Bcast(&y, 1, MPI_INT, 0, world);
            CHECK_EQ(y, i);
        }
        MPI_Barrier(world);
    }
    CASE(mpirun_stopped) {
        // The judge itself does not run for a while, and everybody waits for rank 1 before and after.
        if (rank == 1) {
            pid_t judge = getppid(), helper = fork();
            if (helper == 0) {
                usleep(700000);
                kill(judge, SIGSTOP);
                usleep(LATE * 1000);
                kill(judge, SIGCONT);
                _exit(0);
            }
            pause_ms(LATE);
            waitpid(helper, NULL, 0);
        }
        MPI_Barrier(world);
    }
    CASE(idup_late) {
        MPI_Comm_idup(world, &one, &requests[0]);
        if (rank == 2) pause_ms(LATE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Barrier(one);
        MPI_Comm_free(&one);
    }
    CASE(file_late) {
        if (rank == 1) pause_ms(LATE);
        OPEN;
        if (rank == 2) pause_ms(LATE);
        MPI_File_write_ordered(file, many, 1000, MPI_INT, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
    }
    CASE(iwrite_late) {
        MPI_Datatype column;
        OPEN;
        MPI_Type_vector(10000, 1, size, MPI_INT, &column);
        MPI_Type_commit(&column);
        MPI_File_set_view(file, rank * 4, MPI_INT, column, "native", MPI_INFO_NULL);
        if (rank == 1) pause_ms(LATE);
        MPI_File_iwrite_all(file, many, 10000, MPI_INT, &requests[0]);
        MPI_File_iwrite_all(file, many, 10000, MPI_INT, &requests[1]);
        if (rank == 2) pause_ms(LATE);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Type_free(&column);
        MPI_File_close(&file);
    }
    CASE(disconnect_late) {
        MPI_Comm_dup(world, &one);
        MPI_Issend(&x, 1, MPI_INT, next, 4, one, &requests[0]);
        if (rank == 1) pause_ms(LATE);
        MPI_Irecv(&y, 1, MPI_INT, before, 4, one, &requests[1]);
        MPI_Comm_disconnect(&one);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK_EQ(y, before);
    }
    CASE(mpmd) {
        // The last rank never calls MPI; the others wait for each other in a communicator of their own.
        MPI_Group all, some;
        int last = size - 1;
        MPI_Comm_group(world, &all);
        MPI_Group_excl(all, 1, &last, &some);
        MPI_Comm_create_group(world, some, 1, &one);
        if (rank == 1) pause_ms(LATE);
        MPI_Barrier(one);
        MPI_Comm_free(&one);
        MPI_Group_free(&some);
        MPI_Group_free(&all);
    }
    else return 1;
    MPI_Finalize();
    return 0;
}
