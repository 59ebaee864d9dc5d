// ranks: 3
// one-host: some cases use shared memory
// timeout: 60
// sleeps: ranks wait for seconds before they go on
// args: recv_late
// args: ssend_late
// args: probe_late
// args: barrier_late
// args: barrier_late_board
// args: bcast_forwarders
// args: polls
// args: sleeps
// args: signals
// args: thread_sends
// args: thread_cancels
// args: thread_starts
// args: grequest
// args: handler_posts
// args: socket_thread
// args: partition_late
// args: session_again
// args: persistent_order
// args: dup_late
// args: lock_holder_computes
// args: shared_locks
// args: spin_flag
// args: user_reduction
// args: attribute_in_finalize
// args: other_tag_first
// args: many_unexpected
// args: full_ring
// args: sends_and_ends
// args: freed_long_send
// args: waitany_last
// args: wildcard_last
// args: long_stream
// args: gatherv_nothing
// args: itimer
// args: stopped
// args: pipe
// args: error_returned
// Right programs in which all ranks but one sleep in MPI for long, or all of them, and something else goes on: nothing is said,
// and they end well.
#define _GNU_SOURCE
#include "../check.h"
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define LATE 1500
#define LONG (4 << 20)
static int rank, size;
static char many[LONG], more[LONG];
static MPI_Comm world;
static sem_t semaphore;

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

static void *late_send(void *dest) {
    pause_ms(LATE);
    send_to(*(int *)dest, 1);
    return NULL;
}

static void *late_cancel(void *request) {
    pause_ms(LATE);
    MPI_Cancel(request);
    return NULL;
}

static void *late_start(void *request) {
    pause_ms(LATE);
    MPI_Start(request);
    return NULL;
}

static void *late_complete(void *request) {
    pause_ms(LATE);
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}

static void *late_ready(void *request) {
    pause_ms(LATE);
    MPI_Pready(1, *(MPI_Request *)request);
    return NULL;
}

static void *sends_when_posted(void *dest) {
    while (sem_wait(&semaphore) != 0) {}
    send_to(*(int *)dest, 1);
    return NULL;
}

static void posts(int signal) {
    (void)signal;
    sem_post(&semaphore);
}

static int wires[2];
static void *sends_after_poll(void *dest) {
    struct pollfd fd = {wires[0], POLLIN, 0};
    while (poll(&fd, 1, -1) <= 0) {}
    send_to(*(int *)dest, 1);
    return NULL;
}

static void nothing(int signal) { (void)signal; }

static int query(void *state, MPI_Status *status) {
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}
static int freed(void *state) { (void)state; return MPI_SUCCESS; }
static int cancelled(void *state, int complete) { (void)state; (void)complete; return MPI_SUCCESS; }

