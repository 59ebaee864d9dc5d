! Two ranks that spend half a second in MPI_ALLREDUCE, called by a subroutine of the program.
subroutine reduce_often(calls)
    implicit none
    include 'mpif.h'
    integer, intent(out) :: calls
    double precision :: mine(64), sums(64), finish
    integer :: error
    mine = 0
    calls = 0
    finish = MPI_WTIME() + 0.5d0
    do
        if (MPI_WTIME() > finish) mine(1) = 1
        call MPI_ALLREDUCE(mine, sums, 64, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
        calls = calls + 1
        if (sums(1) > 0) exit
    end do
end subroutine

program sampled
    implicit none
    include 'mpif.h'
    integer :: calls, error
    call MPI_INIT(error)
    call reduce_often(calls)
    call MPI_FINALIZE(error)
    if (calls == 0) stop 1
end program
