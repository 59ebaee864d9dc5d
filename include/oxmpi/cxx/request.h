/* Status, Request, Prequest, Grequest. A part of mpicxx.h. */
#ifndef OXMPI_CXX_REQUEST_H
#define OXMPI_CXX_REQUEST_H

#if defined __GNUC__ && !defined OXMPI_MPICXX_WARNINGS
#pragma GCC system_header
#endif

namespace MPI {

/* Has nothing but the C status, so an array of objects is an array of C's. */
class Status {
public:
    Status() : status_() {}
    Status(const MPI_Status &status) : status_(status) {}
    Status &operator=(const MPI_Status &status)
    {
        status_ = status;
        return *this;
    }
    operator MPI_Status() const { return status_; }

    int Get_source() const { return status_.MPI_SOURCE; }
    int Get_tag() const { return status_.MPI_TAG; }
    int Get_error() const { return status_.MPI_ERROR; }
    void Set_source(int source) { status_.MPI_SOURCE = source; }
    void Set_tag(int tag) { status_.MPI_TAG = tag; }
    void Set_error(int error) { status_.MPI_ERROR = error; }
    inline int Get_count(const Datatype &datatype) const;
    inline int Get_elements(const Datatype &datatype) const;
    inline void Set_elements(const Datatype &datatype, int count);
    bool Is_cancelled() const
    {
        int flag = 0;
        internal::check(MPI_Test_cancelled(&status_, &flag));
        return flag != 0;
    }
    void Set_cancelled(bool flag) { internal::check(MPI_Status_set_cancelled(&status_, flag ? 1 : 0)); }

    /* For the functions of this interface. */
    MPI_Status *c_status() { return &status_; }

private:
    MPI_Status status_;
};

class Request {
    OXMPI_CXX_HANDLE(Request, MPI_Request, MPI_REQUEST_NULL)
    void Wait() { internal::check(MPI_Wait(&handle_, MPI_STATUS_IGNORE)); }
    void Wait(Status &status) { internal::check(MPI_Wait(&handle_, status.c_status())); }
    bool Test() { return test(MPI_STATUS_IGNORE); }
    bool Test(Status &status) { return test(status.c_status()); }
    void Free() { internal::check(MPI_Request_free(&handle_)); }
    void Cancel() const
    {
        MPI_Request handle = handle_;
        internal::check(MPI_Cancel(&handle));
    }
    bool Get_status() const { return get_status(MPI_STATUS_IGNORE); }
    bool Get_status(Status &status) const { return get_status(status.c_status()); }

