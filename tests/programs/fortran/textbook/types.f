! ranks: 1 2 3 4 5 6 7 8
! no-check: objects are left at the end
! Datatypes in the older manner: addresses in INTEGERs, structures of static data with MPI_BOTTOM, a vector that reverses
! the columns of a matrix, packing, types without blocks.
      program types
      implicit none
      include 'mpif.h'
      integer ierr, rank, size
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
      call structure(rank, size)
      call reverse
      call packing(rank, size)
      call empty
      call MPI_FINALIZE(ierr)
      end

      subroutine structure(rank, size)
      implicit none
      include 'mpif.h'
      integer rank, size, ierr, i, n, type, relative, extent, lb, ub
      integer lengths(4), places(4), types(4), first
      real*8 x(5)
      integer k(3)
      character*7 name
      common /shared/ x, k, name
      do i = 1, 5
         x(i) = i + 10 * rank
      end do
      do i = 1, 3
         k(i) = -i - 10 * rank
      end do
      name = 'rank ' // char(ichar('0') + rank)
      call MPI_ADDRESS(x, places(1), ierr)
      if (ierr .ne. MPI_SUCCESS) stop 1
      call MPI_ADDRESS(k, places(2), ierr)
      call MPI_ADDRESS(name, places(3), ierr)
      if (places(2) - places(1) .ne. 40) stop 2
      if (places(3) - places(2) .ne. 12) stop 3
      lengths(1) = 5
      lengths(2) = 3
      lengths(3) = 7
      lengths(4) = 1
      types(1) = MPI_DOUBLE_PRECISION
      types(2) = MPI_INTEGER
      types(3) = MPI_CHARACTER
      types(4) = MPI_UB
      call MPI_TYPE_STRUCT(3, lengths, places, types, type, ierr)
      call MPI_TYPE_COMMIT(type, ierr)
! The same relative to its first member.
      first = places(1)
      do i = 1, 3
         places(i) = places(i) - first
      end do
      places(4) = 128
      call MPI_TYPE_STRUCT(4, lengths, places, types, relative, ierr)
      call MPI_TYPE_COMMIT(relative, ierr)
      call MPI_TYPE_EXTENT(relative, extent, ierr)
      call MPI_TYPE_LB(relative, lb, ierr)
      call MPI_TYPE_UB(relative, ub, ierr)
      if (extent .ne. 128 .or. lb .ne. 0 .or. ub .ne. 128) stop 4
      call MPI_TYPE_SIZE(type, n, ierr)
      if (n .ne. 59) stop 5
      if (rank .eq. 0) then
         do i = 1, size - 1
            call MPI_SEND(MPI_BOTTOM, 1, type, i, 0, MPI_COMM_WORLD,
     &           ierr)
            call MPI_SEND(x, 1, relative, i, 1, MPI_COMM_WORLD, ierr)
         end do
      else
         call MPI_RECV(x, 1, relative, 0, 0, MPI_COMM_WORLD,
     &        MPI_STATUS_IGNORE, ierr)
         if (x(5) .ne. 5 .or. k(3) .ne. -3 .or. name .ne. 'rank 0')
     &        stop 6
         x(5) = 0
         name = ' '
         call MPI_RECV(MPI_BOTTOM, 1, type, 0, 1, MPI_COMM_WORLD,
     &        MPI_STATUS_IGNORE, ierr)
         if (x(5) .ne. 5 .or. k(3) .ne. -3 .or. name .ne. 'rank 0')
     &        stop 7
      end if
      call MPI_TYPE_FREE(type, ierr)
      call MPI_TYPE_FREE(relative, ierr)
      if (type .ne. MPI_DATATYPE_NULL) stop 8
      end

