"""python -m oxmpi: the version of OxMPI and the paths of its files."""

import os
import shutil
import sys
from importlib import metadata

from oxmpi import __version__, get_include, prefix

# Packages that own files of the same names.
OTHERS = ["mpich", "openmpi", "impi-rt", "intel-mpi"]


def installed(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def main():
    root = prefix()
    lib = os.path.join(root, "lib")
    print("OxMPI", __version__)
    print("prefix  ", root)
    for name in ["mpirun", "mpicc", "mpicxx", "mpifort", "oxmpi"]:
        print("%-8s" % name, os.path.join(root, "bin", name))
    print("include ", get_include())
    names = {
        "libmpi_abi.so.1": "the standard ABI",
        "libmpi.so.12": "MPICH's ABI",
        "libmpi.so.40": "Open MPI's ABI",
    }
    for name, what in names.items():
        path = os.path.join(lib, name)
        if os.path.exists(path):
            print("library ", path, "(%s)" % what)
    print("mpi4py  ", installed("mpi4py") or "not installed (pip install mpi4py)")
    wrong = 0
    for name in OTHERS:
        version = installed(name)
        if version:
            wrong = 1
            print("warning: %s %s is installed too and owns files of the same names; remove one, and install"
                  " the other again" % (name, version))
    found = shutil.which("mpirun")
    if found and os.path.realpath(os.path.dirname(found)) != os.path.realpath(os.path.join(root, "bin")):
        print("warning: the mpirun on your PATH is another one:", found)
        wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
