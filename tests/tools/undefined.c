// Rank 0 makes one mistake (or none) with memory that has no values, for valgrind to find. The argument names the call.
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 40000 };

struct gapped {
    char letter;
    double number;
};

static int rank;

// Reads what it gets, so that valgrind complains about bytes that it believes to have no values.
static void use(const char *bytes, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++)
        if (bytes[i] > 3)
            sum++;
    if (sum == MANY + 1)
        printf("never\n");
}

static void early(void)
{
    MPI_Request request;
    char *buffer = malloc(MANY), *data = calloc(MANY, 1);
    if (rank == 0) {
        MPI_Irecv(buffer, MANY, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
        if (buffer[MANY / 2] == 5)
            printf("five\n");
        MPI_Send(data, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        use(buffer, MANY);
    } else {
        MPI_Recv(buffer, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(data, MANY, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
    free(buffer);
    free(data);
}

static void gap(void)
{
    struct gapped pair;
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {offsetof(struct gapped, letter), offsetof(struct gapped, number)};
    MPI_Datatype types[2] = {MPI_CHAR, MPI_DOUBLE}, type;
    MPI_Type_create_struct(2, lengths, places, types, &type);
    MPI_Type_commit(&type);
    if (rank == 0) {
        // Not with {}: that may fill the gap.
        memset(&pair.letter, 1, 1);
        memset(&pair.number, 0, sizeof pair.number);
        MPI_Send(&pair, 1, type, 1, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&pair, 1, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        use(&pair.letter, 1);
        use((char *)&pair.number, sizeof pair.number);
    }
    MPI_Type_free(&type);
}

// The last bytes of a long double have no value, alone, in a pair, and in a type of the program; results of reductions have.
static void padding(void)
{
    struct pair {
        long double value;
        int index;
    };
    enum { COUNT = 5 };
    MPI_Datatype every_other;
    MPI_Type_vector(COUNT, 1, 2, MPI_LONG_DOUBLE, &every_other);
    MPI_Type_commit(&every_other);
    long double *numbers = malloc(2 * COUNT * sizeof *numbers), *got = malloc(2 * COUNT * sizeof *got);
    struct pair *pairs = malloc(COUNT * sizeof *pairs);
    for (int i = 0; i < 2 * COUNT; i++)
        numbers[i] = rank + 0.5L * i;
    for (int i = 0; i < COUNT; i++)
        pairs[i].value = numbers[i], pairs[i].index = i;
    int to = 1 - rank;
    MPI_Sendrecv(numbers, 2 * COUNT, MPI_LONG_DOUBLE, to, 1, got, 2 * COUNT, MPI_LONG_DOUBLE, to, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(numbers, 1, every_other, to, 1, got, 1, every_other, to, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(pairs, COUNT, MPI_LONG_DOUBLE_INT, to, 1, to, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(numbers, 2 * COUNT, MPI_LONG_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Allreduce(numbers, got, COUNT, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++)
        if (got[i] != 2 * numbers[i] || pairs[i].index != i)
            MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Type_free(&every_other);
    free(numbers);
    free(got);
    free(pairs);
}

// The send buffer, of which rank 0 may leave one byte without a value.
static char *prepare(int is_defined)
{
    char *bytes = malloc(MANY);
    memset(bytes, 1, MANY);
    if (rank == 0 && !is_defined) {
        char *other = malloc(1);
        memcpy(bytes + 2, other, 1);
        free(other);
    }
    return bytes;
}

int main(int argc, char **argv)
{
    const char *call = argc > 1 ? argv[1] : "";
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *bytes = prepare(strcmp(call, "init") == 0), *got = malloc(MANY);
    memset(got, 0, MANY);
    int receives = 0;
    if (strcmp(call, "gap") == 0) {
        gap();
    } else if (strcmp(call, "padding") == 0) {
        padding();
    } else if (strcmp(call, "early") == 0) {
        early();
    } else if (strcmp(call, "MPI_Bcast") == 0) {
        MPI_Bcast(bytes, 8, MPI_CHAR, 0, MPI_COMM_WORLD);
    } else if (strcmp(call, "MPI_Allreduce") == 0) {
        MPI_Allreduce(bytes, got, 4, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
    } else if (strcmp(call, "MPI_Iallreduce") == 0) {
        MPI_Iallreduce(bytes, got, 4, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (strcmp(call, "MPI_Put") == 0) {
        MPI_Win window;
        MPI_Win_create(got, MANY, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        MPI_Win_fence(0, window);
        if (rank == 0)
            MPI_Put(bytes, 64, MPI_CHAR, 1, 0, 64, MPI_CHAR, window);
        MPI_Win_fence(0, window);
        use(got, 64);
        MPI_Win_free(&window);
    } else if (rank == 0) {
        if (strcmp(call, "MPI_Send") == 0)
            MPI_Send(bytes, 4, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        else if (strcmp(call, "MPI_Ssend") == 0)
            MPI_Ssend(bytes, MANY, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        else if (strcmp(call, "MPI_Isend") == 0)
            MPI_Isend(bytes, MANY, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
        else if (strcmp(call, "MPI_Pready") == 0) {
            MPI_Psend_init(bytes, 1, MANY, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
            MPI_Start(&request);
            MPI_Pready(0, request);
        } else {
            // MPI_Start, and `init`, which fills the buffer in between.
            char *own = malloc(MANY);
            memset(own, 1, 2);
            MPI_Send_init(own, 4, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
            if (strcmp(call, "init") == 0)
                memset(own, 1, 4);
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Request_free(&request);
            free(own);
        }
        if (request != MPI_REQUEST_NULL)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (strcmp(call, "MPI_Pready") == 0)
            MPI_Request_free(&request);
    } else {
        receives = 1;
        if (strcmp(call, "MPI_Pready") == 0) {
            MPI_Precv_init(got, 1, MANY, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Request_free(&request);
        } else {
            MPI_Recv(got, MANY, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (receives)
        use(got, MANY);
    free(bytes);
    free(got);
    MPI_Finalize();
    return 0;
}
