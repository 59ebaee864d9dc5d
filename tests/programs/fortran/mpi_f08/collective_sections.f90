! ranks: 1 2 3 8
! Collective operations on array sections with gaps: blocking, nonblocking, persistent; large counts; an operation with a
! large count.
module operation
  implicit none
contains
  subroutine larger(in, inout, len, t)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    use mpi_f08
    type(c_ptr), value :: in, inout
    integer(kind=MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: t
    integer, pointer :: a(:), b(:)
    call c_f_pointer(in, a, [len])
    call c_f_pointer(inout, b, [len])
    if (t /= MPI_INTEGER) error stop 2
    b = max(a, b)
  end subroutine larger
end module operation

program collective_sections
  use mpi_f08
  use operation
  implicit none
  integer, parameter :: most = 8
  integer :: rank, size, i, round
  integer, asynchronous :: a(6, 5), b(2, 3 * most), c(4, most)
  type(MPI_Request) :: r, rs(1)
  type(MPI_Op) :: o
  integer :: which, done, indices(1)
  logical :: flag
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)

  ! The root's section goes everywhere.
  a = rank
  if (rank == 0) a(1:6:2, 2:4:2) = reshape([(i, i = 1, 6)], [3, 2])
  call MPI_Bcast(a(1:6:2, 2:4:2), 6, MPI_INTEGER, 0, MPI_COMM_WORLD)
  call check(all(a(1:6:2, 2:4:2) == reshape([(i, i = 1, 6)], [3, 2])), 'bcast')
  call check(a(2, 2) == rank .and. a(1, 1) == rank, 'beside it')
  a = rank
  call MPI_Ibcast(a(2, :), 5, MPI_INTEGER, size - 1, MPI_COMM_WORLD, r)
  call MPI_Wait(r, MPI_STATUS_IGNORE)
  call check(all(a(2, :) == size - 1) .and. all(a(1, :) == rank), 'ibcast')

  ! A row of every process, into rows.
  a = 100 * rank
  a(3, :) = [(100 * rank + i, i = 1, 5)]
  b = -1
  call MPI_Gather(a(3, 1:5:2), 3, MPI_INTEGER, b(2, :), 3, MPI_INTEGER, 0, MPI_COMM_WORLD)
  if (rank == 0) then
    do i = 1, size
      call check(all(b(2, 3 * i - 2:3 * i) == 100 * (i - 1) + [1, 3, 5]), 'gather')
    end do
  end if
  call check(all(b(1, :) == -1), 'the other row')
  b = -1
  call MPI_Iallgather(a(3, 1:5:2), 3, MPI_INTEGER, b(1, :), 3, MPI_INTEGER, MPI_COMM_WORLD, r)
  call MPI_Wait(r, MPI_STATUS_IGNORE)
  do i = 1, size
    call check(all(b(1, 3 * i - 2:3 * i) == 100 * (i - 1) + [1, 3, 5]), 'iallgather')
  end do
  call check(all(b(2, :) == -1), 'the other row again')

  ! Reductions, where a datatype of the section would not do.
  c = rank
  b = -1
  call MPI_Allreduce(c(1:4:3, 1), b(2, 1:2), 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call check(all(b(2, 1:2) == size * (size - 1) / 2) .and. all(b(1, :) == -1), 'allreduce')
  b = -1
  call MPI_Iallreduce(c(2, :), b(1, 1:most), most, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, r)
  flag = .false.
  do while (.not. flag)
    call MPI_Test(r, flag, MPI_STATUS_IGNORE)
  end do
  call check(all(b(1, 1:most) == size - 1) .and. all(b(2, :) == -1), 'iallreduce')
  b = -1
  call MPI_Iallreduce(MPI_IN_PLACE, c(1, :), most, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r)
  rs = r
  call MPI_Waitany(1, rs, which, MPI_STATUS_IGNORE)
  call check(which == 1 .and. all(c(1, :) == size * (size - 1) / 2) .and. all(c(2:4, :) == rank), 'in place')

  ! Persistent: the section is read at every start.
  call MPI_Allreduce_init(c(3, :), b(2, 1:2 * most:2), most, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, r)
  do round = 1, 3
    c(3, :) = round
    b = -1
    call MPI_Start(r)
    if (round == 2) then
      rs = r
      call MPI_Waitsome(1, rs, done, indices, MPI_STATUSES_IGNORE)
    else
      call MPI_Wait(r, MPI_STATUS_IGNORE)
    end if
    call check(all(b(2, 1:2 * most:2) == round * size) .and. all(b(2, 2:2 * most:2) == -1), 'persistent')
  end do
  call MPI_Request_free(r)

  ! Large counts.
  call MPI_Op_create_c(larger, .true., o)
  c(:, 1) = rank
  call MPI_Allreduce(c(1:3:2, 1), b(1, 1:2), 2_MPI_COUNT_KIND, MPI_INTEGER, o, MPI_COMM_WORLD)
  call check(all(b(1, 1:2) == size - 1), 'operation with a large count')
  call MPI_Op_free(o)
  call MPI_Finalize()

contains

  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (.not. ok) then
      print *, 'wrong: ', what
      error stop 1
    end if
  end subroutine check
end program collective_sections
