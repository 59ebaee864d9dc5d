"""OxMPI, an implementation of MPI: where its files are in this environment.

The package brings commands (mpirun, mpicc, mpicxx, mpifort, oxmpi), libraries and headers; MPI for Python
itself is mpi4py. `python -m oxmpi` prints what is here.
"""

import os
import sys
from importlib import metadata

__version__ = metadata.version("oxmpi")


def prefix():
    """The folder that has OxMPI's bin, lib and include."""
    for file in metadata.files("oxmpi") or []:
        if file.name == "mpirun":
            return os.path.dirname(os.path.dirname(os.path.realpath(str(file.locate()))))
    return sys.prefix


def get_include():
    """The folder of mpi.h."""
    return os.path.join(prefix(), "include")


def get_library():
    """The library of the standard ABI."""
    return os.path.join(prefix(), "lib", "libmpi_abi.so.1")
