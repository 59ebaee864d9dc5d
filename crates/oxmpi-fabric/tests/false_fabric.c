// A libfabric with one provider, `false`, for endpoints of one process. It has two cards, on the PCI buses 1 and 129 (0x81), and
// is as strict as a provider may be:
// - memory must be registered for every use, bound to the endpoint and enabled; keys are its own, addresses virtual
// - a region may not be closed while an operation uses it
// - progress is manual: nothing moves unless somebody reads the queue, which has 16 entries and nothing to wait for
// - any operation may have to be tried again (FI_EAGAIN), and receives complete in another order than they were posted
// - a packet for which no receive buffer is posted would be lost: that ends the process, as every other mistake does
// With FALSE_FABRIC=hang in the environment it never says what it has, with FALSE_FABRIC=refuse it makes no endpoint.
// Layouts and numbers are those of libfabric's binary interface.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define EXPORT(name, version) __asm__(".symver false_" #name "," #name "@@" version)
EXPORT(fi_getinfo, "FABRIC_1.3");
EXPORT(fi_dupinfo, "FABRIC_1.3");
EXPORT(fi_freeinfo, "FABRIC_1.3");
EXPORT(fi_fabric, "FABRIC_1.1");
EXPORT(fi_strerror, "FABRIC_1.0");
EXPORT(fi_version, "FABRIC_1.0");

enum { NO_ROOM = -11, NO_DATA = -61, NOT_THERE = -38, HAS_ERROR = -259, UNREACHABLE = 113 };
enum { MODES = 1 << 2 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 9 };  // LOCAL, VIRT_ADDR, ALLOCATED, PROV_KEY, ENDPOINT
enum { READ = 1 << 8, RECV = 1 << 10, SEND = 1 << 11, REMOTE_READ = 1 << 12 };
enum { QUEUE = 16, TX = 32, RX = 4096, ENDPOINTS = 256, REGIONS = 4096, AHEAD = 4 };

struct tx_attr { uint64_t words[5]; size_t sizes[4]; uint32_t tclass; };
struct rx_attr { uint64_t words[5]; size_t sizes[3]; };
struct ep_attr { int type; uint32_t protocol, protocol_version; size_t max_msg_size, rest[9]; };
struct domain_attr { void *domain; char *name; int modes[5], mr_mode; size_t mr_key_size, rest[18]; };
struct fabric_attr { void *fabric; char *name, *prov_name; uint32_t prov_version, api_version; };
struct info {
    struct info *next;
    uint64_t caps, mode;
    uint32_t addr_format;
    size_t lengths[2];
    void *addresses[3];
    struct tx_attr *tx;
    struct rx_attr *rx;
    struct ep_attr *ep;
    struct domain_attr *domain;
    struct fabric_attr *fabric;
    struct nic *nic;
};
struct fid;
struct ops {
    size_t size;
    int (*close)(struct fid *);
    int (*bind)(struct fid *, struct fid *, uint64_t);
    int (*control)(struct fid *, int, void *);
};
struct fid { size_t class; void *context; const struct ops *ops; };
struct object { struct fid fid; const void *tables[4]; };
struct bus { int type; uint16_t domain; uint8_t bus, device, function; };
struct nic { struct fid fid; void *device; struct bus *bus; void *link; };
struct region {
    struct fid fid;
    void *descriptor;
    uint64_t key;
    const char *start;
    size_t length;
    uint64_t access;
    int bound, enabled, users;
};
struct entry { void *context; uint64_t flags; size_t length; };
struct error { void *context; uint64_t words[6]; int err, prov; uint64_t more[2]; };
struct posted { char *buffer; size_t length; struct region *region; void *context; };
struct operation { int is_read; char *buffer; size_t length; uint64_t to, address, key; void *context; struct region *region; };
struct endpoint {
    struct object object;
    uint64_t id;
    struct posted received[RX];
    size_t receives;
    struct operation sent[TX];
    size_t sends;
    struct entry done[RX];
    size_t dones;
    struct error errors[TX];
    size_t error_count;
};
struct queue { struct fid fid; const void *table; struct endpoint *endpoint; };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct endpoint *endpoints[ENDPOINTS];
static struct region *regions[REGIONS];
static uint64_t next_id = 1, next_key = 0x1234567;
static unsigned seed = 1;

