! Heat in a square plate, rows dealt out to the ranks: each exchanges its edge rows with its neighbours, as sections of the
! array, until nothing changes any more.
program heat
  use mpi_f08
  implicit none
  integer, parameter :: n = 64
  real(8), allocatable :: t(:, :), new(:, :)
  real(8) :: change, largest
  integer :: rank, size, rows, up, down, step
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  up = merge(MPI_PROC_NULL, rank - 1, rank == 0)
  down = merge(MPI_PROC_NULL, rank + 1, rank == size - 1)
  rows = n / size + merge(1, 0, rank < mod(n, size))

  ! Row 0 and row rows + 1 are the neighbours'. The upper edge of the plate is hot.
  allocate (t(0:rows + 1, n), new(0:rows + 1, n))
  t = 0
  if (rank == 0) t(0, :) = 100
  new = t
  do step = 1, 10000
    call MPI_Sendrecv(t(1, :), n, MPI_DOUBLE_PRECISION, up, 0, t(rows + 1, :), n, MPI_DOUBLE_PRECISION, down, 0, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(t(rows, :), n, MPI_DOUBLE_PRECISION, down, 1, t(0, :), n, MPI_DOUBLE_PRECISION, up, 1, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    new(1:rows, 2:n - 1) = 0.25d0 * (t(0:rows - 1, 2:n - 1) + t(2:rows + 1, 2:n - 1) + t(1:rows, 1:n - 2) + t(1:rows, 3:n))
    change = maxval(abs(new(1:rows, :) - t(1:rows, :)))
    t(1:rows, :) = new(1:rows, :)
    call MPI_Allreduce(change, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
    if (largest < 1d-3) exit
  end do
  if (rank == 0) print '(a,i0,a,f0.2)', 'steady after ', step, ' steps; below the hot edge it is ', t(1, n / 2)
  call MPI_Finalize()
end program heat
