! ranks: 1 2 5 8
! Every reduction that MPI defines, on every type that the compiler has, by the names with sizes and without; operations of the
! program's own on datatypes with gaps.
module own
  implicit none
  integer :: calls = 0
contains
  ! Elements are the first and third of four integers.
  subroutine largest(in, inout, len, t)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    use mpi_f08
    type(c_ptr), value :: in, inout
    integer :: len, size
    type(MPI_Datatype) :: t
    integer, pointer :: a(:, :), b(:, :)
    call MPI_Type_size(t, size)
    if (size /= 2 * kind(size)) error stop 3
    call c_f_pointer(in, a, [4, len])
    call c_f_pointer(inout, b, [4, len])
    b(1, :) = max(a(1, :), b(1, :))
    b(3, :) = max(a(3, :), b(3, :))
    calls = calls + 1
  end subroutine largest
end module own

program reductions
  use mpi_f08
  use own
  implicit none
  integer, parameter :: n = 3
  integer :: rank, size, i
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call numbers(MPI_SUM, [size + 1, 3 * size, size * (size - 1) / 2])
  call numbers(MPI_PROD, [2, 3**min(size, 4), 0])
  call numbers(MPI_MAX, [2, 3, size - 1])
  call numbers(MPI_MIN, [merge(2, 1, size == 1), 3, 0])
  call bits(MPI_BAND, [merge(2, 0, size == 1), 3, 0])
  call bits(MPI_BOR, [merge(2, 3, size == 1), 3, merge(size - 1, 7, any(size == [1, 2, 8]))])
  call bits(MPI_BXOR, [ieor(2, mod(size - 1, 2)), 3 * mod(size, 2), xored()])
  call truths(MPI_LAND, [merge(.true., .false., size == 1), .true., .false.])
  call truths(MPI_LOR, [.true., .true., .false.])
  call truths(MPI_LXOR, [.true., merge(.true., .false., mod(size, 2) == 1), .false.])
  call complexes()
  call pairs()
  call gaps()
  call MPI_Finalize()

contains

  integer function xored()
    xored = 0
    do i = 0, size - 1
      xored = ieor(xored, i)
    end do
  end function xored

  ! 2 on rank 0 and 1 elsewhere; 3; the rank. Of the product of threes no more than four, which fit a byte.
  function values(op) result(v)
    type(MPI_Op), intent(in) :: op
    integer :: v(n)
    v = [merge(2, 1, rank == 0), 3, rank]
    if (op == MPI_PROD .and. rank >= 4) v(2) = 1
  end function values

  subroutine numbers(op, w)
    type(MPI_Op), intent(in) :: op
    integer, intent(in) :: w(n)
    real(4) :: r_4(n), s_4(n)
    real(8) :: r_8(n), s_8(n)
    integer :: v(n)
#if defined(__GFORTRAN__)
    real(16) :: r_16(n), s_16(n)
#endif
    call bits(op, w)
    v = values(op)
    r_4 = real(v, 4)
    call MPI_Allreduce(r_4, s_4, n, MPI_REAL4, op, MPI_COMM_WORLD)
    call check(all(s_4 == real(w, 4)), 'MPI_REAL4')
    r_4 = real(v, 4)
    call MPI_Allreduce(r_4, s_4, n, MPI_REAL, op, MPI_COMM_WORLD)
    call check(all(s_4 == real(w, 4)), 'MPI_REAL')
    r_8 = real(v, 8)
    call MPI_Allreduce(r_8, s_8, n, MPI_REAL8, op, MPI_COMM_WORLD)
    call check(all(s_8 == real(w, 8)), 'MPI_REAL8')
    r_8 = real(v, 8)
    call MPI_Allreduce(r_8, s_8, n, MPI_DOUBLE_PRECISION, op, MPI_COMM_WORLD)
    call check(all(s_8 == real(w, 8)), 'MPI_DOUBLE_PRECISION')
#if defined(__GFORTRAN__)
    r_16 = real(v, 16)
    call MPI_Allreduce(r_16, s_16, n, MPI_REAL16, op, MPI_COMM_WORLD)
    call check(all(s_16 == real(w, 16)), 'MPI_REAL16')
