# The commands of OxMPI. `make demo` runs examples; a change must pass `make test` (.ci/run).
# They write only to build/, to dist/ (packages) and to cargo's target folder.

# Passed to the recipes through the environment, because it may contain any character.
export PREFIX ?= $(HOME)/.local/oxmpi

STAGE  := build/prefix
TARGET := $(or $(CARGO_TARGET_DIR),target)

# Uses rustup's cargo if the one on the PATH is missing or too old.
export PATH := $(shell scripts/deps path)

# The name under which the pinned Rust is installed here.
ifndef RUSTUP_TOOLCHAIN
  TOOLCHAIN := $(shell scripts/toolchain)
  ifneq ($(TOOLCHAIN),)
    export RUSTUP_TOOLCHAIN := $(TOOLCHAIN)
  endif
endif

.PHONY: help demo test test-all install bench clean
.PHONY: deps test-deps stage lint unit loom abi hot programs programs-hosts programs-hosts-all wrappers tools valgrind valgrind-all kills crash-points hosts hosts-sample
.PHONY: wheel deb dist packages
.PHONY: programs-check mpi4py hosts-kills programs-hosts-ssh simulated miri soak foreign-abi foreign-abi-all

help:
	@echo 'make demo                 build, and run the examples under mpirun'
	@echo 'make test                 all checks and tests'
	@echo 'make test-all             the same, and the long ones'
	@echo "make install PREFIX=...   install (default: $$PREFIX)"
	@echo 'make stage                build only, into $(STAGE); `sudo make install` copies that'
	@echo 'make bench                measure, against other MPI libraries where they are installed'
	@echo 'make soak                 the tests again and again, and jobs killed at random moments: about two hours'
	@echo 'make wheel, deb, dist     a Python wheel, a Debian package, a tarball of the sources; in dist/'
	@echo 'make clean                remove the files that the other commands wrote'
	@echo 'Parts of make test: lint unit loom abi hot programs programs-hosts wrappers tools valgrind packages foreign-abi kills hosts-sample'
	@echo 'make hosts                jobs over several hosts, made in namespaces of this machine (as root)'

demo: stage
	@scripts/demo $(STAGE) build/demo

# One after the other, also under make -j: the tests measure time and load the machine by themselves.
test: test-deps
	@for part in lint unit loom abi hot programs programs-hosts wrappers tools valgrind packages foreign-abi kills hosts-sample; do $(MAKE) --no-print-directory $$part || exit 1; done
	@echo 'All tests passed.'

# Builds and copies. Root does not build in the checkout of a user, but copies what the user has built.
install:
	@if scripts/install --must-build; then $(MAKE) --no-print-directory stage; fi
	@scripts/install $(STAGE) "$$PREFIX"

bench: stage
	bench/run --prefix $(STAGE)

clean:
	rm -rf build dist
	cargo clean

deps:
	@scripts/deps build

test-deps:
	@scripts/deps test

# An installation for the other targets to use.
stage: deps
	cargo xtask install --prefix $(STAGE)

# Format, warnings, and the rules of the repository.
lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo xtask tidy
	cargo xtask docs

# The tests written in Rust.
unit:
	cargo test --workspace --quiet

# The lock-free parts, in every interleaving. In a target folder of its own, because the flag concerns every crate.
loom: export RUSTFLAGS := --cfg loom
loom: export CARGO_PROFILE_RELEASE_LTO := off
loom: export CARGO_PROFILE_RELEASE_CODEGEN_UNITS := 16
loom:
	cargo test --package oxmpi-base --release --target-dir $(TARGET)/loom --quiet loom

# mpi.h as compilers see it, and the symbols of the library.
abi: stage
	cargo xtask abi $(STAGE)/lib/libmpi_abi.so.1

# The machine code of the calls that programs make most.
hot: stage
	cargo xtask hot --lib $(STAGE)/lib/libmpi_abi.so.1

# The tests written in C, C++ and Fortran, with the installation's own wrappers and mpirun; bad handles for every function; and
# what every function answers to bad arguments.
programs: stage
	cargo xtask test-programs --prefix $(STAGE)
	cargo xtask fortran-coverage --prefix $(STAGE)
	tests/second-fortran/run $(STAGE) build/tests-second-fortran
	cargo xtask fuzz-handles --prefix $(STAGE)
	cargo xtask golden --prefix $(STAGE)

# The same tests on two pretended hosts, one size of each; with all sizes, and on three too. A few over libfabric; all of them.
programs-hosts: stage
	cargo xtask test-programs --prefix $(STAGE) --hosts 2 --sample
	tests/fabric/run $(STAGE) build/tests-fabric

programs-hosts-all: stage
	cargo xtask test-programs --prefix $(STAGE) --hosts 2
	cargo xtask test-programs --prefix $(STAGE) --hosts 3
	tests/fabric/run $(STAGE) build/tests-fabric --all

# The test programs that are right, at all sizes under --check: no finding, and no failure.
programs-check: stage
	cargo xtask test-programs --prefix $(STAGE) --check

