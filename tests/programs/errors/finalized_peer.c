// ranks: 3
// sleeps: ranks wait for seconds before they go on
// timeout: 60
// no-check: ranks end while others still talk to them
// Rank 1 finalizes early, rank 2 later. What they sent before is received; a call that waits for a message or a call that will
// never come ends with an error that says so; a call that another rank can still end goes on.
#include "../check.h"

#define TAG_SENT 5
#define TAG_NEVER 7
#define TAG_LATE 9

static void fails(int code, const char *call, const char *text) {
    if (check_class(code) != MPI_ERR_OTHER && check_class(code) != MPI_ERR_RMA_SYNC)
        CHECK_FAIL("%s gave class %d: %s", call, check_class(code), check_text(code));
    CHECK_TEXT(code, text);
    CHECK_TEXT(code, call);
}

int main(int argc, char **argv) {
    int value = 0, index = -1, *base;
    MPI_Win win;
    MPI_Comm copy;
    MPI_Status status;
    MPI_Request requests[2];
    start(&argc, &argv);
    return_errors();
    char *big = get_memory(4 << 20);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    OK(MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (rank == 1) {
        OK(MPI_Send(&(int){42}, 1, MPI_INT, 0, TAG_SENT, MPI_COMM_WORLD));
        OK(MPI_Bsend_init(&value, 1, MPI_INT, 0, TAG_SENT, MPI_COMM_WORLD, requests));
        OK(MPI_Request_free(requests));
        // Long ones arrive, too.
        OK(MPI_Isend(big, 1 << 20, MPI_BYTE, 0, TAG_SENT + 1, MPI_COMM_WORLD, requests));
        OK(MPI_Request_free(requests));
        OK(MPI_Finalize());
        return 0;
    }
    if (rank == 2) {
        sleep_ms(1500);
        OK(MPI_Send(&(int){43}, 1, MPI_INT, 0, TAG_LATE, MPI_COMM_WORLD));
        sleep_ms(1500);
        OK(MPI_Send(&(int){44}, 1, MPI_INT, 0, TAG_LATE, MPI_COMM_WORLD));
        OK(MPI_Finalize());
        return 0;
    }
    sleep_ms(700);
    // One of two requests can still complete, and so can a receive from any rank.
    OK(MPI_Irecv(&value, 1, MPI_INT, 1, TAG_NEVER, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Irecv(&value, 1, MPI_INT, 2, TAG_LATE, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Waitany(2, requests, &index, &status));
    CHECK_EQ(index, 1);
    CHECK_EQ(value, 43);
    OK(MPI_Cancel(&requests[0]));
    OK(MPI_Wait(&requests[0], &status));
    OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG_LATE, MPI_COMM_WORLD, &status));
    CHECK_EQ(value, 44);
    // What was sent before the end is received.
    OK(MPI_Recv(big, 1 << 20, MPI_BYTE, 1, TAG_SENT + 1, MPI_COMM_WORLD, &status));
    fails(MPI_Recv(&value, 1, MPI_INT, 1, TAG_NEVER, MPI_COMM_WORLD, &status), "MPI_Recv",
          "rank 1 of MPI_COMM_WORLD has called MPI_Finalize, so no message with tag 7 will come from it; messages that arrived and "
          "match no receive have the tags 5");
    OK(MPI_Recv(&value, 1, MPI_INT, 1, TAG_SENT, MPI_COMM_WORLD, &status));
    CHECK_EQ(value, 42);
    fails(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status), "MPI_Recv",
          "all other ranks of MPI_COMM_WORLD have called MPI_Finalize, so no message will come");
    fails(MPI_Probe(1, TAG_NEVER, MPI_COMM_WORLD, &status), "MPI_Probe", "so no message with tag 7 will come from it");
    fails(MPI_Ssend(&value, 1, MPI_INT, 1, TAG_NEVER, MPI_COMM_WORLD), "MPI_Ssend",
          "rank 1 of MPI_COMM_WORLD has called MPI_Finalize without receiving this message with tag 7");
    fails(MPI_Send(big, 1 << 20, MPI_BYTE, 1, TAG_NEVER, MPI_COMM_WORLD), "MPI_Send", "without receiving this message");
    fails(MPI_Sendrecv(&value, 1, MPI_INT, 1, TAG_NEVER, &index, 1, MPI_INT, 1, TAG_NEVER, MPI_COMM_WORLD, &status),
          "MPI_Sendrecv", "so no message with tag 7 will come from it");
    OK(MPI_Irecv(&value, 1, MPI_INT, 1, TAG_NEVER, MPI_COMM_WORLD, requests));
    fails(MPI_Wait(requests, &status), "MPI_Wait", "so no message with tag 7 will come from it");
    OK(MPI_Precv_init(big, 4, 16, MPI_BYTE, 1, TAG_NEVER, MPI_COMM_WORLD, MPI_INFO_NULL, requests));
    OK(MPI_Start(requests));
    fails(MPI_Wait(requests, &status), "MPI_Wait",
          "rank 1 of MPI_COMM_WORLD has called MPI_Finalize, so no more partitions of this message will come from it");
    OK(MPI_Request_free(requests));
    OK(MPI_Psend_init(big, 4, 1 << 20, MPI_BYTE, 1, TAG_NEVER, MPI_COMM_WORLD, MPI_INFO_NULL, requests));
    OK(MPI_Start(requests));
    OK(MPI_Pready_range(0, 3, requests[0]));
    fails(MPI_Wait(requests, &status), "MPI_Wait",
          "rank 1 of MPI_COMM_WORLD has called MPI_Finalize, and has not received all partitions of this message");
    OK(MPI_Request_free(requests));
    OK(MPI_Ibarrier(copy, requests));
    fails(MPI_Wait(requests, &status), "MPI_Wait", "has called MPI_Finalize without making this call");
    fails(MPI_Barrier(copy), "MPI_Barrier", "has called MPI_Finalize without making this call");
    fails(MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD), "MPI_Bcast", "has called MPI_Finalize");
    fails(MPI_Comm_split(copy, 0, 0, &copy), "MPI_Comm_split", "has called MPI_Finalize without making this call");
    fails(MPI_Win_fence(0, win), "MPI_Win_fence", "which this call waits for, has called MPI_Finalize");
    return finish();
}
