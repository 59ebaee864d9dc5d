! ranks: 1 3
! no-check: objects are left at the end
! LOGICALs of a compiler whose .TRUE. is -1 and whose .FALSE. is 5, which integers stand for here: they are understood, answered
! with, handed to callbacks and reduced.
program booleans
  implicit none
  include 'mpif.h'
  integer, parameter :: yes = -1, no = 5
  integer :: code, rank, size, flag, other, known, grid, line, op, dims(2), periods(2), got(2), coords(2), all_of(2)
  integer :: key, copied, request, status(MPI_STATUS_SIZE)
  integer(kind=MPI_ADDRESS_KIND) :: value
  external :: keep_first, copy
  call MPI_Abi_set_fortran_booleans(kind(0), yes, no, code)
  call check(code == MPI_SUCCESS, 'set')
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, size, code)
  call MPI_Abi_get_fortran_booleans(kind(0), flag, other, known, code)
  call check(flag == yes .and. other == no .and. known == yes, 'get')
  call MPI_Initialized(flag, code)
  call check(flag == yes, 'initialized')
  call MPI_Finalized(flag, code)
  call check(flag == no, 'finalized')
  dims = [size, 1]
  periods = [yes, no]
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, no, grid, code)
  got = 0
  call MPI_Cart_get(grid, 2, dims, got, coords, code)
  call check(all(got == periods), 'cart_get')
  call MPI_Cart_sub(grid, [no, yes], line, code)
  call MPI_Comm_size(line, flag, code)
  call check(flag == 1, 'cart_sub')
  call MPI_Op_create(keep_first, no, op, code)
  call MPI_Op_commutative(op, flag, code)
  call check(flag == no, 'op_commutative')
  call MPI_Iprobe(rank, 3, MPI_COMM_WORLD, flag, status, code)
  call check(flag == no, 'iprobe')
  request = MPI_REQUEST_NULL
  call MPI_Test(request, flag, status, code)
  call check(flag == yes, 'test')
  got = [merge(yes, no, rank == 0), yes]
  call MPI_Allreduce(got, all_of, 2, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, code)
  call check(all_of(1) == merge(yes, no, size == 1) .and. all_of(2) == yes, 'land')
  call MPI_Allreduce([got(1), no], all_of, 2, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, code)
  call check(all_of(1) == yes .and. all_of(2) == no, 'lor')
  ! The callback answers with one.
  call MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, code)
  call MPI_Comm_set_attr(grid, key, 1_MPI_ADDRESS_KIND, code)
  call MPI_Comm_dup(grid, copied, code)
  call MPI_Comm_get_attr(copied, key, value, flag, code)
  call check(flag == yes .and. value == 1, 'copied')
  call MPI_Comm_free(copied, code)
  call MPI_Comm_set_attr(grid, key, 2_MPI_ADDRESS_KIND, code)
  call MPI_Comm_dup(grid, copied, code)
  call MPI_Comm_get_attr(copied, key, value, flag, code)
  call check(flag == no, 'not copied')
  call MPI_Comm_free(copied, code)
  call MPI_Comm_free(line, code)
  call MPI_Comm_free(grid, code)
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
end program booleans

subroutine keep_first(in, inout, len, t)
  integer :: len, t, in(len), inout(len)
  inout = in
end subroutine keep_first

! Copies odd values only.
subroutine copy(comm, key, extra, in, out, flag, code)
  integer :: comm, key, flag, code
  integer(kind=8) :: extra, in, out
  out = in
  flag = merge(-1, 5, mod(in, 2_8) == 1)
  code = 0
end subroutine copy
