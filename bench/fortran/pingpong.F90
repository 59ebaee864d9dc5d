! Half round trip of 8 bytes between ranks 0 and 1, in microseconds: the best of many rounds. -DBY_MPIF, or by mpi_f08.
program pingpong
#if defined(BY_MPIF)
  implicit none
  include 'mpif.h'
#else
  use mpi_f08
  implicit none
#endif
  integer, parameter :: rounds = 25, turns = 20000
  double precision :: t, best, x, y
  integer :: rank, i, k, code
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  best = huge(best)
  x = 1
  do k = 1, rounds
    t = MPI_Wtime()
    do i = 1, turns
      if (rank == 0) then
        call MPI_Send(x, 1, MPI_DOUBLE_PRECISION, 1, 1, MPI_COMM_WORLD, code)
        call MPI_Recv(y, 1, MPI_DOUBLE_PRECISION, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
      else
        call MPI_Recv(y, 1, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
        call MPI_Send(x, 1, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, code)
      end if
    end do
    best = min(best, (MPI_Wtime() - t) / (2 * turns))
  end do
  if (rank == 0) print '(f9.4)', best * 1d6
  call MPI_Finalize(code)
end program pingpong
