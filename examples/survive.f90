! Goes on when a rank dies. Each rank computes some numbers and keeps a copy of those of its left neighbour from the last
! checkpoint. When a rank dies (here rank 1 kills itself), the others make a communicator without it, its right neighbour
! takes over its numbers, and all begin again at the checkpoint.
!
!   mpifort survive.f90 -o survive
!   mpirun --with-ft ulfm -n 3 ./survive
program survive
  use, intrinsic :: iso_c_binding, only: c_int
  use mpi_f08
  implicit none
  interface
    function raise(signal) bind(C, name='raise') result(code)
      import :: c_int
      integer(c_int), value :: signal
      integer(c_int) :: code
    end function raise
  end interface
  integer, parameter :: total = 24, steps = 40, every = 10, data_tag = 1
  integer, parameter :: SIGKILL = 9
  ! Numbers that other ranks compute are 0, so that the sum over all ranks has each once.
  real(8) :: now(total), saved(total), neighbours(total), received(total), result
  integer :: rank, size, first, code, step, saved_step
  type(MPI_Comm) :: comm

  call MPI_Init()
  comm = MPI_COMM_WORLD
  ! Without it the first error would end the job.
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
  call MPI_Comm_rank(comm, rank)
  call MPI_Comm_size(comm, size)
  first = rank
  now = 0
  now(rank + 1::size) = 1
  step = 0
  if (.not. checkpoint()) call MPI_Abort(MPI_COMM_WORLD, 1)
  do while (step < steps)
    if (step == 17 .and. first == 1) code = raise(int(SIGKILL, c_int))
    now = now * 1.5d0 / (1 + now * 0.01d0)
    step = step + 1
    if (mod(step, every) /= 0) cycle
    if (checkpoint()) cycle
    call repair()
    if (.not. checkpoint()) call MPI_Abort(MPI_COMM_WORLD, 1)
  end do
  call MPI_Allreduce(sum(now), result, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm)
  now = 1
  do step = 1, steps
    now = now * 1.5d0 / (1 + now * 0.01d0)
  end do
  if (rank == 0) print '(a, f0.6, a, a)', 'the sum is ', result, ', which is ', &
    merge('right', 'wrong', abs(result - sum(now)) < 1d-9)
  call MPI_Finalize()

contains

  ! The old checkpoint counts until all have the new one.
  logical function checkpoint()
    integer :: flag
    call MPI_Sendrecv(now, total, MPI_DOUBLE_PRECISION, mod(rank + 1, size), data_tag, received, total, &
                      MPI_DOUBLE_PRECISION, mod(rank + size - 1, size), data_tag, comm, MPI_STATUS_IGNORE, code)
    flag = merge(1, 0, code == MPI_SUCCESS)
    if (flag == 0) call MPIX_Comm_revoke(comm)
    call MPIX_Comm_agree(comm, flag, code)
    checkpoint = code == MPI_SUCCESS .and. flag == 1
    if (.not. checkpoint) return
    saved = now
    neighbours = received
    saved_step = step
  end function checkpoint

  subroutine repair()
    type(MPI_Comm) :: left
    type(MPI_Group) :: before, after
    integer :: place(1)
    call MPIX_Comm_shrink(comm, left)
    call MPI_Comm_group(comm, before)
    call MPI_Comm_group(left, after)
    call MPI_Group_translate_ranks(before, 1, [mod(rank + size - 1, size)], after, place)
    if (place(1) == MPI_UNDEFINED) saved = saved + neighbours
    call MPI_Group_free(before)
    call MPI_Group_free(after)
    comm = left
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, size)
    now = saved
    step = saved_step
    if (rank == 0) print '(i0, a, i0)', size, ' ranks go on from step ', step
  end subroutine repair
end program survive
