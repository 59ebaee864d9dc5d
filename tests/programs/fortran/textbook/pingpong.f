! ranks: 2
! expect-stdout: ping-pong
! Times of messages of several sizes, as a book on MPI begins with; buffered and ready and synchronous sends too.
      program ping
      integer most
      parameter (most = 10000)
      include 'mpif.h'
      integer ierr, rank, n, i, other, size
      integer status(MPI_STATUS_SIZE)
      double precision t, buffer(most)
      byte attached(4 + MPI_BSEND_OVERHEAD)
      character*(MPI_MAX_PROCESSOR_NAME) name
      character*11 text
      integer length
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      other = 1 - rank
      call MPI_GET_PROCESSOR_NAME(name, length, ierr)
      if (length .lt. 1 .or. length .gt. MPI_MAX_PROCESSOR_NAME) stop 1
      if (name(length+1:) .ne. ' ') stop 2
      do i = 1, most
         buffer(i) = i
      end do
      n = 1
      do while (n .le. most)
         call MPI_BARRIER(MPI_COMM_WORLD, ierr)
         t = MPI_WTIME()
         do i = 1, 20
            if (rank .eq. 0) then
               call MPI_SEND(buffer, n, MPI_DOUBLE_PRECISION, 1, i,
     &              MPI_COMM_WORLD, ierr)
               call MPI_RECV(buffer, n, MPI_DOUBLE_PRECISION, 1, i,
     &              MPI_COMM_WORLD, status, ierr)
            else
               call MPI_RECV(buffer, n, MPI_DOUBLE_PRECISION, 0, i,
     &              MPI_COMM_WORLD, status, ierr)
               call MPI_SEND(buffer, n, MPI_DOUBLE_PRECISION, 0, i,
     &              MPI_COMM_WORLD, ierr)
            end if
         end do
         t = (MPI_WTIME() - t) / 40
         if (t .le. 0) stop 3
         n = n * 10
      end do
      do i = 1, most
         if (buffer(i) .ne. i) stop 4
      end do
! One integer in an attached buffer of exactly its size and the overhead, at any address.
      call MPI_BUFFER_ATTACH(attached, 4 + MPI_BSEND_OVERHEAD, ierr)
      i = rank + 100
      call MPI_BSEND(i, 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, ierr)
      call MPI_RECV(n, 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, status,
     &     ierr)
      if (n .ne. other + 100) stop 5
      call MPI_BUFFER_DETACH(attached, size, ierr)
      if (size .ne. 4 + MPI_BSEND_OVERHEAD) stop 6
! Characters, one rank ready before the other sends.
      if (rank .eq. 0) then
         call MPI_IRECV(text, 11, MPI_CHARACTER, 1, 2, MPI_COMM_WORLD,
     &        i, ierr)
         call MPI_SEND(0, 0, MPI_INTEGER, 1, 3, MPI_COMM_WORLD, ierr)
         call MPI_WAIT(i, status, ierr)
         if (text .ne. 'hello world') stop 7
         call MPI_SSEND(.true., 1, MPI_LOGICAL, 1, 4, MPI_COMM_WORLD,
     &        ierr)
      else
         call MPI_RECV(n, 0, MPI_INTEGER, 0, 3, MPI_COMM_WORLD, status,
     &        ierr)
         call MPI_RSEND('hello world', 11, MPI_CHARACTER, 0, 2,
     &        MPI_COMM_WORLD, ierr)
         call receive_logical
      end if
      if (rank .eq. 0) print *, 'ping-pong of ', most
      call MPI_FINALIZE(ierr)
      end

      subroutine receive_logical
      include 'mpif.h'
      logical flag
      integer ierr
      flag = .false.
      call MPI_RECV(flag, 1, MPI_LOGICAL, 0, 4, MPI_COMM_WORLD,
     &     MPI_STATUS_IGNORE, ierr)
      if (.not. flag) stop 8
      end
