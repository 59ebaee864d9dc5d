! Two ranks exchange a number, with the module mpi.
program exchange
  use mpi
  implicit none
  integer :: rank, mine, theirs, code
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  mine = 100 + rank
  call MPI_Sendrecv(mine, 1, MPI_INTEGER, 1 - rank, 5, theirs, 1, MPI_INTEGER, 1 - rank, 5, MPI_COMM_WORLD, &
    MPI_STATUS_IGNORE, code)
  write (*, '(a,i1,a,i3)') 'rank ', rank, ' got ', theirs
  call MPI_Finalize(code)
end program exchange