# Packages of an installation, and of the sources.
wheel: stage
	packaging/wheel/build $(STAGE) dist

deb: stage
	packaging/deb/build $(STAGE) dist

dist:
	packaging/dist dist

# Each package, used as people use it.
packages: stage
	tests/wheel/run $(STAGE) build/tests-wheel
	tests/packages/run $(STAGE) build/tests-packages

# The installation as build systems see it.
wrappers: stage
	tests/wrappers/run $(STAGE) build/tests-wrappers
	tests/cxx/run $(STAGE) build/tests-cxx
	tests/cmake/run $(STAGE) build/tests-cmake
	tests/install/run $(STAGE) build/tests-install

# Debuggers and other tools of developers between mpirun and the ranks.
tools: stage
	tests/tools/run $(STAGE) build/tests-tools

# A sample of the test programs in valgrind: no error and no leak.
valgrind: stage
	cargo xtask test-programs --prefix $(STAGE) --valgrind pt2pt/sendrecv.c pt2pt/exchange.c pt2pt/fairness.c coll/floats.c coll/ops_types.c rma/put_get.c

# All test programs that end well in valgrind, at one small size each; takes hours.
valgrind-all: stage
	cargo xtask test-programs --prefix $(STAGE) --valgrind

# Programs for the ABIs of MPICH and Open MPI: a sample of the test programs, and nearly all of them.
foreign-abi: stage
	tests/foreign-abi/run mpich $(STAGE) build/tests-mpich-abi
	tests/foreign-abi/run openmpi $(STAGE) build/tests-openmpi-abi
	tests/foreign-abi/together/run $(STAGE) build/tests-together
	tests/foreign-abi/binaries/run $(STAGE) build/tests-binaries
	tests/foreign-abi/compiled/run $(STAGE) build/tests-compiled

foreign-abi-all: stage
	tests/foreign-abi/run mpich $(STAGE) build/tests-mpich-abi --all
	tests/foreign-abi/run openmpi $(STAGE) build/tests-openmpi-abi --all

# mpi4py's own test of going on after failures, on the three ABIs; pip fetches mpi4py.
mpi4py: stage
	tests/mpi4py/run $(STAGE) build/tests-mpi4py

# Jobs in every state of MPI that lose a rank or their mpirun.
kills: stage
	cargo xtask soak --prefix $(STAGE) --ranks 57 --mpirun 19 --survive 20

# A rank dies before and after each change of memory that ranks share, and the others go on.
crash-points: stage
	cargo xtask crash-points --prefix $(STAGE) --unreached

# Jobs over several hosts with networks of their own, which lose packets, links, processes and hosts.
hosts: stage
	tests/hosts/run $(STAGE) build/tests-hosts

# Jobs on four hosts that lose a process or a wire, 200 times.
hosts-kills: export OXMPI_HOST_KILLS := 200
hosts-kills: stage
	tests/hosts/run $(STAGE) build/tests-hosts soak

# All test programs at all sizes on four hosts, over ssh.
programs-hosts-ssh: stage
	tests/hosts/run $(STAGE) build/tests-hosts programs_all

hosts-sample: stage
	tests/hosts/run $(STAGE) build/tests-hosts --sample

# Many seeds of the simulated network, and many random programs over it.
simulated: export OXMPI_SIM_SEEDS := 200
simulated: export OXMPI_SIM_PROGRAMS := 10000
simulated:
	cargo test --package oxmpi-testkit --quiet

# Datatypes, and the placement of ranks on nodes, in an interpreter that finds undefined behaviour. Miri comes with nightly Rust. It is slow, and
# has no system calls but the simplest, so few and short cases run.
miri: export MIRIFLAGS := -Zmiri-permissive-provenance -Zmiri-disable-isolation
miri: export PROPTEST_CASES := 10
miri:
	@if cargo +nightly miri --version > /dev/null 2>&1; then \
	  cargo +nightly miri test --package oxmpi-datatype --target-dir $(TARGET)/miri --quiet --test shrinking && \
	  cargo +nightly miri test --package oxmpi-coll --target-dir $(TARGET)/miri --quiet --lib; \
	else \
	  echo 'miri: skipped, because no nightly toolchain with the component miri is installed'; \
	fi

test-all: test programs-check valgrind-all simulated miri foreign-abi-all programs-hosts-all programs-hosts-ssh hosts hosts-kills crash-points

soak: stage hosts-kills
	cargo xtask soak --prefix $(STAGE) --ranks 2000 --mpirun 500 --survive 2000
	cargo xtask test-programs --prefix $(STAGE) --repeat 100
	cargo xtask fuzz-handles --prefix $(STAGE) --calls 100000000 --seed 2
	$(STAGE)/bin/mpicc -O2 tests/programs/coll/stress.c -o build/stress
	$(STAGE)/bin/mpirun -n 5 build/stress 1000000
	$(STAGE)/bin/mpicc -O2 tests/programs/rma/stress.c -o build/stress
	$(STAGE)/bin/mpirun -n 8 build/stress 10000000
