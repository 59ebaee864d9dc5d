! ranks: 1 2
! expect-exit: nonzero
! expect-stdout: before the error
! expect-stderr: MPI_Send on MPI_COMM_WORLD failed: MPI_ERR_RANK
! An error ends the job: the message names the call, and earlier output is not lost.
      program fatal
      include 'mpif.h'
      call MPI_INIT(ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, n, ierr)
      print *, 'before the error'
      call MPI_BARRIER(MPI_COMM_WORLD, ierr)
      call MPI_SEND(n, 1, MPI_INTEGER, n, 0, MPI_COMM_WORLD, ierr)
      call MPI_FINALIZE(ierr)
      end
