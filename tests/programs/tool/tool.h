// What the programs on the tool information interface share.
#ifndef TOOL_H
#define TOOL_H

#include "../check.h"

// The call answers with exactly this code.
#define CODE(call, expected)                                                                         \
    do {                                                                                             \
        int code_ = (call);                                                                          \
        if (code_ != (expected)) CHECK_FAIL("%s gave %d, not %s (%d)", #call, code_, #expected, (expected)); \
    } while (0)

CHECK_UNUSED static void start_tool(void) {
    int provided = -1;
    CODE(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    CHECK_EQ(provided, MPI_THREAD_SINGLE);
}

CHECK_UNUSED static int cvar_index(const char *name) {
    int index = -1;
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) CHECK_FAIL("there is no control variable %s", name);
    return index;
}

CHECK_UNUSED static int pvar_index(const char *name, int class) {
    int index = -1;
    if (MPI_T_pvar_get_index(name, class, &index) != MPI_SUCCESS)
        CHECK_FAIL("there is no performance variable %s of class %d", name, class);
    return index;
}

// A handle of a performance variable with one element; comm counts where it is bound to one.
CHECK_UNUSED static MPI_T_pvar_handle pvar(MPI_T_pvar_session session, const char *name, int class, MPI_Comm comm) {
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int count = -1;
    CODE(MPI_T_pvar_handle_alloc(session, pvar_index(name, class), &comm, &handle, &count), MPI_SUCCESS);
    CHECK_EQ(count, 1);
    CHECK(handle != MPI_T_PVAR_HANDLE_NULL);
    return handle;
}

CHECK_UNUSED static MPI_T_pvar_handle level(MPI_T_pvar_session session, const char *name) {
    return pvar(session, name, MPI_T_PVAR_CLASS_LEVEL, MPI_COMM_NULL);
}

CHECK_UNUSED static unsigned long long number(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    unsigned long long value = 0xdead;
    CODE(MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS);
    return value;
}

CHECK_UNUSED static int state(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    int value = -77;
    CODE(MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS);
    return value;
}

#endif