#endif
  end subroutine numbers

  subroutine bits(op, w)
    type(MPI_Op), intent(in) :: op
    integer, intent(in) :: w(n)
    integer(1) :: x_1(n), y_1(n)
    integer(2) :: x_2(n), y_2(n)
    integer(4) :: x_4(n), y_4(n)
    integer(8) :: x_8(n), y_8(n)
    integer(16) :: x_16(n), y_16(n)
    integer :: v(n), y(n)
    v = values(op)
    x_1 = int(v, 1)
    call MPI_Allreduce(x_1, y_1, n, MPI_INTEGER1, op, MPI_COMM_WORLD)
    call check(all(y_1 == int(w, 1)), 'MPI_INTEGER1')
    x_2 = int(v, 2)
    call MPI_Allreduce(x_2, y_2, n, MPI_INTEGER2, op, MPI_COMM_WORLD)
    call check(all(y_2 == int(w, 2)), 'MPI_INTEGER2')
    x_4 = int(v, 4)
    call MPI_Allreduce(x_4, y_4, n, MPI_INTEGER4, op, MPI_COMM_WORLD)
    call check(all(y_4 == int(w, 4)), 'MPI_INTEGER4')
    call MPI_Allreduce(v, y, n, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(all(y == w), 'MPI_INTEGER')
    x_8 = int(v, 8)
    call MPI_Allreduce(x_8, y_8, n, MPI_INTEGER8, op, MPI_COMM_WORLD)
    call check(all(y_8 == int(w, 8)), 'MPI_INTEGER8')
    x_8 = int(v, 8)
    call MPI_Allreduce(x_8, y_8, n, MPI_AINT, op, MPI_COMM_WORLD)
    call check(all(y_8 == int(w, 8)), 'MPI_AINT')
    x_8 = int(v, 8)
    call MPI_Allreduce(x_8, y_8, n, MPI_COUNT, op, MPI_COMM_WORLD)
    call check(all(y_8 == int(w, 8)), 'MPI_COUNT')
    x_8 = int(v, 8)
    call MPI_Allreduce(x_8, y_8, n, MPI_OFFSET, op, MPI_COMM_WORLD)
    call check(all(y_8 == int(w, 8)), 'MPI_OFFSET')
    x_16 = int(v, 16)
    call MPI_Allreduce(x_16, y_16, n, MPI_INTEGER16, op, MPI_COMM_WORLD)
    call check(all(y_16 == int(w, 16)), 'MPI_INTEGER16')
    if (op == MPI_BAND .or. op == MPI_BOR .or. op == MPI_BXOR) then
      x_1 = int(v, 1)
      call MPI_Allreduce(x_1, y_1, n, MPI_BYTE, op, MPI_COMM_WORLD)
      call check(all(y_1 == int(w, 1)), 'MPI_BYTE')
    end if
  end subroutine bits

  subroutine truths(op, q)
    type(MPI_Op), intent(in) :: op
    logical, intent(in) :: q(n)
    logical :: p(n), m(n)
    logical(1) :: l_1(n), m_1(n)
    logical(2) :: l_2(n), m_2(n)
    logical(4) :: l_4(n), m_4(n)
    logical(8) :: l_8(n), m_8(n)
    p = [merge(.true., .false., rank == 0), .true., .false.]
    l_1 = p
    call MPI_Allreduce(l_1, m_1, n, MPI_LOGICAL1, op, MPI_COMM_WORLD)
    call check(all(logical(m_1) .eqv. q), 'MPI_LOGICAL1')
    l_2 = p
    call MPI_Allreduce(l_2, m_2, n, MPI_LOGICAL2, op, MPI_COMM_WORLD)
    call check(all(logical(m_2) .eqv. q), 'MPI_LOGICAL2')
    l_4 = p
    call MPI_Allreduce(l_4, m_4, n, MPI_LOGICAL4, op, MPI_COMM_WORLD)
    call check(all(logical(m_4) .eqv. q), 'MPI_LOGICAL4')
    call MPI_Allreduce(p, m, n, MPI_LOGICAL, op, MPI_COMM_WORLD)
    call check(all(m .eqv. q), 'MPI_LOGICAL')
    l_8 = p
    call MPI_Allreduce(l_8, m_8, n, MPI_LOGICAL8, op, MPI_COMM_WORLD)
    call check(all(logical(m_8) .eqv. q), 'MPI_LOGICAL8')
  end subroutine truths

  subroutine complexes()
    type(MPI_Op) :: op
    complex(4) :: c_4(n), d_4(n)
    complex(8) :: c_8(n), d_8(n)
    integer :: v(n), k
    real(8) :: wr(n), wi(n)
    complex(8) :: z(n)
#if defined(__GFORTRAN__)
    complex(16) :: c_16(n), d_16(n)
#endif
    do k = 1, 2
      if (k == 1) then
        op = MPI_SUM
        v = values(op)
        wr = [size + 1, 3 * size, size * (size - 1) / 2]
        wi = -wr
      else
        ! Powers of 1 - i, all exact.
        op = MPI_PROD
        v = 1
        z = (1, 0)
        do i = 1, size
          z = z * (1, -1)
        end do
        wr = real(z)
        wi = aimag(z)
      end if
      c_4 = cmplx(v, -v, 4)
      call MPI_Allreduce(c_4, d_4, n, MPI_COMPLEX8, op, MPI_COMM_WORLD)
      call check(all(d_4 == cmplx(wr, wi, 4)), 'MPI_COMPLEX8')
      c_4 = cmplx(v, -v, 4)
      call MPI_Allreduce(c_4, d_4, n, MPI_COMPLEX, op, MPI_COMM_WORLD)
      call check(all(d_4 == cmplx(wr, wi, 4)), 'MPI_COMPLEX')
      c_8 = cmplx(v, -v, 8)
      call MPI_Allreduce(c_8, d_8, n, MPI_COMPLEX16, op, MPI_COMM_WORLD)
      call check(all(d_8 == cmplx(wr, wi, 8)), 'MPI_COMPLEX16')
      c_8 = cmplx(v, -v, 8)
      call MPI_Allreduce(c_8, d_8, n, MPI_DOUBLE_COMPLEX, op, MPI_COMM_WORLD)
      call check(all(d_8 == cmplx(wr, wi, 8)), 'MPI_DOUBLE_COMPLEX')
#if defined(__GFORTRAN__)
      c_16 = cmplx(v, -v, 16)
      call MPI_Allreduce(c_16, d_16, n, MPI_COMPLEX32, op, MPI_COMM_WORLD)
      call check(all(d_16 == cmplx(wr, wi, 16)), 'MPI_COMPLEX32')
#endif
    end do
  end subroutine complexes

  ! A value and its place; of equal ones the least place.
  subroutine pairs()
    real :: r(2, 2), s(2, 2)
    double precision :: x(2, 2), y(2, 2)
    integer :: j(2, 2), k(2, 2)
    r = reshape(real([7, rank, -rank, rank]), [2, 2])
    x = r
    j = int(r)
    call MPI_Allreduce(r, s, 2, MPI_2REAL, MPI_MINLOC, MPI_COMM_WORLD)
    call check(all(int(s) == reshape([7, 0, 1 - size, size - 1], [2, 2])), 'minloc of reals')
    call MPI_Allreduce(x, y, 2, MPI_2DOUBLE_PRECISION, MPI_MINLOC, MPI_COMM_WORLD)
    call check(all(int(y) == reshape([7, 0, 1 - size, size - 1], [2, 2])), 'minloc of doubles')
    call MPI_Allreduce(j, k, 2, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD)
    call check(all(k == reshape([7, 0, 1 - size, size - 1], [2, 2])), 'minloc of integers')
    call MPI_Allreduce(r, s, 2, MPI_2REAL, MPI_MAXLOC, MPI_COMM_WORLD)
    call check(all(int(s) == reshape([7, 0, 0, 0], [2, 2])), 'maxloc of reals')
    call MPI_Allreduce(x, y, 2, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, MPI_COMM_WORLD)
    call check(all(int(y) == reshape([7, 0, 0, 0], [2, 2])), 'maxloc of doubles')
    call MPI_Allreduce(j, k, 2, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD)
    call check(all(k == reshape([7, 0, 0, 0], [2, 2])), 'maxloc of integers')
  end subroutine pairs

  subroutine gaps()
    type(MPI_Datatype) :: two, t
    type(MPI_Op) :: op
    integer :: a(4, 3), b(4, 3)
    logical :: commutes
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, two)
    call MPI_Type_create_resized(two, 0_MPI_ADDRESS_KIND, int(4 * kind(0), MPI_ADDRESS_KIND), t)
    call MPI_Type_commit(t)
    call MPI_Op_create(largest, .true., op)
    call MPI_Op_commutative(op, commutes)
    call check(commutes, 'commutes')
    a = rank
    a(3, :) = -rank
    b = -99
    call MPI_Allreduce(a, b, 3, t, op, MPI_COMM_WORLD)
    call check(all(b(1, :) == size - 1) .and. all(b(3, :) == 0), 'gaps')
    call check(all(b(2, :) == -99) .and. all(b(4, :) == -99), 'in the gaps')
    call MPI_Op_free(op)
    call MPI_Type_free(t)
    call MPI_Type_free(two)
    call MPI_Allreduce(MPI_IN_PLACE, calls, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(size == 1 .or. calls > 0, 'called')
  end subroutine gaps

  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (.not. ok) then
      print *, 'wrong: ', what, ' on rank', rank
      error stop 1
    end if
  end subroutine check
end program reductions
