! ranks: 1 2 3 8
! Array sections with gaps, handed over as they are: blocking, nonblocking, persistent, one-sided, packed, and parts of them.
program sections
  use mpi_f08
  implicit none
  integer :: rank, size, left, right, i, j
  real, asynchronous :: a(12, 10), b(12, 10)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  left = mod(rank + size - 1, size)
  right = mod(rank + 1, size)
  call check(MPI_SUBARRAYS_SUPPORTED, 'constant')
  call fill()
  call blocking()
  call nonblocking()
  call persistent()
  call parts()
  call one_sided()
  call packed()
  call others()
  call gaps_in_gaps()
  call refused()
  call MPI_Finalize()

contains

  real function element(r, i, j)
    integer, intent(in) :: r, i, j
    element = 1000 * r + 20 * i + j
  end function element

  subroutine fill()
    do j = 1, 10
      do i = 1, 12
        a(i, j) = element(rank, i, j)
      end do
    end do
    b = -1
  end subroutine fill

  ! b has what the left neighbour has in the rows and columns given, at rows and columns that may differ, and -1 elsewhere.
  subroutine expect(what, i1, i2, is, j1, j2, js)
    character(len=*), intent(in) :: what
    integer, intent(in) :: i1, i2, is, j1, j2, js
    integer :: i, j
    real :: wanted(12, 10)
    wanted = -1
    do j = j1, j2, js
      do i = i1, i2, is
        wanted(i, j) = element(left, i, j)
      end do
    end do
    call check(all(b == wanted), what)
    b = -1
  end subroutine expect

  subroutine blocking()
    call MPI_Sendrecv(a(1:12:3, 2:10:4), 12, MPI_REAL, right, 0, b(1:12:3, 2:10:4), 12, MPI_REAL, left, 0, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect('sendrecv', 1, 12, 3, 2, 10, 4)
    ! A row, backwards and back again.
    call MPI_Sendrecv(a(5, 10:1:-1), 10, MPI_REAL, right, 0, b(5, 10:1:-1), 10, MPI_REAL, left, 0, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect('a row', 5, 5, 1, 1, 10, 1)
    call MPI_Sendrecv(a(3:4, :), 20_MPI_COUNT_KIND, MPI_REAL, right, 0, b(3:4, :), 20_MPI_COUNT_KIND, MPI_REAL, left, 0, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect('large counts', 3, 4, 1, 1, 10, 1)
  end subroutine blocking

  subroutine nonblocking()
    type(MPI_Request) :: r(2)
    type(MPI_Status) :: s(2)
    integer :: n
    call MPI_Irecv(b(2:12:5, 1:9:2), 15, MPI_REAL, left, 1, MPI_COMM_WORLD, r(1))
    call MPI_Isend(a(2:12:5, 1:9:2), 15, MPI_REAL, right, 1, MPI_COMM_WORLD, r(2))
    call MPI_Waitall(2, r, s)
    call MPI_Get_elements(s(1), MPI_REAL, n)
    call check(n == 15, 'elements')
    call expect('isend and irecv', 2, 12, 5, 1, 9, 2)
  end subroutine nonblocking

  subroutine persistent()
    type(MPI_Request) :: r(2)
    integer :: round
    call MPI_Recv_init(b(1:12:11, 3:8), 12, MPI_REAL, left, 2, MPI_COMM_WORLD, r(1))
    call MPI_Send_init(a(1:12:11, 3:8), 12, MPI_REAL, right, 2, MPI_COMM_WORLD, r(2))
    do round = 1, 3
      call MPI_Startall(2, r)
      call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
      call expect('persistent', 1, 12, 11, 3, 8, 1)
    end do
    call MPI_Request_free(r(1))
    call MPI_Request_free(r(2))
  end subroutine persistent

  ! Fewer elements than the section has; a type of several elements; elements of several values; a complex part.
  subroutine parts()
    complex :: z(6), w(6)
    type :: pair
      sequence
      integer :: x, y
    end type pair
    type(pair) :: p(6), q(6)
    real :: c(12)
    call MPI_Sendrecv(a(1:12:2, 1:3), 8, MPI_REAL, right, 3, b(1:12:2, 1:3), 8, MPI_REAL, left, 3, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(b(1:12:2, 1) == [(element(left, i, 1), i = 1, 12, 2)]), 'first column')
    call check(all(b(1:3:2, 2) == [element(left, 1, 2), element(left, 3, 2)]), 'begun column')
    call check(all(b(5:, 2) == -1) .and. all(b(:, 3:) == -1), 'nothing else')
    b = -1
    z = [(cmplx(i, rank), i = 1, 6)]
    w = 0
    call MPI_Sendrecv(z(2:6:2), 3, MPI_COMPLEX, right, 4, w(1:5:2), 3, MPI_COMPLEX, left, 4, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    call check(all(w(1:5:2) == [(cmplx(i, left), i = 2, 6, 2)]) .and. all(w(2:6:2) == 0), 'complex')
    c = 0
    call MPI_Sendrecv(z(1:5:2), 3, MPI_COMPLEX, right, 5, c(1:11:2), 3, MPI_COMPLEX, left, 5, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    call check(all(c(1:11:4) == [1., 3., 5.]) .and. all(c(3:11:4) == left), 'complex into reals')
    p = [(pair(i, 10 * i + rank), i = 1, 6)]
    q = pair(0, 0)
    call MPI_Sendrecv(p(1:6:3), 4, MPI_INTEGER, right, 6, q(2:6:4), 4, MPI_INTEGER, left, 6, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    call check(q(6)%x == 4 .and. q(6)%y == 40 + left .and. q(2)%x == 1 .and. q(3)%x == 0, 'derived type')
  end subroutine parts

  subroutine one_sided()
    type(MPI_Win) :: w
    real, save, asynchronous :: window(12)
    real :: got(24)
    window = -2
    call MPI_Win_create(window, 48_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, w)
    call MPI_Win_fence(0, w)
    call MPI_Put(a(4, 1:10:3), 4, MPI_REAL, right, 3_MPI_ADDRESS_KIND, 4, MPI_REAL, w)
    call MPI_Win_fence(0, w)
    call check(all(window(4:7) == [(element(left, 4, j), j = 1, 10, 3)]) .and. window(8) == -2, 'put')
    got = 0
    call MPI_Get(got(24:1:-6), 4, MPI_REAL, right, 3_MPI_ADDRESS_KIND, 4, MPI_REAL, w)
    call MPI_Win_fence(0, w)
    call check(all(got(24:1:-6) == a(4, 1:10:3)) .and. sum(got) == sum(a(4, 1:10:3)), 'get')
    call MPI_Accumulate(a(4, 1:10:3), 4, MPI_REAL, right, 3_MPI_ADDRESS_KIND, 4, MPI_REAL, MPI_SUM, w)
    call MPI_Win_fence(0, w)
    call check(all(window(4:7) == 2 * [(element(left, 4, j), j = 1, 10, 3)]), 'accumulate')
    call MPI_Win_free(w)
  end subroutine one_sided

  subroutine packed()
    character :: bytes(2, 100)
    integer :: position
    position = 0
    bytes = '.'
    call MPI_Pack(a(1:12:4, 1:2), 6, MPI_REAL, bytes(1, :), 100, position, MPI_COMM_WORLD)
    call check(position == 24 .and. all(bytes(2, :) == '.'), 'pack')
    position = 0
    call MPI_Unpack(bytes(1, :), 100, position, b(1:12:4, 1:2), 6, MPI_REAL, MPI_COMM_WORLD)
    call check(all(b(1:12:4, 1:2) == a(1:12:4, 1:2)) .and. b(2, 1) == -1, 'unpack')
    b = -1
  end subroutine packed

  ! Buffers that are contiguous in other ways: assumed size and shape, pointers, scalars, characters, nothing at all.
  subroutine others()
    real, pointer :: p(:)
    real, target :: t(10)
    character(len=5) :: text, words(4)
    integer :: n, m
    t = [(i, i = 1, 10)] + rank
    p => t(1:10:3)
    b = 0
    call MPI_Sendrecv(p, 4, MPI_REAL, right, 7, b, 4, MPI_REAL, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(b(1:4, 1) == [1, 4, 7, 10] + left), 'pointer')
    call assumed(t, t(2:10:2))
    text = 'abcde'
    words = '.....'
    call MPI_Sendrecv(text, 5, MPI_CHARACTER, right, 8, words(3), 5, MPI_CHARACTER, left, 8, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    call check(words(3) == text .and. words(2) == '.....', 'text')
    call MPI_Sendrecv(words(1:4:2), 10, MPI_CHARACTER, right, 8, words(2:4:2), 10, MPI_CHARACTER, left, 8, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(words(2) == '.....' .and. words(4) == text, 'texts')
    n = rank
    call MPI_Sendrecv(n, 1, MPI_INTEGER, right, 9, m, 1, MPI_INTEGER, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(m == left, 'scalar')
    call MPI_Sendrecv(t(5:4), 0, MPI_REAL, right, 9, t(1:0:2), 0, MPI_REAL, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine others

  ! Datatypes that have gaps themselves, in the gaps of an array: they pick elements of the section.
  subroutine gaps_in_gaps()
    type(MPI_Datatype) :: every_second, last_first, six_bytes
    type(MPI_Request) :: r(2)
    type(MPI_Status) :: s
    type(MPI_Win) :: w
    real, save, asynchronous :: window(6)
    real :: wanted(12, 10)
    integer :: n, x(4), y(5)
    b = -1
    call MPI_Type_vector(3, 1, 2, MPI_REAL, every_second)
    call MPI_Type_commit(every_second)
    call MPI_Sendrecv(a(1:12:2, 1), 1, every_second, right, 11, b(2:12:2, 2), 1, every_second, left, 11, &
      MPI_COMM_WORLD, s)
    wanted = -1
    wanted(2:12:4, 2) = [(element(left, i, 1), i = 1, 12, 4)]
    call check(all(b == wanted), 'vector in a section')
    call MPI_Get_count(s, every_second, n)
    call check(n == 1, 'count of a vector in a section')
    ! Two of them follow each other at their extent, across the columns of the section, from the last to the first.
    b = -1
    call MPI_Type_indexed(2, [1, 1], [4, 0], MPI_REAL, last_first)
    call MPI_Type_commit(last_first)
    call MPI_Irecv(b(1:12:4, 1:8:2), 2, last_first, left, 12, MPI_COMM_WORLD, r(1))
    call MPI_Isend(a(1:12:4, 1:8:2), 2, last_first, right, 12, MPI_COMM_WORLD, r(2))
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
    wanted = -1
    wanted(1, 1) = element(left, 1, 1)
    wanted(5, 3) = element(left, 5, 3)
    wanted(9, 3) = element(left, 9, 3)
    wanted(1, 7) = element(left, 1, 7)
    call check(all(b == wanted), 'indexed in a section')
    ! Values that end within an element.
    x = [(int(z'01010101') * i, i = 1, 4)]
    y = 0
    call MPI_Type_contiguous(6, MPI_BYTE, six_bytes)
    call MPI_Type_commit(six_bytes)
    call MPI_Sendrecv(x(1:4:2), 1, six_bytes, right, 13, y(2:5:3), 1, six_bytes, left, 13, MPI_COMM_WORLD, s)
    call check(all(y == [0, x(1), 0, 0, int(z'0303')]), 'part of an element')
    window = 0
    call MPI_Win_create(window, 24_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, w)
    call MPI_Win_fence(0, w)
    call MPI_Put(a(1:12:2, 5), 1, every_second, right, 1_MPI_ADDRESS_KIND, 3, MPI_REAL, w)
    call MPI_Win_fence(0, w)
    call check(all(window(2:4) == [(element(left, i, 5), i = 1, 12, 4)]) .and. window(5) == 0, 'put of a vector in a section')
    call MPI_Win_free(w)
    call MPI_Type_free(every_second)
    call MPI_Type_free(last_first)
    call MPI_Type_free(six_bytes)
    b = -1
  end subroutine gaps_in_gaps

  ! What cannot be: memory with gaps for MPI to keep, and more than there is. The error is the communicator's.
  subroutine refused()
    type(MPI_Win) :: w
    type(MPI_Comm) :: own
    type(MPI_Datatype) :: t
    integer :: code, class
    call MPI_Comm_dup(MPI_COMM_SELF, own)
    call MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN)
    call MPI_Win_create(a(1:12:2, 1), 24_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, own, w, code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_BUFFER, 'window with gaps')
    call MPI_Send(a(1:12:2, 1), 7, MPI_REAL, 0, 0, own, code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_BUFFER, 'too many elements')
    call MPI_Type_vector(4, 1, 2, MPI_REAL, t)
    call MPI_Type_commit(t)
    call MPI_Send(a(1:12:2, 1), 1, t, 0, 0, own, code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_BUFFER, 'a datatype that is longer than the section')
    call MPI_Type_free(t)
    call MPI_Comm_free(own)
  end subroutine refused

  subroutine assumed(x, y)
    real :: x(*), y(:)
    real :: z(5)
    call MPI_Sendrecv(x, 3, MPI_REAL, right, 10, z, 5, MPI_REAL, left, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(z(1:3) == [1, 2, 3] + left), 'assumed size')
    call MPI_Sendrecv(y, 5, MPI_REAL, right, 10, z, 5, MPI_REAL, left, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(z == [2, 4, 6, 8, 10] + left), 'assumed shape')
  end subroutine assumed

  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (.not. ok) then
      print *, 'wrong: ', what
      error stop 1
    end if
  end subroutine check
end program sections
