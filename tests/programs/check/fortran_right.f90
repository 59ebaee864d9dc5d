! ranks: 3
! launch: --check=error
! fortran_wrong.f90 without its mistakes.
program fortran_right
    use mpi_f08
    implicit none
    integer :: rank
    logical :: is_wrong
    character(len=32), parameter :: ALL(*) = [character(len=32) :: "root", "op", "count", "type", "call", "order", "message", &
        "wait", "send", "receive", "overlap", "comm", "datatype", "group", "operation", "window", "persistent", "conflict", &
        "store", "unreceived"]
    integer :: at

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    is_wrong = .false.
    do at = 1, size(ALL)
        call act(trim(ALL(at)))
    end do
    call MPI_Finalize()

contains

    include 'fortran.inc'

end program fortran_right
