"""Commands and printers of gdb for programs that use OxMPI.

gdb loads this file with libmpi_abi.so.1, beside which it is installed, where its `auto-load safe-path` allows that folder;
`mpirun --debug` and `oxmpi gdb` see to that. Elsewhere: `source .../lib/libmpi_abi.so.1-gdb.py`.

What a rank has is read by liboxmpi_msgq.so, which gets the memory from gdb, so it works in core files, too. Where all ranks
are, `oxmpi where` says.
"""

import ctypes
import os
import re
import subprocess

import gdb

LIBRARY_FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOM = 1 << 20
FETCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_int, ctypes.c_void_p)


class Reader:
    """liboxmpi_msgq.so in gdb's own process."""

    def __init__(self):
        self.library = ctypes.CDLL(os.path.join(LIBRARY_FOLDER, "oxmpi", "liboxmpi_msgq.so"))
        self.library.oxmpi_show.argtypes = [FETCH, ctypes.c_ulong, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
        self.library.mqs_dll_error_string.restype = ctypes.c_char_p
        self.fetch = FETCH(self.read)
        self.text = ctypes.create_string_buffer(ROOM)

    @staticmethod
    def read(_, address, count, into):
        try:
            memory = gdb.selected_inferior().read_memory(address, count)
        except gdb.error:
            return 1
        ctypes.memmove(into, memory.tobytes(), count)
        return 0

    def show(self, what):
        """The text about one kind of objects of the rank that gdb looks at."""
        # The words of this command do not depend on the language of the function that gdb looks at.
        try:
            found = re.search(r"0x[0-9a-f]+", gdb.execute("info address oxmpi_message_queues", to_string=True))
        except gdb.error:
            found = None
        if not found:
            raise gdb.GdbError("the program does not use OxMPI, or has not started")
        address = int(found[0], 16)
        result = self.library.oxmpi_show(self.fetch, address, what.encode(), self.text, ROOM)
        if result != 0:
            raise gdb.GdbError(self.library.mqs_dll_error_string(result).decode())
        return self.text.value.decode(errors="replace")


reader = None


def show(what):
    global reader
    if reader is None:
        reader = Reader()
    return reader.show(what)


class Mpi(gdb.Command):
    """What the MPI library of this process has: mpi where, comms, queues, requests, windows."""

    def __init__(self):
        super().__init__("mpi", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


class Where(gdb.Command):
    """In which MPI call each rank of this job on this machine is, and what it waits for, as `oxmpi where` says."""

    def __init__(self):
        super().__init__("mpi where", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        pid = gdb.selected_inferior().pid
        if pid == 0 or not os.path.exists("/proc/%d" % pid):
            raise gdb.GdbError("mpi where needs a process that runs on this machine")
        oxmpi = os.path.join(os.path.dirname(LIBRARY_FOLDER), "bin", "oxmpi")
        output = subprocess.run([oxmpi, "where", str(pid)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        gdb.write(output.stdout.decode(errors="replace"))


class Objects(gdb.Command):
    def __init__(self, what, text):
        self.__doc__ = text
        self.what = what
        super().__init__("mpi " + what, gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        gdb.write(show(self.what) or "none\n")


class Handles:
    """What handles stand for: predefined ones as mpi.h names them, others as the library knows them."""

    # A handle of MPI's standard ABI is a pointer to a structure that nobody defines; the second form is the library's own.
    TYPE = re.compile(r"^(?:struct MPI_ABI_(\w+) \*|\*mut .*::Object<.*::(\w+)>)$")

    def __init__(self):
        self.named = {}
        self.live = {}
        gdb.events.stop.connect(self.forget)
        gdb.events.cont.connect(self.forget)
        gdb.events.memory_changed.connect(self.forget)
        header = os.path.join(os.path.dirname(LIBRARY_FOLDER), "include", "mpi.h")
        define = re.compile(r"^#define (MPI_\w+)\s+\(\(MPI_(\w+)\)\s*(0x[0-9a-fA-F]+|\d+)\)")
        try:
            with open(header, encoding="utf-8") as lines:
                for line in lines:
                    found = define.match(line)
                    if found:
                        self.named.setdefault((found[2], int(found[3], 0)), found[1])
        except OSError:
            pass

    def forget(self, _):
        self.live = None

    def describe(self, kind, handle):
        if (kind, handle) in self.named:
            return self.named[kind, handle]
        if self.live is None or not self.live:
            self.live = {}
            try:
                for line in show("handles").splitlines():
                    number, text = line.split(" ", 1)
                    self.live[int(number, 16)] = text
            except (gdb.error, OSError):
                pass
        return self.live.get(handle)


class Printer:
    def __init__(self, handle, text):
        self.handle = handle
        self.text = text

    def to_string(self):
        return "%#x (%s)" % (self.handle, self.text) if self.text else "%#x" % self.handle


handles = Handles()


def printer(value):
    found = Handles.TYPE.match(str(value.type.strip_typedefs().unqualified()))
    if not found:
        return None
    handle = int(value)
    return Printer(handle, handles.describe(found[1] or found[2], handle))


Mpi()
Where()
Objects("comms", "The communicators of this process: name, own rank, and the ranks of the members in MPI_COMM_WORLD.")
Objects("queues", "Sends that have not ended, receives that no message has matched, and messages that no receive has matched.")
Objects("requests", "The requests of this process, by their handles.")
Objects("windows", "The windows of this process.")
if printer.__name__ not in [getattr(known, "__name__", "") for known in gdb.pretty_printers]:
    printer.__name__ = "oxmpi_handles"
    gdb.pretty_printers.append(printer)
