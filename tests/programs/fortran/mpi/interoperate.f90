! ranks: 1 2
! C and Fortran in one program: handles, attributes and statuses of one language in the other. The C functions are called
! through interfaces of this program's own.
module variables
  use, intrinsic :: iso_c_binding
  implicit none
  type(c_ptr), bind(C, name="MPI_F_STATUS_IGNORE") :: f_status_ignore
  type(c_ptr), bind(C, name="MPI_F_STATUSES_IGNORE") :: f_statuses_ignore
end module variables

program interoperate
  use, intrinsic :: iso_c_binding
  use variables
  use mpi
  implicit none
  interface
    function comm_fromint(n) bind(C, name="MPI_Comm_fromint") result(c)
      import
      integer(c_int), value :: n
      integer(c_intptr_t) :: c
    end function comm_fromint
    function comm_toint(c) bind(C, name="MPI_Comm_toint") result(n)
      import
      integer(c_intptr_t), value :: c
      integer(c_int) :: n
    end function comm_toint
    function type_fromint(n) bind(C, name="MPI_Type_fromint") result(t)
      import
      integer(c_int), value :: n
      integer(c_intptr_t) :: t
    end function type_fromint
    function c_type_size(t, n) bind(C, name="MPI_Type_size") result(code)
      import
      integer(c_intptr_t), value :: t
      integer(c_int) :: n, code
    end function c_type_size
    function c_comm_size(c, n) bind(C, name="MPI_Comm_size") result(code)
      import
      integer(c_intptr_t), value :: c
      integer(c_int) :: n, code
    end function c_comm_size
    function c_comm_dup(c, d) bind(C, name="MPI_Comm_dup") result(code)
      import
      integer(c_intptr_t), value :: c
      integer(c_intptr_t) :: d
      integer(c_int) :: code
    end function c_comm_dup
    function c_set_attr(c, key, value) bind(C, name="MPI_Comm_set_attr") result(code)
      import
      integer(c_intptr_t), value :: c
      integer(c_int), value :: key
      integer(c_intptr_t), value :: value
      integer(c_int) :: code
    end function c_set_attr
    function c_get_attr(c, key, value, flag) bind(C, name="MPI_Comm_get_attr") result(code)
      import
      integer(c_intptr_t), value :: c
      integer(c_int), value :: key
      type(c_ptr) :: value
      integer(c_int) :: flag, code
    end function c_get_attr
  end interface
  integer(c_intptr_t) :: comm, copy
  integer(kind=MPI_ADDRESS_KIND) :: value, address
  integer(c_int), pointer :: narrow
  integer(c_intptr_t), pointer :: wide
  type(c_ptr) :: place
  type(MPI_Status) :: new
  integer :: old(MPI_STATUS_SIZE), size, n, key, dup, code
  integer(c_int) :: m, c_code
  logical :: flag
  call MPI_Init(code)
  call MPI_Comm_size(MPI_COMM_WORLD, size, code)

  ! Handles, there and back; one that C made.
  comm = comm_fromint(int(MPI_COMM_WORLD, c_int))
  c_code = c_comm_size(comm, m)
  call check(m == size, 'size in C')
  c_code = c_comm_dup(comm, copy)
  dup = comm_toint(copy)
  call MPI_Comm_size(dup, n, code)
  call check(n == size .and. comm_fromint(int(dup, c_int)) == copy, 'a communicator of C')
  c_code = c_type_size(type_fromint(int(MPI_INTEGER, c_int)), m)
  call check(m == kind(0), 'an INTEGER in C')

  ! What Fortran stores, C sees the address of.
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, code)
  call MPI_Comm_set_attr(dup, key, 2_MPI_ADDRESS_KIND**40 + 5, code)
  c_code = c_get_attr(copy, int(key, c_int), place, m)
  call c_f_pointer(place, wide)
  call check(m == 1 .and. wide == 2_c_intptr_t**40 + 5, 'wide attribute in C')
  call MPI_Attr_put(dup, key, -7, code)
  c_code = c_get_attr(copy, int(key, c_int), place, m)
  call c_f_pointer(place, narrow)
  call check(m == 1 .and. narrow == -7, 'narrow attribute in C')
  call MPI_Comm_get_attr(dup, key, value, flag, code)
  call check(flag .and. value == -7, 'sign')

  ! What C stores is a number in Fortran.
  c_code = c_set_attr(copy, int(key, c_int), 123456789012_c_intptr_t)
  call MPI_Comm_get_attr(dup, key, value, flag, code)
  call check(flag .and. value == 123456789012_MPI_ADDRESS_KIND, 'attribute of C')
  call MPI_Comm_free(dup, code)

  ! Statuses.
  old = [(n, n = 1, MPI_STATUS_SIZE)]
  call MPI_Status_f2f08(old, new, code)
  call check(new%MPI_SOURCE == 1 .and. new%MPI_TAG == 2 .and. new%MPI_ERROR == 3, 'f2f08')
  old = 0
  call MPI_Status_f082f(new, old, code)
  call check(all(old == [(n, n = 1, MPI_STATUS_SIZE)]), 'f082f')
  call MPI_Get_address(MPI_STATUS_IGNORE, address, code)
  call check(transfer(f_status_ignore, address) == address, 'MPI_F_STATUS_IGNORE')
  call MPI_Get_address(MPI_STATUSES_IGNORE, address, code)
  call check(transfer(f_statuses_ignore, address) == address, 'MPI_F_STATUSES_IGNORE')
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
end program interoperate
