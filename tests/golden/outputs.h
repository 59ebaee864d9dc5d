// Prints what a call has put into its outputs, in words that are equal in every ABI: constants by their names, objects
// made by the call as `new`. calls.h includes this after its tables of names.

static char said[2048];
static size_t said_to;

static void say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (said_to < sizeof said) said_to += (size_t)vsnprintf(said + said_to, sizeof said - said_to, format, list);
    va_end(list);
}

static const char *class_name(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    for (int i = 0; i < COUNT(class_names); i++)
        if (class_names[i].value == class) return class_names[i].name;
    return "unknown class";
}

// Behind the room for one value nothing has been written.
static void check_rest(void)
{
    for (int i = 0; i < ARGUMENTS; i++)
        for (size_t at = one_value[i]; one_value[i] && at < ROOM; at++)
            if (((const char *)rooms[i])[at] != 'Z') {
                say(" too much in argument %d", i);
                break;
            }
}

static int64_t number_at(int argument, size_t size, int element)
{
    const char *place = (const char *)rooms[argument] + size * (size_t)element;
    int32_t narrow;
    int64_t wide;
    memcpy(&narrow, place, sizeof narrow);
    memcpy(&wide, place, sizeof wide);
    return size == sizeof narrow ? narrow : wide;
}

static void show_numbers(int argument, const char *name, size_t size, int elements)
{
    say(" %s", name);
    for (int i = 0; i < elements; i++) say("%c%lld", i ? ',' : '=', (long long)number_at(argument, size, i));
}

static void say_named(int64_t number, const struct name *names)
{
    while (names->name && names->value != number) names++;
    if (names->name)
        say("%s", names->name);
    else
        say("%lld", (long long)number);
}

static void show_named(int argument, const char *name, size_t size, int elements, const struct name *names)
{
    say(" %s", name);
    for (int i = 0; i < elements; i++) {
        say("%c", i ? ',' : '=');
        int64_t number = number_at(argument, size, i);
        int is_flags = names == access_modes_of_files;
        if (!is_flags) say_named(number, names);
        for (int k = 0; is_flags && names[k].name; k++)
            if (number & names[k].value) say("%s ", names[k].name);
    }
}

static void show_handles(int argument, const char *name, enum kind kind, size_t size, int elements)
{
    say(" %s", name);
    for (int i = 0; i < elements; i++) {
        uintptr_t handle = (uintptr_t)number_at(argument, size, i);
        const char *what = handle && handle == good[kind] ? "same" : "new";
        for (int k = COUNT(predefined); k-- > 0;)
            if (predefined[k].kind == kind && predefined[k].handle == handle) what = predefined[k].name;
        say("%c%s", i ? ',' : '=', kind >= MPI_KINDS && !handle ? "none" : what);
    }
}

static void show_class(int argument, const char *name) { say(" %s=%s", name, class_name((int)number_at(argument, 4, 0))); }

static void show_text(int argument, const char *name) { say(" %s=\"%.60s\"", name, (const char *)rooms[argument]); }

static void show_bytes(int argument, const char *name) { show_numbers(argument, name, sizeof(int), 3); }

static void show_status(const char *name, const MPI_Status *status)
{
    int bytes = -1, cancelled = -1;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    MPI_Test_cancelled(status, &cancelled);
    say(" %s={", name);
    say_named(status->MPI_SOURCE, ranks_with_a_meaning);
    say(" ");
    say_named(status->MPI_TAG, tags_with_a_meaning);
    say(" %s %d%s}", class_name(status->MPI_ERROR), bytes, cancelled ? " cancelled" : "");
}

static void show_statuses(int argument, const char *name, int elements)
{
    const MPI_Status *statuses = (const MPI_Status *)rooms[argument];
    for (int i = 0; i < elements; i++) show_status(name, &statuses[i]);
}

static void show_f_status(int argument, const char *name)
{
    MPI_Status status = {0};
    MPI_Status_f2c((const MPI_Fint *)rooms[argument], &status);
    show_status(name, &status);
}

static void show_f08_status(int argument, const char *name)
{
    MPI_Status status = {0};
    MPI_Status_f082c((const MPI_F08_status *)rooms[argument], &status);
    show_status(name, &status);
}

// What a request is when a call returns it.
enum operation { STARTED, PERSISTENT, NEEDS_OTHERS };

// Also completes the operation, if that needs no other call.
static void show_operation(int argument, const char *name, enum operation operation)
{
    MPI_Request *request = (MPI_Request *)rooms[argument];
    MPI_Status status = {0};
    int done = 0;
    show_handles(argument, name, K_request, sizeof *request, 1);
    if (*request == MPI_REQUEST_NULL || operation == NEEDS_OTHERS) return;
    if (operation == PERSISTENT) MPI_Start(request);
    for (int i = 0; i < 1000 && !done; i++) MPI_Test(request, &done, &status);
    if (done)
        show_status("status", &status);
    else
        say(" pending");
    if (operation == PERSISTENT) MPI_Request_free(request);
}
