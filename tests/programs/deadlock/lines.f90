! ranks: 2
! one-host: ../hosts has the same between hosts
! timeout: 60
! cflags: -g
! expect-exit: 121
! expect-stderr: deadlock:
! expect-stderr: rank 0 in MPI_Recv at lines.f90:19 from rank 1, tag 7
! expect-stderr: rank 1 in MPI_Barrier at lines.f90:21
! The lines of a Fortran program, not those of the Fortran library.
program lines
    use mpi_f08
    implicit none
    integer :: rank, value = 0

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    if (rank == 0) then
        ! The next line is in the report.
        call MPI_Recv(value, 1, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    else
        call MPI_Barrier(MPI_COMM_WORLD)
    end if
    call MPI_Finalize()
end program