static void slow_sum(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    pause_ms(LATE);
    for (int i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static int talks_at_the_end(MPI_Comm comm, int keyval, void *value, void *state) {
    (void)comm, (void)keyval, (void)value, (void)state;
    if (rank == 0) pause_ms(LATE), send_to(1, 1);
    if (rank == 1) recv_from(0, 1);
    return MPI_SUCCESS;
}

static MPI_Comm from_session(MPI_Session session, const char *tag) {
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

static int sessions(void) {
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Comm comm = from_session(session, "first"), later;
    int me;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_free(&comm);
    if (me == 1) {
        MPI_Session_finalize(&session);
        usleep(LATE * 1000);
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    }
    later = from_session(session, "second");
    MPI_Barrier(later);
    MPI_Comm_free(&later);
    MPI_Session_finalize(&session);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2) return 1;
    if (strcmp(argv[1], "session_again") == 0) return sessions();
    int threads = strncmp(argv[1], "thread", 6) == 0 || strcmp(argv[1], "grequest") == 0 ||
                  strcmp(argv[1], "handler_posts") == 0 || strcmp(argv[1], "socket_thread") == 0 ||
                  strcmp(argv[1], "partition_late") == 0;
    int level;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size, x = rank, y = 0, index, flag;
    MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Comm one;
    MPI_Win win;
    pthread_t thread;
    if (rank == 0) sem_init(&semaphore, 0, 0);
#define CASE(name) else if (strcmp(argv[1], #name) == 0)
    if (0) {
    }
    CASE(recv_late) {
        if (rank == 0) pause_ms(LATE), send_to(1, 1), recv_from(2, 1);
        if (rank == 1) recv_from(0, 1), send_to(2, 1);
        if (rank == 2) recv_from(1, 1), send_to(0, 1);
    }
    CASE(ssend_late) {
        if (rank == 0) pause_ms(LATE), recv_from(1, 1);
        if (rank == 1) MPI_Ssend(&x, 1, MPI_INT, 0, 1, world);
        if (rank == 2) MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_SELF);
        MPI_Barrier(world);
    }
    CASE(probe_late) {
        if (rank == 0) pause_ms(LATE), send_to(1, 4);
        if (rank == 1) MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, MPI_STATUS_IGNORE), recv_from(0, 4), send_to(2, 1);
        if (rank == 2) recv_from(1, 1);
    }
    CASE(barrier_late) { if (rank == 2) pause_ms(LATE); MPI_Barrier(world); }
    CASE(barrier_late_board) {
        for (int i = 0; i < 20; i++) MPI_Barrier(world);
        if (rank == 2) pause_ms(LATE);
        MPI_Barrier(world);
    }
    CASE(bcast_forwarders) {
        MPI_Ibcast(many, LONG, MPI_CHAR, 0, world, &requests[0]);
        if (rank < size - 1) {
            pause_ms(LATE);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            if (rank == 0) send_to(size - 1, 1);
        } else {
            recv_from(0, 1);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        }
    }
    CASE(polls) {
        double end = MPI_Wtime() + LATE / 1000.0;
        if (rank == 0) {
            while (MPI_Wtime() < end) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &flag, MPI_STATUS_IGNORE);
            send_to(1, 1);
        } else if (rank == 1) {
            recv_from(0, 1);
        }
        MPI_Barrier(world);
    }
    CASE(sleeps) { if (rank == 1) sleep(2); MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, world); }
    CASE(signals) {
        struct itimerval often = {{0, 50000}, {0, 50000}};
        struct sigaction action = {.sa_handler = nothing};
        sigaction(SIGPROF, &action, NULL);
        setitimer(ITIMER_PROF, &often, NULL);
        if (rank == 1) pause_ms(LATE);
        MPI_Barrier(world);
    }
    CASE(itimer) {
        struct itimerval later = {{0, 0}, {1, 500000}};
        struct sigaction action = {.sa_handler = nothing};
        sigaction(SIGALRM, &action, NULL);
        setitimer(ITIMER_REAL, &later, NULL);
        if (rank == 1) pause_ms(LATE + 300);
        MPI_Barrier(world);
    }
    CASE(thread_sends) {
        if (rank == 0) {
            pthread_create(&thread, NULL, late_send, &next);
            recv_from(1, 1);
            pthread_join(thread, NULL);
        }
        if (rank == 1) recv_from(0, 1), send_to(0, 1);
    }
    CASE(thread_cancels) {
        MPI_Irecv(&x, 1, MPI_INT, next, 1, world, &requests[0]);
        pthread_create(&thread, NULL, late_cancel, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        pthread_join(thread, NULL);
    }
    CASE(thread_starts) {
        MPI_Send_init(&x, 1, MPI_INT, next, 1, world, &requests[1]);
        MPI_Irecv(&y, 1, MPI_INT, before, 1, world, &requests[0]);
        pthread_create(&thread, NULL, late_start, &requests[1]);
        MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE);
        pthread_join(thread, NULL);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Request_free(&requests[1]);
    }
    CASE(grequest) {
        MPI_Grequest_start(query, freed, cancelled, NULL, &requests[0]);
        pthread_create(&thread, NULL, late_complete, &requests[0]);
        MPI_Request copy = requests[0];
        MPI_Wait(&copy, MPI_STATUS_IGNORE);
        pthread_join(thread, NULL);
    }
    CASE(handler_posts) {
        if (rank == 0) {
            signal(SIGUSR1, posts);
            pthread_create(&thread, NULL, sends_when_posted, &next);
            pid_t parent = getpid(), child = fork();
            if (child == 0) {
                usleep(LATE * 1000);
                kill(parent, SIGUSR1);
                _exit(0);
            }
            recv_from(1, 1);
            pthread_join(thread, NULL);
            waitpid(child, NULL, 0);
        }
        if (rank == 1) recv_from(0, 1), send_to(0, 1);
    }
    CASE(socket_thread) {
        if (rank == 0) {
            CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, wires) == 0);
            pthread_create(&thread, NULL, sends_after_poll, &next);
            pid_t child = fork();
            if (child == 0) {
                usleep(LATE * 1000);
                _exit(write(wires[1], "x", 1) != 1);
            }
            recv_from(1, 1);
            pthread_join(thread, NULL);
            waitpid(child, NULL, 0);
        }
        if (rank == 1) recv_from(0, 1), send_to(0, 1);
    }
    CASE(partition_late) {
        MPI_Psend_init(many, 2, 10, MPI_CHAR, next, 1, world, MPI_INFO_NULL, &requests[0]);
        MPI_Precv_init(more, 2, 10, MPI_CHAR, before, 1, world, MPI_INFO_NULL, &requests[1]);
        MPI_Startall(2, requests);
        MPI_Pready(0, requests[0]);
        pthread_create(&thread, NULL, late_ready, &requests[0]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        pthread_join(thread, NULL);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    }
    CASE(persistent_order) {
        MPI_Barrier_init(world, MPI_INFO_NULL, &requests[0]);
        MPI_Barrier_init(world, MPI_INFO_NULL, &requests[1]);
        if (rank == 2) pause_ms(LATE);
        MPI_Start(&requests[rank % 2]);
        MPI_Start(&requests[1 - rank % 2]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    }
    CASE(dup_late) {
        if (rank == 2) pause_ms(LATE);
        MPI_Comm_dup(world, &one);
        MPI_Barrier(one);
        MPI_Comm_free(&one);
    }
    CASE(lock_holder_computes) {
        MPI_Win_create(many, LONG, 1, MPI_INFO_NULL, world, &win);
        if (rank == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Barrier(world);
        if (rank == 0) {
            pause_ms(LATE);
            MPI_Win_unlock(0, win);
        } else {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Put(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_unlock(0, win);
        }
        MPI_Win_free(&win);
    }
    CASE(shared_locks) {
        MPI_Win_create(many, LONG, 1, MPI_INFO_NULL, world, &win);
        if (rank == 1) {
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
            send_to(0, 2), send_to(2, 2);
            recv_from(0, 1);
            MPI_Win_unlock(0, win);
        } else if (rank == 2) {
            recv_from(1, 2);
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Win_unlock(0, win);
        } else {
            recv_from(1, 2);
            pause_ms(LATE);
            // A writer waits, and this reader must get the lock nevertheless.
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
            MPI_Win_unlock(0, win);
            send_to(1, 1);
        }
        MPI_Win_free(&win);
    }
    CASE(spin_flag) {
        volatile int *shared;
        MPI_Aint bytes;
        int unit;
        MPI_Win_allocate_shared(rank == 0 ? sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, world, (void *)&shared, &win);
        MPI_Win_shared_query(win, 0, &bytes, &unit, (void *)&shared);
        if (rank == 0) *shared = 0;
        MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
        MPI_Barrier(world);
        if (rank == 0) {
            pause_ms(LATE);
            *shared = 1;
            MPI_Win_sync(win);
        } else if (rank == 1) {
            while (*shared == 0) MPI_Win_sync(win);
            send_to(2, 1);
        } else {
            recv_from(1, 1);
        }
        MPI_Barrier(world);
        MPI_Win_unlock_all(win);
        MPI_Win_free(&win);
    }
    CASE(user_reduction) {
        MPI_Op op;
        MPI_Op_create(slow_sum, 1, &op);
        MPI_Allreduce(&x, &y, 1, MPI_INT, op, world);
        MPI_Op_free(&op);
    }
    CASE(attribute_in_finalize) {
        int key;
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, talks_at_the_end, &key, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    }
    CASE(other_tag_first) {
        if (rank == 0) {
            MPI_Isend(many, LONG, MPI_CHAR, 1, 1, world, &requests[0]);
            recv_from(1, 2);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            pause_ms(LATE);
            MPI_Recv(more, LONG, MPI_CHAR, 0, 1, world, MPI_STATUS_IGNORE);
            send_to(0, 2);
        }
    }
    CASE(many_unexpected) {
        if (rank == 0) {
            for (int i = 0; i < 100000; i++) send_to(1, 1);
            pause_ms(LATE);
            send_to(1, 2);
        } else if (rank == 1) {
            recv_from(0, 2);
            for (int i = 0; i < 100000; i++) recv_from(0, 1);
        }
    }
    CASE(full_ring) {
        if (rank == 0) {
            for (int i = 0; i < 2000; i++) MPI_Send(many, 4000, MPI_CHAR, 1, 1, world);
            send_to(2, 1);
        } else if (rank == 1) {
            pause_ms(LATE);
            recv_from(2, 1);
            for (int i = 0; i < 2000; i++) MPI_Recv(more, 4000, MPI_CHAR, 0, 1, world, MPI_STATUS_IGNORE);
        } else {
            recv_from(0, 1);
            send_to(1, 1);
        }
    }
    CASE(sends_and_ends) {
        if (rank == 0) send_to(1, 1);
        if (rank == 1) pause_ms(LATE), recv_from(0, 1);
    }
    CASE(freed_long_send) {
        if (rank == 0) {
            MPI_Isend(many, LONG, MPI_CHAR, 1, 1, world, &requests[0]);
            MPI_Request_free(&requests[0]);
        } else if (rank == 1) {
            pause_ms(LATE);
            MPI_Recv(more, LONG, MPI_CHAR, 0, 1, world, MPI_STATUS_IGNORE);
        }
    }
    CASE(waitany_last) {
        if (rank == 0) {
            MPI_Irecv(&x, 1, MPI_INT, 1, 1, world, &requests[0]);
            MPI_Irecv(&y, 1, MPI_INT, 2, 1, world, &requests[1]);
            MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
            CHECK(index == 1);
            MPI_Cancel(&requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else if (rank == 2) {
            pause_ms(LATE);
            send_to(0, 1);
        }
    }
    CASE(wildcard_last) {
        if (rank == 0) recv_from(MPI_ANY_SOURCE, 1);
        if (rank == 2) pause_ms(LATE), send_to(0, 1);
    }
    CASE(long_stream) {
        for (int i = 0; i < 30; i++) {
            MPI_Sendrecv(many, LONG, MPI_CHAR, next, 1, more, LONG, MPI_CHAR, before, 1, world, MPI_STATUS_IGNORE);
        }
        if (rank == 0) pause_ms(LATE);
        MPI_Bcast(many, LONG, MPI_CHAR, 0, world);
    }
    CASE(gatherv_nothing) {
        int counts[64] = {1, 1}, places[64] = {0, 1};
        if (rank == 2) pause_ms(LATE);
        MPI_Gatherv(many, rank < 2, MPI_CHAR, more, counts, places, MPI_CHAR, 0, world);
    }
    CASE(stopped) {
        if (rank == 1) {
            pid_t parent = getpid(), child = fork();
            if (child == 0) {
                usleep(LATE * 1000);
                kill(parent, SIGCONT);
                _exit(0);
            }
            raise(SIGSTOP);
            waitpid(child, NULL, 0);
        }
        MPI_Barrier(world);
    }
    CASE(pipe) {
        if (rank == 1) {
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
        MPI_Barrier(world);
    }
    CASE(error_returned) {
        // All ranks wait in different calls: that is an error, which the program gets.
        MPI_Comm_dup(world, &one);
        MPI_Comm_set_errhandler(one, MPI_ERRORS_RETURN);
        int code = rank == 0 ? MPI_Barrier(one) : MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, one);
        CHECK(code != MPI_SUCCESS);
    }
    else return 1;
    MPI_Finalize();
    return 0;
}
