// ranks: 1 2 3 5 8
// timeout: 120
// cflags: -O2
// Random traffic between all ranks: sizes from nothing to a megabyte, all send modes, receives by pattern and
// by wildcard, probes, persistent and cancelled requests. Every message carries its pair's serial number
// and a pattern. The order of each pair holds; a generator that both sides know says what must come.
#include "../check.h"

enum { ROUNDS = 60, MOST = 24, HEAD = 16 };

typedef struct {
    int tag, bytes, mode;
} Plan;

static uint64_t mix(uint64_t x) {
    x ^= x >> 30, x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27, x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

// The plan of message number `serial` from one rank to another is the same on both ranks.
static Plan plan(int from, int to, int serial) {
    static const int shapes[] = {HEAD, 40, 64, 200, 1000, 4096, 5000, 20000, 70000, 300000, 1000000};
    uint64_t x = mix(1 + from * 1000003ull + to * 7919ull + serial * 104729ull);
    int top = shapes[x % 11 < 9 || x % 77 == 9 ? x % 11 : x % 8];
    Plan p = {(int)(x >> 20 & 3), HEAD + (int)((x >> 30) % (uint64_t)(top - HEAD + 1)), (int)(x >> 8 & 3)};
    return p;
}

static int messages_in(int round, int from, int to) {
    return (int)(mix(round * 31ull + from * 17ull + to) % (uint64_t)(MOST / size + 1));
}

static unsigned seed_of(int from, int to, int serial) { return (unsigned)(from * 4096 + to * 64 + serial); }

static int sent[16], taken[16];

static void check_message(const char *buf, int from, int serial, const MPI_Status *status) {
    Plan p = plan(from, rank, serial);
    int head[4];
    memcpy(head, buf, HEAD);
    CHECK_EQ(head[0], from);
    CHECK_EQ(head[1], rank);
    CHECK_EQ(head[2], serial);
    CHECK_STATUS(*status, from, p.tag, p.bytes);
    CHECK_PATTERN(buf + HEAD, p.bytes - HEAD, seed_of(from, rank, serial));
}

// Which of the pair's messages a receive with this tag (or any) gets next: the first not taken yet.
static int next_of(int from, int tag, const char *gone, int first, int count) {
    for (int i = 0; i < count; i++)
        if (!gone[i] && (tag == MPI_ANY_TAG || plan(from, rank, first + i).tag == tag)) return i;
    return -1;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int room = 40 << 20;
    void *attached = get_memory(room);
    MPI_Buffer_attach(attached, room);
    char *in = get_memory(1000000);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[16 * MOST];
        char *bufs[16 * MOST];
        int n = 0;
        for (int to = 0; to < size; to++)
            for (int i = messages_in(round, rank, to); i > 0; i--) {
                int serial = sent[to]++;
                Plan p = plan(rank, to, serial);
                int head[4] = {rank, to, serial, round};
                char *out = bufs[n] = get_memory(p.bytes);
                memcpy(out, head, HEAD);
                fill(out + HEAD, p.bytes - HEAD, seed_of(rank, to, serial));
                MPI_Request *r = &requests[n++];
                switch (p.mode) {
                case 0: MPI_Isend(out, p.bytes, MPI_BYTE, to, p.tag, MPI_COMM_WORLD, r); break;
                case 1: MPI_Ibsend(out, p.bytes, MPI_BYTE, to, p.tag, MPI_COMM_WORLD, r); break;
                case 2: MPI_Issend(out, p.bytes, MPI_BYTE, to, p.tag, MPI_COMM_WORLD, r); break;
                default:
                    MPI_Send_init(out, p.bytes, MPI_BYTE, to, p.tag, MPI_COMM_WORLD, r);
                    MPI_Start(r);
                }
            }
        int left[16], expect[16], total = 0;
        char gone[16][MOST] = {{0}};
        for (int from = 0; from < size; from++) total += left[from] = expect[from] = messages_in(round, from, rank);
        for (uint64_t dice = mix(round * 77ull + rank); total > 0; dice = mix(dice + 0x9e3779b97f4a7c15u)) {
            MPI_Status status;
            int from = (int)(dice % (uint64_t)size), way = (int)(dice >> 16 & 7);
            int tag = dice >> 8 & 1 ? MPI_ANY_TAG : (int)(dice >> 9 & 3);
            if (way == 7) { // probe any source, then receive exactly that message
                MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
                from = status.MPI_SOURCE;
                tag = status.MPI_TAG;
            }
            if (!left[from]) continue;
            int at = next_of(from, tag, gone[from], taken[from], expect[from]);
            if (at < 0) continue;
            MPI_Request r;
            MPI_Message message;
            switch (way) {
            case 0:
                MPI_Mprobe(from, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
                MPI_Mrecv(in, 1000000, MPI_BYTE, &message, &status);
                break;
            case 1:
                MPI_Irecv(in, 1000000, MPI_BYTE, from, tag, MPI_COMM_WORLD, &r);
                MPI_Wait(&r, &status);
                break;
            case 2:
                MPI_Recv_init(in, 1000000, MPI_BYTE, from, tag, MPI_COMM_WORLD, &r);
                MPI_Start(&r);
                MPI_Wait(&r, &status);
                MPI_Request_free(&r);
                break;
            case 3: // withdrawn at once: if it had a message already, it keeps it
                MPI_Irecv(in, 1000000, MPI_BYTE, from, tag, MPI_COMM_WORLD, &r);
                MPI_Cancel(&r);
                MPI_Wait(&r, &status);
                int cancelled;
                MPI_Test_cancelled(&status, &cancelled);
                if (cancelled) continue;
                break;
            default: MPI_Recv(in, 1000000, MPI_BYTE, from, tag, MPI_COMM_WORLD, &status);
            }
            check_message(in, from, taken[from] + at, &status);
            gone[from][at] = 1;
            left[from]--;
            total--;
        }
        for (int from = 0; from < size; from++) taken[from] += expect[from];
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < n; i++) {
            if (requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&requests[i]);
            free(bufs[i]);
        }
        if (round % 8 == 7) MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Buffer_detach(&attached, &room);
    free(attached);
    free(in);
    return finish();
}
