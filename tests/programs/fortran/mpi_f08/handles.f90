! ranks: 1 2
! Handles of mpi_f08: their integers, comparison, handles of the module mpi in the same program; statuses; no ierror at all.
module older
  implicit none
contains
  ! Makes a communicator, with the module mpi.
  integer function duplicate(comm)
    use mpi
    integer, intent(in) :: comm
    integer :: code
    call MPI_Comm_dup(comm, duplicate, code)
  end function duplicate
end module older

program handles
  use mpi_f08
  use older
  implicit none
  type(MPI_Comm) :: a, b, list(3)
  type(MPI_Datatype) :: t
  type(MPI_Request) :: r
  type(MPI_Status) :: s
  type(MPI_Group) :: g
  type(MPI_Win) :: w
  type(MPI_Info) :: i
  integer :: rank, size, n, old(MPI_STATUS_SIZE), same
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  a%MPI_VAL = MPI_COMM_WORLD%MPI_VAL
  call check(a == MPI_COMM_WORLD .and. a /= MPI_COMM_SELF .and. .not. (a == MPI_COMM_NULL), 'comparison')
  b = MPI_Comm(duplicate(a%MPI_VAL))
  call check(a /= b, 'made by the module mpi')
  call MPI_Comm_compare(a, b, same)
  call check(same == MPI_CONGRUENT, 'congruent')
  list = [a, b, MPI_COMM_SELF]
  call check(count(list == MPI_COMM_SELF) == 1 .and. all(list /= MPI_COMM_NULL), 'element by element')
  call MPI_Comm_free(b)
  call check(b == MPI_COMM_NULL, 'freed')
  ! Each of the types has its own.
  t = MPI_INTEGER
  r = MPI_REQUEST_NULL
  g = MPI_GROUP_EMPTY
  w = MPI_WIN_NULL
  i = MPI_INFO_NULL
  call check(t == MPI_INTEGER .and. t /= MPI_REAL .and. r == MPI_REQUEST_NULL .and. g /= MPI_GROUP_NULL, 'types')
  call check(w == MPI_WIN_NULL .and. i == MPI_INFO_NULL .and. MPI_OP_NULL /= MPI_SUM, 'more types')
  call check(MPI_ERRHANDLER_NULL /= MPI_ERRORS_RETURN .and. MPI_MESSAGE_NULL /= MPI_MESSAGE_NO_PROC, 'and more')
  call check(MPI_FILE_NULL == MPI_FILE_NULL .and. MPI_SESSION_NULL == MPI_SESSION_NULL, 'the last types')
  ! The fields of a status, and both kinds of it.
  n = rank
  call MPI_Sendrecv_replace(n, 1, MPI_INTEGER, mod(rank + 1, size), 9, mod(rank + size - 1, size), 9, MPI_COMM_WORLD, s)
  call check(s%MPI_SOURCE == n .and. s%MPI_TAG == 9, 'fields')
  s%MPI_ERROR = 5
  call MPI_Status_f082f(s, old)
  s%MPI_TAG = 0
  call MPI_Status_f2f08(old, s)
  call check(s%MPI_TAG == 9 .and. s%MPI_ERROR == 5 .and. old(3) == 5, 'converted')
  call MPI_Get_count(s, MPI_INTEGER, n)
  call check(n == 1, 'count')
  call attributes()
  if (size > 1000) call never()
  call MPI_Finalize()

contains

  ! The attributes of MPI-1 have no interface in the module: both kinds of handle will do.
  subroutine attributes()
    integer :: key, value, code
    logical :: flag
    call MPI_KEYVAL_CREATE(MPI_DUP_FN, MPI_NULL_DELETE_FN, key, 0, code)
    call MPI_ATTR_PUT(MPI_COMM_SELF, key, 41, code)
    call MPI_ATTR_GET(MPI_COMM_SELF%MPI_VAL, key, value, flag, code)
    call check(flag .and. value == 41, 'MPI_ATTR_GET')
    call MPI_ATTR_DELETE(MPI_COMM_SELF, key, code)
    call MPI_ATTR_GET(MPI_COMM_SELF, key, value, flag, code)
    call check(.not. flag .and. code == MPI_SUCCESS, 'MPI_ATTR_DELETE')
    call MPI_KEYVAL_FREE(key, code)
    call check(key == MPI_KEYVAL_INVALID, 'MPI_KEYVAL_FREE')
  end subroutine attributes

  ! Only to compile: what stands for absent arguments.
  subroutine never()
    type(MPI_Comm) :: c
    integer :: codes(2)
    character(len=8) :: commands(2), words(2), rows(2, 2)
    call MPI_Comm_spawn('x', MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, c, MPI_ERRCODES_IGNORE)
    call MPI_Comm_spawn('x', words, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, c, codes)
    call MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, [1, 1], [i, i], 0, MPI_COMM_SELF, c, MPI_ERRCODES_IGNORE)
    call MPI_Comm_spawn_multiple(2, commands, rows, [1, 1], [i, i], 0, MPI_COMM_SELF, c, codes)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [0], MPI_UNWEIGHTED, 0, [0], MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, &
      .false., c)
  end subroutine never

  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (.not. ok) then
      print *, 'wrong: ', what
      error stop 1
    end if
  end subroutine check
end program handles
