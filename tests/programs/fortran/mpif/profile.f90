! ranks: 1 3
! expect-stdout: counted 3
! A program that stands between itself and MPI, through the names with P.
program profile
  implicit none
  include 'mpif.h'
  integer :: rank, got, code, count
  common /counter/ count
  count = 0
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, rank, 0, got, 1, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
  call MPI_Barrier(MPI_COMM_WORLD, code)
  call MPI_Barrier(MPI_COMM_WORLD, code)
  call PMPI_Barrier(MPI_COMM_WORLD, code)
  if (got /= rank .or. PMPI_Wtime() <= 0) error stop 1
  if (rank == 0) print '(a,i2)', ' counted', count
  call MPI_Finalize(code)
end program profile

subroutine MPI_Barrier(comm, code)
  implicit none
  integer :: comm, code, count
  common /counter/ count
  count = count + 1
  call PMPI_Barrier(comm, code)
end subroutine MPI_Barrier

subroutine MPI_Sendrecv(a, b, c, d, e, f, g, h, i, j, k, l, code)
  implicit none
  integer :: a(*), b, c, d, e, f(*), g, h, i, j, k, l(*), code, count
  common /counter/ count
  count = count + 1
  call PMPI_Sendrecv(a, b, c, d, e, f, g, h, i, j, k, l, code)
end subroutine MPI_Sendrecv