static void wrong(const char *what) {
    fprintf(stderr, "false provider: %s\n", what);
    abort();
}
static unsigned dice(unsigned sides) { return (seed = seed * 1103515245u + 12345u) / 65536u % sides; }
static int behaves(const char *how) { return getenv("FALSE_FABRIC") && !strcmp(getenv("FALSE_FABRIC"), how); }
static int just_free(struct fid *fid) { free(fid); return 0; }
static int no_bind(struct fid *fid, struct fid *to, uint64_t flags) { return 0; }
static int no_control(struct fid *fid, int command, void *argument) { return NOT_THERE; }
static const struct ops plain = {sizeof plain, just_free, no_bind, no_control};

static struct endpoint *find(uint64_t id) {
    for (int i = 0; i < ENDPOINTS; i++)
        if (endpoints[i] && endpoints[i]->id == id) return endpoints[i];
    return NULL;
}

static struct region *covers(struct region *region, const void *start, size_t length, uint64_t access) {
    const char *at = start;
    int known = 0;
    for (int i = 0; i < REGIONS; i++) known |= regions[i] && regions[i] == region;
    if (!known) wrong("memory is used without a region");
    if (!region->bound || !region->enabled) wrong("a region that is not bound or not enabled is used");
    if (!(region->access & access)) wrong("a region is used for what it was not registered for");
    if (at < region->start || at + length > region->start + region->length) wrong("an operation leaves its region");
    return region;
}

static int mr_close(struct fid *fid) {
    struct region *region = (struct region *)fid;
    pthread_mutex_lock(&mutex);
    if (region->users) wrong("a region is closed while it is used");
    for (int i = 0; i < REGIONS; i++)
        if (regions[i] == region) regions[i] = NULL;
    pthread_mutex_unlock(&mutex);
    free(region);
    return 0;
}
static int mr_bind(struct fid *fid, struct fid *to, uint64_t flags) { ((struct region *)fid)->bound = 1; return 0; }
static int mr_control(struct fid *fid, int command, void *argument) { ((struct region *)fid)->enabled = command == 6; return 0; }
static const struct ops mr_ops = {sizeof mr_ops, mr_close, mr_bind, mr_control};

static int mr_reg(struct fid *domain, const void *start, size_t length, uint64_t access, uint64_t offset, uint64_t key,
                  uint64_t flags, struct region **region, void *context) {
    struct region *made = calloc(1, sizeof *made);
    made->fid.ops = &mr_ops;
    made->descriptor = made;
    made->start = start;
    made->length = length;
    made->access = access;
    pthread_mutex_lock(&mutex);
    made->key = next_key += 0x9876543;
    int at = 0;
    while (at < REGIONS && regions[at]) at++;
    if (at == REGIONS) wrong("too many regions");
    regions[at] = made;
    pthread_mutex_unlock(&mutex);
    *region = made;
    return 0;
}
static const struct { size_t size; int (*reg)(struct fid *, const void *, size_t, uint64_t, uint64_t, uint64_t, uint64_t, struct region **, void *); }
    mr_table = {sizeof mr_table, mr_reg};

static int av_insert(struct fid *av, const void *name, size_t count, uint64_t *address, uint64_t flags, void *context) {
    memcpy(address, name, 8);
    return 1;
}
static const struct { size_t size; int (*insert)(struct fid *, const void *, size_t, uint64_t *, uint64_t, void *); }
    av_table = {sizeof av_table, av_insert};

static ssize_t receive(struct endpoint *ep, void *buffer, size_t length, void *descriptor, uint64_t from, void *context) {
    ssize_t rc = NO_ROOM;
    pthread_mutex_lock(&mutex);
    if (dice(8) && ep->receives < RX) {
        struct region *region = covers(descriptor, buffer, length, RECV);
        region->users++;
        ep->received[ep->receives++] = (struct posted){buffer, length, region, context};
        rc = 0;
    }
    pthread_mutex_unlock(&mutex);
    return rc;
}
static ssize_t begin(struct endpoint *ep, struct operation operation, void *descriptor, uint64_t access) {
    ssize_t rc = NO_ROOM;
    pthread_mutex_lock(&mutex);
    if (dice(8) && ep->sends < TX) {
        operation.region = covers(descriptor, operation.buffer, operation.length, access);
        operation.region->users++;
        ep->sent[ep->sends++] = operation;
        rc = 0;
    }
    pthread_mutex_unlock(&mutex);
    return rc;
}
static ssize_t begin_send(struct endpoint *ep, void *buffer, size_t length, void *descriptor, uint64_t to, void *context) {
    return begin(ep, (struct operation){0, buffer, length, to, 0, 0, context}, descriptor, SEND);
}
static ssize_t begin_read(struct endpoint *ep, void *buffer, size_t length, void *descriptor, uint64_t to, uint64_t address,
                          uint64_t key, void *context) {
    return begin(ep, (struct operation){1, buffer, length, to, address, key, context}, descriptor, READ);
}
typedef ssize_t message(struct endpoint *, void *, size_t, void *, uint64_t, void *);
static const struct { size_t size; message *recv; void *others[2]; message *send; } msg_table = {sizeof msg_table, receive, {0}, begin_send};
static const struct { size_t size; ssize_t (*read)(struct endpoint *, void *, size_t, void *, uint64_t, uint64_t, uint64_t, void *); }
    rma_table = {sizeof rma_table, begin_read};

