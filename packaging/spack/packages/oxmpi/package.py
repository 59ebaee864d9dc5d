# Spack's recipe for OxMPI. `spack repo add packaging/spack`, then `spack install oxmpi`.
import os

from spack.package import *


class Oxmpi(Package):
    """The Message Passing Interface, MPI-5.0, in Rust, with the standard ABI; it also runs programs that were built for
    MPICH and Open MPI."""

    # A source tree beside this recipe: `make dist` writes the tarball, and its checksum for version() below.
    homepage = "https://www.mpi-forum.org"
    url = "file://{0}/dist/oxmpi-0.1.0.tar.gz".format(
        os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "..", ".."))
    )

    license("MIT OR Apache-2.0")

    # The checksum of a tarball is in dist/oxmpi-0.1.0.tar.gz.sha256; until a release has one, use --no-checksum.
    version("0.1.0")

    variant("fortran", default=True, description="Make the Fortran modules")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("rust@1.89:", type="build")
    depends_on("gmake", type="build")

    provides("mpi@:5.0")
    provides("mpi-abi@:1.0")

    requires("platform=linux", msg="OxMPI needs Linux")
    requires("target=x86_64:", msg="OxMPI needs x86-64")

    def setup_build_environment(self, env):
        if self.spec.satisfies("+fortran"):
            env.set("OXMPI_FC", self.compiler.fc)

    def install(self, spec, prefix):
        cargo = which("cargo")
        cargo("xtask", "install", "--prefix", prefix)

    def setup_run_environment(self, env):
        env.set("MPICC", self.prefix.bin.mpicc)
        env.set("MPICXX", self.prefix.bin.mpicxx)
        env.set("MPIF77", self.prefix.bin.mpif77)
        env.set("MPIF90", self.prefix.bin.mpif90)

    def setup_dependent_build_environment(self, env, dependent_spec):
        self.setup_run_environment(env)
        # The wrappers call Spack's compilers.
        env.set("OXMPI_CC", spack_cc)
        env.set("OXMPI_CXX", spack_cxx)
        env.set("OXMPI_FC", spack_fc)

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = self.prefix.bin.mpicc
        self.spec.mpicxx = self.prefix.bin.mpicxx
        self.spec.mpif77 = self.prefix.bin.mpif77
        self.spec.mpifc = self.prefix.bin.mpif90

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.oxmpi)("info")
