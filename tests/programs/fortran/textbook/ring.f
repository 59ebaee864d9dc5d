! ranks: 1 2 3 4 5 6 7 8
! expect-stdout: ring of
! no-check: a request is left at the end
! A token goes round a ring, blocking and nonblocking; the last word comes after MPI_FINALIZE.
      program ring
      implicit none
      include 'mpif.h'
      integer rank, size, left, right, ierr, got, sum, i
      integer request(2), status(MPI_STATUS_SIZE, 2)
      integer token, count, ignored
      double precision begin, tick
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
      begin = MPI_WTIME()
      tick = MPI_WTICK(ierr)
      left = mod(rank + size - 1, size)
      right = mod(rank + 1, size)
! Every rank's number visits all ranks.
      token = rank
      sum = 0
      do i = 1, size
         sum = sum + token
         call MPI_SENDRECV(token, 1, MPI_INTEGER, right, 7, got, 1,
     &        MPI_INTEGER, left, 7, MPI_COMM_WORLD, status, ierr)
         if (status(MPI_SOURCE, 1) .ne. left) call fail('source')
         if (status(MPI_TAG, 1) .ne. 7) call fail('tag')
         token = got
      end do
      if (sum .ne. size * (size - 1) / 2) call fail('sum')
      if (token .ne. rank) call fail('token')
! The same with requests; the second status belongs to the receive.
      call mpi_isend(rank, 1, mpi_integer, right, 8, mpi_comm_world,
     &     request(1), ierr)
      call mpi_irecv(got, 1, mpi_integer, left, MPI_ANY_TAG,
     &     mpi_comm_world, request(2), ierr)
      call MPI_WAITALL(2, request, status, ierr)
      if (got .ne. left) call fail('nonblocking')
      if (status(MPI_TAG, 2) .ne. 8) call fail('tag of waitall')
      call MPI_GET_COUNT(status(1, 2), MPI_INTEGER, count, ierr)
      if (count .ne. 1) call fail('count')
      if (request(1) .ne. MPI_REQUEST_NULL) call fail('request')
! A 2-D array of statuses where one status is expected, and requests that are over.
      call MPI_WAIT(request(1), status, ierr)
      call MPI_WAITANY(2, request, ignored, status, ierr)
      if (ignored .ne. MPI_UNDEFINED) call fail('waitany')
      call MPI_WAITSOME(2, request, ignored, count, MPI_STATUSES_IGNORE,
     &     ierr)
      if (ignored .ne. MPI_UNDEFINED) call fail('waitsome')
      call MPI_WAITALL(0, request, MPI_STATUSES_IGNORE, ierr)
      if (MPI_WTIME(ierr) .lt. begin .or. tick .le. 0) call fail('time')
! Never completed: legal, if not polite.
      call MPI_ISEND(rank, 1, MPI_INTEGER, right, 9, MPI_COMM_WORLD,
     &     request(1), ierr)
      call MPI_RECV(got, 1, MPI_INTEGER, left, 9, MPI_COMM_WORLD,
     &     MPI_STATUS_IGNORE, ierr)
      call MPI_FINALIZE(ierr)
      if (rank .eq. 0) print *, 'ring of', size
      end

      subroutine fail(what)
      character*(*) what
      include 'mpif.h'
      integer ierr
      print *, 'wrong: ', what
      call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
      end