    static int Waitany(int count, Request requests[])
    {
        int index = MPI_UNDEFINED;
        internal::check(MPI_Waitany(count, handles(requests), &index, MPI_STATUS_IGNORE));
        return index;
    }
    static int Waitany(int count, Request requests[], Status &status)
    {
        int index = MPI_UNDEFINED;
        internal::check(MPI_Waitany(count, handles(requests), &index, status.c_status()));
        return index;
    }
    static bool Testany(int count, Request requests[], int &index)
    {
        int flag = 0;
        internal::check(MPI_Testany(count, handles(requests), &index, &flag, MPI_STATUS_IGNORE));
        return flag != 0;
    }
    static bool Testany(int count, Request requests[], int &index, Status &status)
    {
        int flag = 0;
        internal::check(MPI_Testany(count, handles(requests), &index, &flag, status.c_status()));
        return flag != 0;
    }
    static void Waitall(int count, Request requests[])
    {
        internal::check(MPI_Waitall(count, handles(requests), MPI_STATUSES_IGNORE));
    }
    static void Waitall(int count, Request requests[], Status statuses[])
    {
        internal::check(MPI_Waitall(count, handles(requests), c_statuses(statuses)));
    }
    static bool Testall(int count, Request requests[])
    {
        int flag = 0;
        internal::check(MPI_Testall(count, handles(requests), &flag, MPI_STATUSES_IGNORE));
        return flag != 0;
    }
    static bool Testall(int count, Request requests[], Status statuses[])
    {
        int flag = 0;
        internal::check(MPI_Testall(count, handles(requests), &flag, c_statuses(statuses)));
        return flag != 0;
    }
    static int Waitsome(int count, Request requests[], int indices[])
    {
        int done = MPI_UNDEFINED;
        internal::check(MPI_Waitsome(count, handles(requests), &done, indices, MPI_STATUSES_IGNORE));
        return done;
    }
    static int Waitsome(int count, Request requests[], int indices[], Status statuses[])
    {
        int done = MPI_UNDEFINED;
        internal::check(MPI_Waitsome(count, handles(requests), &done, indices, c_statuses(statuses)));
        return done;
    }
    static int Testsome(int count, Request requests[], int indices[])
    {
        int done = MPI_UNDEFINED;
        internal::check(MPI_Testsome(count, handles(requests), &done, indices, MPI_STATUSES_IGNORE));
        return done;
    }
    static int Testsome(int count, Request requests[], int indices[], Status statuses[])
    {
        int done = MPI_UNDEFINED;
        internal::check(MPI_Testsome(count, handles(requests), &done, indices, c_statuses(statuses)));
        return done;
    }

protected:
    static MPI_Request *handles(Request requests[]) { return reinterpret_cast<MPI_Request *>(requests); }
    static MPI_Status *c_statuses(Status statuses[]) { return reinterpret_cast<MPI_Status *>(statuses); }

private:
    bool test(MPI_Status *status)
    {
        int flag = 0;
        internal::check(MPI_Test(&handle_, &flag, status));
        return flag != 0;
    }
    bool get_status(MPI_Status *status) const
    {
        int flag = 0;
        internal::check(MPI_Request_get_status(handle_, &flag, status));
        return flag != 0;
    }
};

/* A persistent request. */
class Prequest : public Request {
public:
    Prequest() : Request() {}
    Prequest(MPI_Request handle) : Request(handle) {}
    Prequest(const Request &request) : Request(request) {}
    Prequest &operator=(MPI_Request handle)
    {
        handle_ = handle;
        return *this;
    }
    void Start() { internal::check(MPI_Start(&handle_)); }
    static void Startall(int count, Prequest requests[]) { internal::check(MPI_Startall(count, handles(requests))); }
};

/* A generalized request: the program says when it is complete. */
class Grequest : public Request {
public:
    typedef int Query_function(void *extra_state, Status &status);
    typedef int Free_function(void *extra_state);
    typedef int Cancel_function(void *extra_state, bool complete);

    Grequest() : Request() {}
    Grequest(MPI_Request handle) : Request(handle) {}
    Grequest(const Request &request) : Request(request) {}
    Grequest &operator=(MPI_Request handle)
    {
        handle_ = handle;
        return *this;
    }
    static Grequest Start(Query_function *query_fn, Free_function *free_fn, Cancel_function *cancel_fn,
                          void *extra_state)
    {
        Grequest request;
        Functions *functions = new Functions(query_fn, free_fn, cancel_fn, extra_state);
        const int code = MPI_Grequest_start(query, free, cancel, functions, &request.handle_);
        if (code != MPI_SUCCESS)
            delete functions;
        internal::check(code);
        return request;
    }
    void Complete() { internal::check(MPI_Grequest_complete(handle_)); }

private:
    /* The extra state of the C functions. */
    struct Functions {
        Functions(Query_function *query_fn, Free_function *free_fn, Cancel_function *cancel_fn, void *extra)
            : query(query_fn), free(free_fn), cancel(cancel_fn), extra_state(extra)
        {
        }
        Query_function *query;
        Free_function *free;
        Cancel_function *cancel;
        void *extra_state;
    };
    static int query(void *state, MPI_Status *status)
    {
        const Functions *functions = static_cast<const Functions *>(state);
        Status own(*status);
        const int code = functions->query(functions->extra_state, own);
        *status = own;
        return code;
    }
    /* The last one that is called. */
    static int free(void *state)
    {
        Functions *functions = static_cast<Functions *>(state);
        const int code = functions->free(functions->extra_state);
        delete functions;
        return code;
    }
    static int cancel(void *state, int complete)
    {
        const Functions *functions = static_cast<const Functions *>(state);
        return functions->cancel(functions->extra_state, complete != 0);
    }
};

} /* namespace MPI */

#endif
