"""mpi4py and plugins of several ABIs in one process; the arguments are the paths of plugins made of plugin.c."""

import ctypes
import pathlib
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
copy = world.Dup()
names = []
for path in sys.argv[1:]:
    plugin = ctypes.CDLL(path)
    for comm in (world, copy):
        total = plugin.sum_of_ranks(comm.py2f())
        assert total == sum(range(world.size)), (path, comm, total)
    reversed_ = MPI.Comm.f2py(plugin.reversed(copy.py2f()))
    assert reversed_.size == world.size and reversed_.rank == world.size - 1 - world.rank, (path, reversed_.rank)
    ranks = reversed_.allgather(world.rank)
    assert ranks == list(reversed(range(world.size))), (path, ranks)
    reversed_.Free()
    names.append(pathlib.Path(path).stem)
copy.Free()
if world.rank == 0:
    print(", ".join(names))
