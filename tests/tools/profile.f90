! The pattern of profile.c in Fortran, without what check-profile.py does not look for there.
program pattern
   use mpi_f08
   implicit none
   integer :: rank, size, turn, one, all
   one = 1
   call MPI_Init()
   call MPI_Comm_rank(MPI_COMM_WORLD, rank)
   call MPI_Comm_size(MPI_COMM_WORLD, size)
   do turn = 1, 10
      call ring(100)
   end do
   call ring(100000)
   do turn = 1, 7
      call MPI_Allreduce(one, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD) ! allreduce
   end do
   call old_ways()
   call MPI_Finalize()
   if (all /= size) stop 1
contains
   subroutine ring(bytes)
      integer, intent(in) :: bytes
      character, allocatable, asynchronous :: out(:), in(:)
      type(MPI_Request) :: request
      allocate (out(bytes), in(bytes))
      out = 'x'
      call MPI_Irecv(in, bytes, MPI_CHARACTER, mod(rank + size - 1, size), 3, MPI_COMM_WORLD, request) ! irecv
      call MPI_Send(out, bytes, MPI_CHARACTER, mod(rank + 1, size), 3, MPI_COMM_WORLD) ! send
      call MPI_Wait(request, MPI_STATUS_IGNORE) ! wait
   end subroutine
end program

subroutine old_ways
   implicit none
   include 'mpif.h'
   integer :: blocks(4), error
   blocks = 0
   call MPI_BCAST(blocks, 4, MPI_INTEGER, 0, MPI_COMM_WORLD, error) ! bcast
   call MPI_BARRIER(MPI_COMM_WORLD, error) ! barrier
end subroutine
