! ranks: 1 2 3 4 5 6 7 8
! no-check: objects are left at the end
! A master hands out work and gathers answers with MPI_WAITSOME; columns are exchanged with MPI_WAITANY; a barrier is made of
! persistent requests that are never freed.
      program workers
      implicit none
      include 'mpif.h'
      integer ierr, rank, size
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
      if (rank .eq. 0) then
         call master(size)
      else
         call worker(rank)
      end if
      call transpose(rank, size)
      call persistent(rank, size)
      call MPI_FINALIZE(ierr)
      end

      subroutine master(size)
      implicit none
      include 'mpif.h'
      integer size, most
      parameter (most = 64)
      integer request(most), index(most), answer(most), count
      integer statuses(MPI_STATUS_SIZE, most), ierr, i, k, open, next
      integer total
      next = 0
      total = 0
      open = size - 1
      do i = 1, size - 1
         call MPI_IRECV(answer(i), 1, MPI_INTEGER, i, 1, MPI_COMM_WORLD,
     &        request(i), ierr)
         next = next + 1
         call MPI_SEND(next, 1, MPI_INTEGER, i, 0, MPI_COMM_WORLD, ierr)
      end do
 10   if (open .gt. 0) then
         call MPI_WAITSOME(size - 1, request, count, index, statuses,
     &        ierr)
         do k = 1, count
            i = index(k)
            if (i .lt. 1 .or. i .gt. size - 1) stop 1
            if (statuses(MPI_SOURCE, k) .ne. i) stop 2
            total = total + answer(i)
            if (next .lt. 100) then
               next = next + 1
               call MPI_IRECV(answer(i), 1, MPI_INTEGER, i, 1,
     &              MPI_COMM_WORLD, request(i), ierr)
               call MPI_SEND(next, 1, MPI_INTEGER, i, 0,
     &              MPI_COMM_WORLD, ierr)
            else
               call MPI_SEND(-1, 1, MPI_INTEGER, i, 0, MPI_COMM_WORLD,
     &              ierr)
               open = open - 1
            end if
         end do
         goto 10
      end if
      if (size .gt. 1 .and. total .ne. 338350) stop 3
      end

      subroutine worker(rank)
      implicit none
      include 'mpif.h'
      integer rank, work, ierr, status(MPI_STATUS_SIZE)
 20   call MPI_RECV(work, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, status,
     &     ierr)
      if (work .ge. 0) then
         call MPI_SEND(work * work, 1, MPI_INTEGER, 0, 1,
     &        MPI_COMM_WORLD, ierr)
         goto 20
      end if
      end

! Each rank sends block j to rank j; blocks are stored in the order of arrival.
      subroutine transpose(rank, size)
      implicit none
      include 'mpif.h'
      integer rank, size, i, k, which, ierr
      integer request(0:31), status(MPI_STATUS_SIZE)
      double precision mine(4, 0:31), theirs(4, 0:31)
      do i = 0, size - 1
         do k = 1, 4
            mine(k, i) = 1000 * rank + 10 * i + k
         end do
         call MPI_IRECV(theirs(1, i), 4, MPI_DOUBLE_PRECISION, i, 5,
     &        MPI_COMM_WORLD, request(i), ierr)
      end do
      do i = 0, size - 1
         call MPI_SEND(mine(1, i), 4, MPI_DOUBLE_PRECISION, i, 5,
     &        MPI_COMM_WORLD, ierr)
      end do
      do k = 1, size
         call MPI_WAITANY(size, request, which, status, ierr)
         if (which .lt. 1 .or. which .gt. size) stop 4
         i = which - 1
         if (status(MPI_SOURCE) .ne. i) stop 5
         if (theirs(1, i) .ne. 1000 * i + 10 * rank + 1) stop 6
         if (theirs(4, i) .ne. 1000 * i + 10 * rank + 4) stop 7
      end do
      end

      subroutine persistent(rank, size)
      implicit none
      include 'mpif.h'
      integer rank, size, i, n, round, ierr
      integer request(64), statuses(MPI_STATUS_SIZE, 64), dummy
      if (rank .eq. 0) then
         n = 0
         do i = 1, size - 1
            n = n + 1
            call MPI_RECV_INIT(dummy, 0, MPI_INTEGER, i, 6,
     &           MPI_COMM_WORLD, request(n), ierr)
            call MPI_SEND_INIT(dummy, 0, MPI_INTEGER, i, 7,
     &           MPI_COMM_WORLD, request(size - 1 + n), ierr)
         end do
      else
         n = 1
         call MPI_SEND_INIT(dummy, 0, MPI_INTEGER, 0, 6, MPI_COMM_WORLD,
     &        request(1), ierr)
         call MPI_RECV_INIT(dummy, 0, MPI_INTEGER, 0, 7, MPI_COMM_WORLD,
     &        request(2), ierr)
      end if
      do round = 1, 5
         call MPI_STARTALL(n, request, ierr)
         call MPI_WAITALL(n, request, statuses, ierr)
         if (n .gt. 0) then
            if (request(1) .eq. MPI_REQUEST_NULL) stop 8
            call MPI_STARTALL(n, request(n + 1), ierr)
            call MPI_WAITALL(n, request(n + 1), statuses, ierr)
         end if
      end do
      end
