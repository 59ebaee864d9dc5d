! Two ranks exchange a number, with the module mpi_f08.
program exchange
  use mpi_f08
  implicit none
  integer :: rank, mine, theirs
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  mine = 100 + rank
  call MPI_Sendrecv(mine, 1, MPI_INTEGER, 1 - rank, 5, theirs, 1, MPI_INTEGER, 1 - rank, 5, MPI_COMM_WORLD, &
    MPI_STATUS_IGNORE)
  write (*, '(a,i1,a,i3)') 'rank ', rank, ' got ', theirs
  call MPI_Finalize()
end program exchange
