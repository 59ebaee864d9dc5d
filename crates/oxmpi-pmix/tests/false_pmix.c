/* A false libpmix.so.2, for tests: a server with one process. What it does wrong is chosen when it is compiled. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct proc { char ns[256]; uint32_t rank; };
struct value { uint16_t type; union { char *string; uint32_t u32; uint64_t room[3]; } data; };
struct info { char key[512]; uint32_t flags; struct value value; };

#ifndef INIT
#define INIT 0
#endif
#ifndef NAME
#define NAME "false.job"
#endif
#ifndef PUT
#define PUT 0
#endif
#ifndef COMMIT
#define COMMIT 0
#endif
#ifndef FENCE
#define FENCE 0
#endif
#ifndef GET
#define GET 0
#endif
#ifndef TYPE
#define TYPE 14
#endif

static char key[512], text[4096];

const char *PMIx_Get_version(void) { return "False PMIx 9.8.7rc1"; }
const char *PMIx_Error_string(int rc) { return rc == -25 ? "UNREACHABLE" : rc == -1000 ? NULL : "SOME-ERROR"; }
int PMIx_Init(struct proc *me, struct info *infos, size_t n) {
    (void)infos, (void)n;
    strcpy(me->ns, NAME);
    me->rank = 0;
    return INIT;
}
int PMIx_Finalize(const struct info *infos, size_t n) { return (void)infos, (void)n, -61; }
int PMIx_Abort(int status, const char *why, struct proc *procs, size_t n) {
    return (void)status, (void)why, (void)procs, (void)n, -31;
}
int PMIx_Put(uint8_t scope, const char *name, struct value *value) {
    if (scope != 3 || value->type != 3) return -27;
    strcpy(key, name);
    strcpy(text, value->data.string);
    return PUT;
}
int PMIx_Commit(void) { return COMMIT; }
int PMIx_Fence(const struct proc *procs, size_t n, const struct info *infos, size_t count) {
    if (procs || n || count != 1 || strcmp(infos->key, "pmix.collect") || infos->value.type != 1) return -27;
    return FENCE;
}
#ifndef WITHOUT_GET
int PMIx_Get(const struct proc *of, const char *name, const struct info *infos, size_t n, struct value **value) {
    (void)infos, (void)n;
    if (GET) return GET;
#ifdef NOTHING
    *value = NULL;
    return 0;
#endif
    if (strcmp(of->ns, NAME)) return -27;
    *value = calloc(1, sizeof **value);
    if (!strncmp(name, "pmix.", 5)) {
        (*value)->type = TYPE;
        if (TYPE == 3) (*value)->data.string = strdup("four");
        else (*value)->data.u32 = of->rank == 0 ? 7 : 4;
        return 0;
    }
    if (strcmp(name, key) || of->rank) {
        free(*value);
        return -46;
    }
    (*value)->type = 3;
    (*value)->data.string = strdup(text);
    return 0;
}
#endif
