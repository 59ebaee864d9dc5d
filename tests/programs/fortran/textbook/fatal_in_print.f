! ranks: 1 2
! timeout: 10
! expect-exit: nonzero
! expect-stderr: MPI_Send on MPI_COMM_WORLD failed: MPI_ERR_RANK
! An error in the midst of a PRINT, where the runtime holds its locks, ends the job all the same.
      program fatal
      include 'mpif.h'
      external iwrong
      integer iwrong
      call MPI_INIT(ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, n, ierr)
      print *, 'never seen', iwrong(n)
      call MPI_FINALIZE(ierr)
      end

      integer function iwrong(n)
      include 'mpif.h'
      call MPI_SEND(n, 1, MPI_INTEGER, n, 0, MPI_COMM_WORLD, ierr)
      iwrong = ierr
      end