// The completion comes before some that are there already.
static void complete(struct endpoint *ep, void *context, size_t length, unsigned ahead) {
    if (ep->dones == RX) wrong("nobody reads a queue");
    size_t at = ep->dones++, back = ahead ? dice(ahead) : 0;
    for (; back && at; back--, at--) ep->done[at] = ep->done[at - 1];
    ep->done[at] = (struct entry){context, 0, length};
}

static void carry_out(struct endpoint *ep, struct operation *operation) {
    struct endpoint *peer = find(operation->to);
    operation->region->users--;
    if (!peer) {
        if (ep->error_count < TX) ep->errors[ep->error_count++] = (struct error){operation->context, {0}, UNREACHABLE};
        return;
    }
    if (operation->is_read) {
        struct region *region = NULL;
        for (int i = 0; i < REGIONS; i++)
            if (regions[i] && regions[i]->key == operation->key) region = regions[i];
        if (!region) wrong("a key of no region is used");
        const char *from = (const char *)operation->address;
        covers(region, from, operation->length, REMOTE_READ);
        memcpy(operation->buffer, from, operation->length);
    } else {
        if (!peer->receives) wrong("a packet has come for which there is no buffer");
        struct posted posted = peer->received[0];
        memmove(peer->received, peer->received + 1, --peer->receives * sizeof posted);
        if (operation->length > posted.length) wrong("a packet is too long for its buffer");
        memcpy(posted.buffer, operation->buffer, operation->length);
        posted.region->users--;
        complete(peer, posted.context, operation->length, AHEAD);
    }
    complete(ep, operation->context, operation->length, 0);
}

static ssize_t cq_read(struct queue *queue, struct entry *entries, size_t count) {
    struct endpoint *ep = queue->endpoint;
    ssize_t rc = NO_ROOM;
    pthread_mutex_lock(&mutex);
    while (ep->sends && ep->dones < QUEUE && dice(8)) {
        struct operation operation = ep->sent[0];
        memmove(ep->sent, ep->sent + 1, --ep->sends * sizeof operation);
        carry_out(ep, &operation);
    }
    if (ep->error_count) rc = HAS_ERROR;
    else if (ep->dones) {
        rc = count < ep->dones ? count : ep->dones;
        memcpy(entries, ep->done, rc * sizeof *entries);
        ep->dones -= rc;
        memmove(ep->done, ep->done + rc, ep->dones * sizeof *entries);
    }
    pthread_mutex_unlock(&mutex);
    return rc;
}
static ssize_t cq_readerr(struct queue *queue, struct error *error, uint64_t flags) {
    struct endpoint *ep = queue->endpoint;
    ssize_t rc = NO_ROOM;
    pthread_mutex_lock(&mutex);
    if (ep->error_count) *error = ep->errors[--ep->error_count], rc = 1;
    pthread_mutex_unlock(&mutex);
    return rc;
}
static const struct {
    size_t size;
    ssize_t (*read)(struct queue *, struct entry *, size_t);
    void *readfrom;
    ssize_t (*readerr)(struct queue *, struct error *, uint64_t);
} cq_table = {sizeof cq_table, cq_read, 0, cq_readerr};

static int ep_close(struct fid *fid) {
    struct endpoint *ep = (struct endpoint *)fid;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < ENDPOINTS; i++)
        if (endpoints[i] == ep) endpoints[i] = NULL;
    for (size_t i = 0; i < ep->receives; i++) ep->received[i].region->users--;
    for (size_t i = 0; i < ep->sends; i++) ep->sent[i].region->users--;
    pthread_mutex_unlock(&mutex);
    free(fid);
    return 0;
}
static int ep_bind(struct fid *fid, struct fid *to, uint64_t flags) {
    if (flags) ((struct queue *)to)->endpoint = (struct endpoint *)fid;
    return 0;
}
static int ep_control(struct fid *fid, int command, void *argument) { return 0; }
static const struct ops ep_ops = {sizeof ep_ops, ep_close, ep_bind, ep_control};
static int name_of(struct fid *fid, void *name, size_t *length) {
    memcpy(name, &((struct endpoint *)fid)->id, 8);
    *length = 8;
    return 0;
}
static const struct { size_t size; void *setname; int (*getname)(struct fid *, void *, size_t *); } cm_table = {sizeof cm_table, 0, name_of};

