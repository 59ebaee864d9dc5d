! ranks: 1 2 3 8
! Nonblocking and persistent collective operations on array sections with gaps: every call that completes a request, or says
! that it is complete, brings the data; and nothing of the program's is lost that the operation does not write.
program completion_sections
  use mpi_f08
  implicit none
  integer, parameter :: most = 8, calls = 8
  integer :: rank, size, how, i
  integer, asynchronous :: a(3, 2 * most), b(2, most, calls)
  type(MPI_Request) :: r(calls)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  a = rank
  do how = 1, calls
    call one(how)
    call many(how)
  end do
  do how = 1, 4
    call asked(how)
  end do
  call persistent()
  call untouched()
  call MPI_Finalize()

contains

  subroutine begin(k)
    integer, intent(in) :: k
    b(:, :, k) = -1
    call MPI_Iallgather(a(k - k / 3 * 3 + 1, 1), 1, MPI_INTEGER, b(2, 1:size, k), 1, MPI_INTEGER, MPI_COMM_WORLD, r(k))
  end subroutine begin

  subroutine expect(k, what)
    integer, intent(in) :: k
    character(len=*), intent(in) :: what
    call check(all(b(2, 1:size, k) == [(i - 1, i = 1, size)]), what)
    call check(all(b(1, :, k) == -1) .and. all(b(2, size + 1:, k) == -1), what // ', beside it')
  end subroutine expect

  ! A single request, completed in each of the ways.
  subroutine one(how)
    integer, intent(in) :: how
    integer :: which, done, indices(1)
    logical :: flag
    type(MPI_Request) :: q(1)
    call begin(1)
    q = r(1)
    flag = .false.
    select case (how)
    case (1)
      call MPI_Wait(q(1), MPI_STATUS_IGNORE)
    case (2)
      do while (.not. flag)
        call MPI_Test(q(1), flag, MPI_STATUS_IGNORE)
      end do
    case (3)
      call MPI_Waitall(1, q, MPI_STATUSES_IGNORE)
    case (4)
      do while (.not. flag)
        call MPI_Testall(1, q, flag, MPI_STATUSES_IGNORE)
      end do
    case (5)
      call MPI_Waitany(1, q, which, MPI_STATUS_IGNORE)
      call check(which == 1, 'index of waitany')
    case (6)
      do while (.not. flag)
        call MPI_Testany(1, q, which, flag, MPI_STATUS_IGNORE)
      end do
      call check(which == 1, 'index of testany')
    case (7)
      call MPI_Waitsome(1, q, done, indices, MPI_STATUSES_IGNORE)
      call check(done == 1 .and. indices(1) == 1, 'index of waitsome')
    case (8)
      done = 0
      do while (done == 0)
        call MPI_Testsome(1, q, done, indices, MPI_STATUSES_IGNORE)
      end do
      call check(done == 1 .and. indices(1) == 1, 'index of testsome')
    end select
    call check(q(1) == MPI_REQUEST_NULL, 'request')
    call expect(1, 'one request')
  end subroutine one

  ! Several requests with different arrays, an ordinary one and none among them; some are completed early.
  subroutine many(how)
    integer, intent(in) :: how
    integer :: k, n, which, done, indices(calls), got
    logical :: flag
    type(MPI_Request) :: all_of_them(calls)
    do k = 1, calls - 2
      call begin(k)
    end do
    got = -1
    call MPI_Irecv(got, 1, MPI_INTEGER, rank, 5, MPI_COMM_WORLD, r(calls - 1))
    r(calls) = MPI_REQUEST_NULL
    all_of_them = r
    call MPI_Send(how, 1, MPI_INTEGER, rank, 5, MPI_COMM_WORLD)
    select case (mod(how, 4))
    case (0)
      call MPI_Waitall(calls, all_of_them, MPI_STATUSES_IGNORE)
    case (1)
      do n = 1, calls - 1
        call MPI_Waitany(calls, all_of_them, which, MPI_STATUS_IGNORE)
        if (which <= calls - 2) call expect(which, 'waitany of several')
      end do
      call MPI_Waitany(calls, all_of_them, which, MPI_STATUS_IGNORE)
      call check(which == MPI_UNDEFINED, 'nothing left')
    case (2)
      n = 0
      do while (n < calls - 1)
        call MPI_Testsome(calls, all_of_them, done, indices, MPI_STATUSES_IGNORE)
        do k = 1, done
          if (indices(k) <= calls - 2) call expect(indices(k), 'testsome of several')
        end do
        n = n + done
      end do
    case (3)
      call MPI_Wait(all_of_them(2), MPI_STATUS_IGNORE)
      call expect(2, 'one before the others')
      flag = .false.
      do while (.not. flag)
        call MPI_Testall(calls, all_of_them, flag, MPI_STATUSES_IGNORE)
      end do
    end select
    do k = 1, calls - 2
      call expect(k, 'several requests')
    end do
    call check(got == how, 'the ordinary one')
    do k = 1, calls
      call check(all_of_them(k) == MPI_REQUEST_NULL, 'requests')
    end do
  end subroutine many

  ! A program that knows that an operation is complete may use its array, also before the request is completed.
  subroutine asked(how)
    integer, intent(in) :: how
    integer :: which, done, indices(1)
    logical :: flag
    call begin(1)
    flag = .false.
    do while (.not. flag)
      select case (how)
      case (1)
        call MPI_Request_get_status(r(1), flag, MPI_STATUS_IGNORE)
      case (2)
        call MPI_Request_get_status_all(1, r(1:1), flag, MPI_STATUSES_IGNORE)
      case (3)
        call MPI_Request_get_status_any(1, r(1:1), which, flag, MPI_STATUS_IGNORE)
        if (flag) call check(which == 1, 'index of get_status_any')
      case (4)
        call MPI_Request_get_status_some(1, r(1:1), done, indices, MPI_STATUSES_IGNORE)
        flag = done == 1
        if (flag) call check(indices(1) == 1, 'index of get_status_some')
      end select
    end do
    call expect(1, 'asked')
    b(2, 1, 1) = 77
    call MPI_Wait(r(1), MPI_STATUS_IGNORE)
    call check(b(2, 1, 1) == 77, 'changed after it was complete')
  end subroutine asked

  subroutine persistent()
    type(MPI_Request) :: p(2)
    integer :: round
    call MPI_Allgather_init(a(3, 2), 1, MPI_INTEGER, b(2, 1:size, 1), 1, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, p(1))
    call MPI_Alltoall_init(a(1, 1:2 * size:2), 1, MPI_INTEGER, b(2, 1:size, 2), 1, MPI_INTEGER, MPI_COMM_WORLD, &
      MPI_INFO_NULL, p(2))
    do round = 1, 3
      b = -1
      a(1, 1:2 * size:2) = [(100 * round + 10 * rank + i, i = 1, size)]
      call MPI_Startall(2, p)
      call MPI_Waitall(2, p, MPI_STATUSES_IGNORE)
      call expect(1, 'persistent')
      call check(all(b(2, 1:size, 2) == [(100 * round + 10 * (i - 1) + rank + 1, i = 1, size)]), 'read again')
      call check(p(1) /= MPI_REQUEST_NULL .and. p(2) /= MPI_REQUEST_NULL, 'still requests')
    end do
    ! What the program does between the rounds is its own affair.
    b(2, 1, 1) = 5
    call MPI_Waitall(2, p, MPI_STATUSES_IGNORE)
    call check(b(2, 1, 1) == 5, 'inactive')
    call MPI_Request_free(p(1))
    call MPI_Request_free(p(2))
    call check(b(2, 1, 1) == 5 .and. p(1) == MPI_REQUEST_NULL, 'freed')
    a = rank
  end subroutine persistent

  ! Elements of the section that the operation does not write may be written during the operation.
  subroutine untouched()
    integer :: counts(most), places(most)
    counts = 1
    places = [(2 * (i - 1), i = 1, most)]
    a = -1
    call MPI_Igatherv(rank, 1, MPI_INTEGER, a(2, :), counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, r(1))
    if (rank == 0) then
      a(2, 2:2 * size:2) = 9
    else
      a(2, :) = 9
    end if
    call MPI_Wait(r(1), MPI_STATUS_IGNORE)
    if (rank == 0) then
      call check(all(a(2, 1:2 * size:2) == [(i - 1, i = 1, size)]) .and. all(a(2, 2:2 * size:2) == 9), 'between the blocks')
    else
      call check(all(a(2, :) == 9), 'not at the root')
    end if
  end subroutine untouched

  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (.not. ok) then
      print *, 'wrong: ', what
      error stop 1
    end if
  end subroutine check
end program completion_sections
