# How each MPI implementation is compiled against and started, for bench/run.
#
# Three functions; every one takes the implementation's name first:
#   impl_home NAME            prints its prefix, fails when it is not installed
#   impl_compile NAME SRC OUT compiles one program
#   impl_launch NAME WHERE N  fills the array LAUNCH with the command that starts N ranks, WHERE being
#                             pair  (2 ranks, each bound to one of the two benchmark CPUs) or
#                             free  (any number of ranks inside the two CPUs, not bound one by one) or
#                             each  (N ranks, each bound to one of the first N CPUs of ALL_CPUS) or
#                             wide  (any number of ranks, the whole machine, library's own defaults)
# The reasons for the settings are in bench/README.md. It must never make a peer slower than its
# users would have it on one node.

impl_home() {
    local home
    case $1 in
        oxmpi) home=$PREFIX ;;
        oxmpi-base) home=$BASELINE ;; # an earlier build
        *) home=$PEERS_DIR/$1 ;;
    esac
    [ -x "$home/bin/mpiexec" ] || [ -x "$home/bin/mpirun" ] || return 1
    printf '%s\n' "$home"
}

impl_compile() {
    local home
    home=$(impl_home "$1") || return 1
    case $1 in
        # Intel's wrapper also links the Fortran library, which a C program does not need and which
        # would count against it in the memory table.
        impi) "${CC:-cc}" -O2 -I"$home/include" "$2" -o "$3" -L"$home/lib" -Wl,-rpath,"$home/lib" -lmpi ;;
        openmpi) OPAL_PREFIX=$home "$home/bin/mpicc" -O2 "$2" -o "$3" ;;
        *) "$home/bin/mpicc" -O2 "$2" -o "$3" ;;
    esac
}

impl_launch() {
    local name=$1 where=$2 n=$3 home lib=
    local confine=(taskset -c "$CPU0,$CPU1")
    home=$(impl_home "$name") || return 1
    local list="$CPU0,$CPU1"
    if [ "$where" = each ]; then
        list=$(IFS=, && echo "${ALL_CPUS[*]:0:n}")
        confine=(taskset -c "$list")
        where=pair # from here on the same: one CPU for each rank
    fi
    [ "$where" != wide ] || confine=()
    # A prefix that was moved since the program was linked is found through this.
    [ -z "${LD_LIBRARY_PATH-}" ] || lib=:$LD_LIBRARY_PATH
    LAUNCH=(env LD_LIBRARY_PATH="$home/lib$lib")
    case $name in
        oxmpi | oxmpi-base)
            LAUNCH+=("${confine[@]}" "$home/bin/mpirun" -n "$n")
            [ "$where" != pair ] || LAUNCH+=(--bind-to core)
            [ -z "$WITH_FT" ] || [ "$name" != oxmpi ] || LAUNCH+=(--with-ft ulfm)
            [ -z "${CHECK-}" ] || [ "$name" != oxmpi ] || LAUNCH+=("--check=$CHECK")
            ;;
        mpich)
            LAUNCH+=("${confine[@]}" "$home/bin/mpiexec" -n "$n")
            [ "$where" != pair ] || LAUNCH+=(-bind-to "user:$list")
            ;;
        openmpi)
            LAUNCH+=(OPAL_PREFIX="$home" PRTE_PREFIX="$home" PMIX_PREFIX="$home"
                "${confine[@]}" "$home/bin/mpirun" --allow-run-as-root --oversubscribe -n "$n")
            case $where in
                pair) LAUNCH+=(--map-by "pe-list=$list:ordered" --bind-to core) ;;
                *) LAUNCH+=(--bind-to none) ;;
            esac
            ;;
        impi)
            # mpiexec.hydra finds its proxies through PATH; without I_MPI_FABRICS=shm it wants libfabric.
            LAUNCH+=(PATH="$home/bin:$PATH" I_MPI_ROOT="$home" I_MPI_FABRICS=shm)
            [ "$where" != pair ] || LAUNCH+=(I_MPI_PIN_PROCESSOR_LIST="$list")
            LAUNCH+=("${confine[@]}" "$home/bin/mpiexec.hydra" -n "$n")
            ;;
        *) return 1 ;;
    esac
}