static void *made(size_t size, const void *table) {
    struct object *object = calloc(1, size);
    object->fid.ops = &plain;
    object->tables[0] = table;
    return object;
}
static int av_open(struct fid *domain, void *attr, void **av, void *context) {
    *av = made(sizeof(struct object), &av_table);
    return 0;
}
struct cq_attr { size_t size; uint64_t flags; int format, wait_obj; };
static int cq_open(struct fid *domain, struct cq_attr *attr, void **cq, void *context) {
    if (attr->wait_obj) return NOT_THERE;
    *cq = made(sizeof(struct object), &cq_table);
    return 0;
}
static int ep_open(struct fid *domain, struct info *info, struct endpoint **ep, void *context) {
    if (behaves("refuse")) return NOT_THERE;
    *ep = made(sizeof **ep, NULL);
    (*ep)->object.fid.ops = &ep_ops;
    (*ep)->object.tables[1] = &cm_table;
    (*ep)->object.tables[2] = &msg_table;
    (*ep)->object.tables[3] = &rma_table;
    pthread_mutex_lock(&mutex);
    (*ep)->id = next_id++;
    int at = 0;
    while (at < ENDPOINTS && endpoints[at]) at++;
    if (at == ENDPOINTS) wrong("too many endpoints");
    endpoints[at] = *ep;
    pthread_mutex_unlock(&mutex);
    return 0;
}
static const struct {
    size_t size;
    int (*av)(struct fid *, void *, void **, void *);
    int (*cq)(struct fid *, struct cq_attr *, void **, void *);
    int (*ep)(struct fid *, struct info *, struct endpoint **, void *);
} domain_table = {sizeof domain_table, av_open, cq_open, ep_open};
static int domain_open(struct fid *fabric, struct info *info, void **domain, void *context) {
    struct object *object = made(sizeof *object, &domain_table);
    object->tables[1] = &mr_table;
    *domain = object;
    return 0;
}
static const struct { size_t size; int (*domain)(struct fid *, struct info *, void **, void *); } fabric_table = {sizeof fabric_table, domain_open};

struct info *false_fi_dupinfo(const struct info *from) {
    struct info *info = calloc(1, sizeof *info);
    info->tx = calloc(1, sizeof *info->tx);
    info->rx = calloc(1, sizeof *info->rx);
    info->ep = calloc(1, sizeof *info->ep);
    info->domain = calloc(1, sizeof *info->domain);
    info->fabric = calloc(1, sizeof *info->fabric);
    return info;
}
void false_fi_freeinfo(struct info *info) {
    if (info->next) false_fi_freeinfo(info->next);
    free(info->fabric->prov_name);
    free(info->fabric);
    free(info->domain);
    free(info->ep);
    free(info->rx);
    free(info->tx);
    free(info);
}
int false_fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct info *hints,
                     struct info **info) {
    while (behaves("hang")) pause();
    const char *wanted = hints->fabric->prov_name;
    if (wanted && strcmp(wanted, "false")) return NO_DATA;
    if ((hints->domain->mr_mode & MODES) != MODES) return NO_DATA;
    static struct bus buses[] = {{1, 0, 0x01, 0, 0}, {1, 0, 0x81, 0, 0}};
    static struct nic nics[] = {{{0}, NULL, &buses[0], NULL}, {{0}, NULL, &buses[1], NULL}};
    static char *names[] = {"false0", "false1"};
    for (int i = 0; i < 2; i++, info = &(*info)->next) {
        *info = false_fi_dupinfo(NULL);
        (*info)->caps = hints->caps;
        (*info)->ep->protocol = 0x7f;
        (*info)->ep->max_msg_size = 1 << 20;
        (*info)->domain->name = names[i];
        (*info)->domain->mr_mode = MODES;
        (*info)->domain->mr_key_size = 8;
        (*info)->fabric->prov_name = strdup("false");
        (*info)->nic = &nics[i];
    }
    return 0;
}
int false_fi_fabric(struct fabric_attr *attr, void **fabric, void *context) {
    *fabric = made(sizeof(struct object), &fabric_table);
    return 0;
}
const char *false_fi_strerror(int number) { return number == -NO_ROOM ? "Try again" : "Some error"; }
uint32_t false_fi_version(void) { return 1 << 16 | 99; }
