! ranks: 3 5
! launch: --with-ft ulfm
! expect-stderr: was killed by signal 9
! no-valgrind: a rank is killed
! An error handler revokes the communicator and shrinks it; the survivors start a process in the place of the dead one, and all
! of them work together.
module repairing
  use mpi_f08
  implicit none
  type(MPI_Comm) :: left = MPI_COMM_NULL
  integer :: seen = MPI_SUCCESS
contains
  subroutine repair(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    seen = code
    call MPIX_Comm_revoke(comm)
    call MPIX_Comm_shrink(comm, left)
  end subroutine repair
end module repairing

program replace
  use, intrinsic :: iso_c_binding, only: c_int
  use mpi_f08
  use repairing
  implicit none
  interface
    function raise(signal) bind(C, name='raise') result(code)
      import :: c_int
      integer(c_int), value :: signal
      integer(c_int) :: code
    end function raise
  end interface
  integer, parameter :: SIGKILL = 9
  integer :: rank, size, code, total
  type(MPI_Comm) :: parent, comm, children, all
  type(MPI_Errhandler) :: handler
  character(len=1000) :: program_name

  call MPI_Init()
  call MPI_Comm_get_parent(parent)
  if (parent /= MPI_COMM_NULL) then
    call MPI_Intercomm_merge(parent, .true., all)
    call work_together()
    call MPI_Comm_disconnect(parent)
    call MPI_Finalize()
    stop
  end if
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call MPI_Comm_create_errhandler(repair, handler)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_set_errhandler(comm, handler)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Barrier(comm)
  if (rank == 1) code = raise(int(SIGKILL, c_int))
  ! The error comes once for each: from the failure, or because another one has revoked.
  do while (left == MPI_COMM_NULL)
    call MPI_Allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, comm, code)
  end do
  call check(seen == MPIX_ERR_PROC_FAILED .or. seen == MPIX_ERR_REVOKED, 'the class')
  call MPI_Comm_size(left, total)
  call check(total == size - 1, 'the survivors')
  call get_command_argument(0, program_name)
  call MPI_Comm_spawn(trim(program_name), MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, left, children, MPI_ERRCODES_IGNORE, code)
  call check(code == MPI_SUCCESS, 'MPI_COMM_SPAWN')
  call MPI_Intercomm_merge(children, .false., all)
  call MPI_Comm_size(all, total)
  call check(total == size, 'all are there again')
  call work_together()
  call MPI_Comm_disconnect(children)
  call MPI_Comm_free(left)
  call MPI_Comm_free(comm)
  call MPI_Errhandler_free(handler)
  call MPI_Finalize()

contains

  subroutine work_together()
    integer :: everybody, sum
    call MPI_Comm_size(all, everybody)
    call MPI_Allreduce(1, sum, 1, MPI_INTEGER, MPI_SUM, all)
    call check(sum == everybody, 'MPI_ALLREDUCE')
    call MPI_Comm_free(all)
  end subroutine work_together
end program replace
#include "../bodies/check.inc"
