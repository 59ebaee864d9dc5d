/* Every constant of mpi.h has the value and the type that api/constants.txt gives it. The list is generated; what is
 * checked here without the generator's help is in by_hand.c. Compiled as C89 to C23 and as C++, run without MPI. */
#include <mpi.h>
#include <stdio.h>

static int failures = 0;
static int checks = 0;

static void same(const char *name, int64_t found, int64_t expected)
{
    checks++;
    if (found != expected) {
        failures++;
        fprintf(stderr, "%s is %ld, expected %ld\n", name, (long)found, (long)expected);
    }
}

/* Whether an expression has exactly a type; where the language cannot tell, its size must do. */
#if defined(__cplusplus)
template <typename A> struct Tag {};
template <typename A, typename B> int is(Tag<A>, const B &) { return 0; }
template <typename A> int is(Tag<A>, const A &) { return 1; }
#define IS(type, value) is(Tag<type>(), value)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define IS(type, value) _Generic((value), type: 1, default: 0)
#else
#define IS(type, value) (sizeof(type) == sizeof(value))
#endif

static void typed(const char *name, const char *type, int right)
{
    checks++;
    if (!right) {
        failures++;
        fprintf(stderr, "%s is not of type %s\n", name, type);
    }
}

#define INTEGER(type, name, value) same(#name, (int64_t)name, value); typed(#name, #type, IS(type, name));
/* An enumerator is an int in C and of its enumeration in C++; both convert. */
#define ENUMERATOR(type, name, value) { type enumerator = name; same(#name, (int64_t)enumerator, value); }
#define POINTER(type, name, value) same(#name, (int64_t)(intptr_t)name, value); typed(#name, #type, IS(type, name));
#define ALIAS(name, other) same(#name, (int64_t)(intptr_t)name, (int64_t)(intptr_t)other);

int main(void)
{
#include "generated/values.h"
    if (failures > 0)
        return 1;
    printf("%d checks of constants\n", checks);
    return 0;
}