! A message to oneself, with a negative stride.
      subroutine reverse
      implicit none
      include 'mpif.h'
      integer a(3, 4), b(3, 4), i, j, type, rank, ierr
      integer status(MPI_STATUS_SIZE), column, indexed
      integer lengths(2), places(2)
      do j = 1, 4
         do i = 1, 3
            a(i, j) = 10 * i + j
         end do
      end do
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_TYPE_VECTOR(4, 3, -3, MPI_INTEGER, type, ierr)
      call MPI_TYPE_COMMIT(type, ierr)
      call MPI_SENDRECV(a(1, 4), 1, type, rank, 2, b, 12, MPI_INTEGER,
     &     rank, 2, MPI_COMM_WORLD, status, ierr)
      do j = 1, 4
         do i = 1, 3
            if (b(i, j) .ne. a(i, 5 - j)) stop 11
         end do
      end do
! Rows, by HVECTOR; two columns, by HINDEXED.
      call MPI_TYPE_HVECTOR(4, 1, 12, MPI_INTEGER, column, ierr)
      call MPI_TYPE_COMMIT(column, ierr)
      call MPI_SENDRECV(a(2, 1), 1, column, rank, 3, b, 4, MPI_INTEGER,
     &     rank, 3, MPI_COMM_WORLD, status, ierr)
      do j = 1, 3
         if (b(j, 1) .ne. a(2, j)) stop 12
      end do
      lengths(1) = 3
      lengths(2) = 1
      places(1) = 36
      places(2) = 4
      call MPI_TYPE_HINDEXED(2, lengths, places, MPI_INTEGER, indexed,
     &     ierr)
      call MPI_TYPE_COMMIT(indexed, ierr)
      call MPI_SENDRECV(a, 1, indexed, rank, 4, b, 4, MPI_INTEGER, rank,
     &     4, MPI_COMM_WORLD, status, ierr)
      if (b(3, 1) .ne. a(3, 4) .or. b(1, 2) .ne. a(2, 1)) stop 13
      end

! One hundred bytes are sent, about half of them filled.
      subroutine packing(rank, size)
      implicit none
      include 'mpif.h'
      integer rank, size, position, n, i, ierr
      character*100 buffer
      real*8 x
      complex z
      position = 0
      n = 0
      x = 0
      z = (0, 0)
      if (rank .eq. 0) then
         n = 17
         x = 2.5d0
         z = (1.5, -2.5)
         call MPI_PACK(n, 1, MPI_INTEGER, buffer, 100, position,
     &        MPI_COMM_WORLD, ierr)
         call MPI_PACK(x, 1, MPI_DOUBLE_PRECISION, buffer, 100,
     &        position, MPI_COMM_WORLD, ierr)
         call MPI_PACK(z, 1, MPI_COMPLEX, buffer, 100, position,
     &        MPI_COMM_WORLD, ierr)
         do i = 1, size - 1
            call MPI_SEND(buffer, 100, MPI_PACKED, i, 8,
     &           MPI_COMM_WORLD, ierr)
         end do
      else
         call MPI_RECV(buffer, 100, MPI_PACKED, 0, 8, MPI_COMM_WORLD,
     &        MPI_STATUS_IGNORE, ierr)
         call MPI_UNPACK(buffer, 100, position, n, 1, MPI_INTEGER,
     &        MPI_COMM_WORLD, ierr)
         call MPI_UNPACK(buffer, 100, position, x, 1,
     &        MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
         call MPI_UNPACK(buffer, 100, position, z, 1, MPI_COMPLEX,
     &        MPI_COMM_WORLD, ierr)
      end if
      if (n .ne. 17 .or. x .ne. 2.5d0 .or. z .ne. (1.5, -2.5)) stop 21
      call MPI_PACK_SIZE(1, MPI_COMPLEX, MPI_COMM_WORLD, n, ierr)
      if (n .lt. 8) stop 22
      end

      subroutine empty
      implicit none
      include 'mpif.h'
      integer type, n, none(1), ierr
      call MPI_TYPE_INDEXED(0, none, none, MPI_REAL, type, ierr)
      if (ierr .ne. MPI_SUCCESS) stop 31
      call MPI_TYPE_COMMIT(type, ierr)
      call MPI_TYPE_SIZE(type, n, ierr)
      if (n .ne. 0) stop 32
      call MPI_TYPE_FREE(type, ierr)
      end
