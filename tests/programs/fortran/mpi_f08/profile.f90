! ranks: 1 3
! expect-stdout: counted 2
! A program that stands between itself and the procedures of mpi_f08, by their specific names.
subroutine MPI_Barrier_f08(comm, ierror)
  use mpi_f08, nobody => MPI_Barrier_f08
  implicit none
  type(MPI_Comm), intent(in) :: comm
  integer, optional, intent(out) :: ierror
  integer :: count
  common /counter/ count
  count = count + 1
  call PMPI_Barrier(comm, ierror)
end subroutine MPI_Barrier_f08

program profile
  use mpi_f08
  implicit none
  integer :: rank, count, code
  common /counter/ count
  count = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Barrier(MPI_COMM_WORLD, code)
  call PMPI_Barrier(MPI_COMM_WORLD)
  if (code /= MPI_SUCCESS) error stop 1
  if (rank == 0) print '(a,i2)', ' counted', count
  call MPI_Finalize()
end program profile
