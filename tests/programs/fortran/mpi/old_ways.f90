! ranks: 1 2 4
! no-check: objects are left at the end
! What programs do that were moved from mpif.h to the module mpi: elements of arrays where arrays are expected, arrays of
! another shape, buffers of all types, a section as a buffer.
program old_ways
  use mpi
  implicit none
  integer :: code, rank, size, world, group, comm, n, i
  integer :: ranks(4), dims(0:3), coords(2, 2), requests(2, 3), statuses(MPI_STATUS_SIZE, 3), indices(4)
  logical :: periods(4), flag
  real :: x(4, 5), y(4, 5), r
  character(len=6) :: text
  type :: pair
    integer :: a
    double precision :: b
  end type pair
  type(pair) :: p(2), q(2)
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, size, code)
  call MPI_Comm_group(MPI_COMM_WORLD, world, code)
  ranks = [99, 0, 99, 99]
  call MPI_Group_incl(world, 1, ranks(2), group, code)
  call MPI_Group_size(group, n, code)
  call check(n == 1, 'group of an element')
  dims = [-1, size, 1, -1]
  periods = [.false., .true., .false., .false.]
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims(1), periods(2), .false., comm, code)
  call MPI_Cart_coords(comm, rank, 2, coords(1, 2), code)
  call check(all(coords(:, 2) == [rank, 0]), 'coordinates in a column')
  call MPI_Cart_rank(comm, coords(1, 2), n, code)
  call check(n == rank, 'rank of a column')
  ! The second column of requests, and a column of statuses.
  requests = MPI_REQUEST_NULL
  x = rank
  y = -1
  call MPI_Irecv(y(1, 2), 4, MPI_REAL, rank, 3, MPI_COMM_WORLD, requests(1, 2), code)
  call MPI_Isend(x(1, 4), 4, MPI_REAL, rank, 3, MPI_COMM_WORLD, requests(2, 2), code)
  call MPI_Waitall(2, requests(1, 2), statuses(1, 2), code)
  call check(all(y(:, 2) == rank) .and. all(y(:, 3:) == -1), 'columns')
  call check(statuses(MPI_TAG, 2) == 3, 'status')
  call MPI_Get_count(statuses(1, 2), MPI_REAL, n, code)
  call check(n == 4, 'count')
  call MPI_Waitsome(6, requests, n, indices(2), statuses, code)
  call check(n == MPI_UNDEFINED, 'two-dimensional requests')
  ! The compiler makes a copy of a section, which will do for a blocking call.
  call MPI_Sendrecv(x(2, :), 5, MPI_REAL, rank, 4, y(3, :), 5, MPI_REAL, rank, 4, MPI_COMM_WORLD, statuses, code)
  call check(all(y(3, :) == rank), 'row')
  ! All types, scalars and expressions.
  text = 'abc'
  p = pair(1, 2.5d0)
  q = pair(0, 0)
  r = 0
  call MPI_Bcast(text, 6, MPI_CHARACTER, 0, MPI_COMM_WORLD, code)
  call MPI_Bcast(.true., 0, MPI_LOGICAL, 0, MPI_COMM_WORLD, code)
  call MPI_Sendrecv(p, 2 * storage_size(p) / 8, MPI_BYTE, rank, 5, q, 2 * storage_size(q) / 8, MPI_BYTE, rank, 5, &
    MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
  call check(q(2)%a == 1 .and. q(2)%b == 2.5d0, 'derived type')
  call MPI_Allreduce(1 + rank, n, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, code)
  call check(n == size, 'expression')
  call MPI_Reduce(0.5, r, 1, MPI_REAL, MPI_SUM, 0, MPI_COMM_WORLD, code)
  call check(rank /= 0 .or. r == 0.5 * size, 'constant')
  call MPI_Testany(0, requests(1, 1), i, flag, statuses(1, 1), code)
  call check(flag .and. i == MPI_UNDEFINED, 'nothing to test')
  call MPI_Comm_free(comm, code)
  call MPI_Finalize(code)

contains

  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (.not. ok) then
      print *, 'wrong: ', what
      error stop 1
    end if
  end subroutine check
end program old_ways
