! ranks: 1 2 5
! no-check: objects are left at the end
! MPI_ADDRESS into INTEGERs, of variables wherever a compiler has put them: the main program's, a subroutine's own, large
! arrays, common blocks, and several of them in one type; differences, and MPI_BOTTOM.
      program addresses
      implicit none
      include 'mpif.h'
      integer ierr, rank, n, k, lengths(5), places(5), types(5), type
      integer i, at(5), again
      real a, b
      double precision big(20000)
      integer shared
      common /block/ shared
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
! Relative to the first of some scalars.
      a = 0
      b = 0
      n = 0
      if (rank .eq. 0) then
         a = 1.5
         b = 2.5
         n = 7
      end if
      call build(a, b, n, type)
      call MPI_BCAST(a, 1, type, 0, MPI_COMM_WORLD, ierr)
      call changed(a, b, n)
      if (a .ne. 1.5 .or. b .ne. 2.5 .or. n .ne. 7) stop 1
      call MPI_TYPE_FREE(type, ierr)
! All kinds at once, relative to MPI_BOTTOM, and then to the first.
      call clear(rank, a, b, n, big, shared)
      call MPI_ADDRESS(a, places(1), ierr)
      if (ierr .ne. MPI_SUCCESS) stop 2
      call MPI_ADDRESS(big(19999), places(2), ierr)
      if (ierr .ne. MPI_SUCCESS) stop 3
      call MPI_ADDRESS(shared, places(3), ierr)
      call MPI_ADDRESS(n, places(4), ierr)
      call MPI_ADDRESS(b, places(5), ierr)
      do i = 1, 5
         lengths(i) = 1
         at(i) = places(i) - places(1)
      end do
      lengths(2) = 2
      types(1) = MPI_REAL
      types(2) = MPI_DOUBLE_PRECISION
      types(3) = MPI_INTEGER
      types(4) = MPI_INTEGER
      types(5) = MPI_REAL
      call MPI_TYPE_STRUCT(5, lengths, places, types, type, ierr)
      call MPI_TYPE_COMMIT(type, ierr)
      call MPI_BCAST(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD, ierr)
      call changed(a, b, n)
      call compare(a, b, n, big, shared)
      call MPI_TYPE_FREE(type, ierr)
      call clear(rank, a, b, n, big, shared)
      call MPI_TYPE_STRUCT(5, lengths, at, types, type, ierr)
      call MPI_TYPE_COMMIT(type, ierr)
      call MPI_BCAST(a, 1, type, 0, MPI_COMM_WORLD, ierr)
      call changed(a, b, n)
      call compare(a, b, n, big, shared)
      call MPI_TYPE_FREE(type, ierr)
! One variable of each kind alone.
      do i = 1, 5
         call clear(rank, a, b, n, big, shared)
         call MPI_TYPE_HINDEXED(1, lengths(i), places(i), types(i),
     &        type, ierr)
         call MPI_TYPE_CONTIGUOUS(1, type, again, ierr)
         call MPI_TYPE_COMMIT(again, ierr)
         call MPI_BCAST(MPI_BOTTOM, 1, again, 0, MPI_COMM_WORLD, ierr)
         call changed(a, b, n)
         k = 0
         if (a .eq. 1.5) k = 1
         if (big(20000) .eq. 4) k = k + 10
         if (shared .eq. 9) k = k + 100
         if (n .eq. 7) k = k + 1000
         if (b .eq. 2.5) k = k + 10000
         if (rank .ne. 0 .and. k .ne. 10 ** (i - 1)) stop 4
      end do
      call local(rank)
      call MPI_FINALIZE(ierr)
      end

! As a book builds the type of a program's input.
      subroutine build(a, b, n, type)
      implicit none
      include 'mpif.h'
      real a, b
      integer n, type, lengths(3), places(3), types(3), first, ierr
      data lengths /3 * 1/
      types(1) = MPI_REAL
      types(2) = MPI_REAL
      types(3) = MPI_INTEGER
      call MPI_ADDRESS(a, first, ierr)
      places(1) = 0
      call MPI_ADDRESS(b, places(2), ierr)
      places(2) = places(2) - first
      call MPI_ADDRESS(n, places(3), ierr)
      places(3) = places(3) - first
      call MPI_TYPE_STRUCT(3, lengths, places, types, type, ierr)
      call MPI_TYPE_COMMIT(type, ierr)
      end

! The compiler cannot see that MPI has changed them.
      subroutine changed(a, b, n)
      real a, b
      integer n
      call MPI_F_SYNC_REG(a)
      call MPI_F_SYNC_REG(b)
      call MPI_F_SYNC_REG(n)
      end

      subroutine clear(rank, a, b, n, big, shared)
      implicit none
      integer rank, n, shared
      real a, b
      double precision big(20000)
      a = 0
      b = 0
      n = 0
      shared = 0
      big(19999) = 0
      big(20000) = 0
      if (rank .ne. 0) return
      a = 1.5
      b = 2.5
      n = 7
      shared = 9
      big(19999) = 3
      big(20000) = 4
      end

      subroutine compare(a, b, n, big, shared)
      implicit none
      integer n, shared
      real a, b
      double precision big(20000)
      if (a .ne. 1.5 .or. b .ne. 2.5 .or. n .ne. 7) stop 5
      if (big(19999) .ne. 3 .or. big(20000) .ne. 4) stop 6
      if (shared .ne. 9) stop 7
      end

! Deep in the stack; also by MPI_GET_ADDRESS, which is absolute.
      subroutine local(rank)
      implicit none
      include 'mpif.h'
      integer rank, space(3000), x, type, place, ierr
      integer (kind=MPI_ADDRESS_KIND) whole
      x = 0
      space(1) = 0
      space(3000) = 0
      if (rank .eq. 0) x = 11
      if (rank .eq. 0) space(3000) = 12
      call MPI_ADDRESS(space(3000), place, ierr)
      call MPI_TYPE_HINDEXED(1, 1, place, MPI_INTEGER, type, ierr)
      call MPI_TYPE_COMMIT(type, ierr)
      call MPI_BCAST(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD, ierr)
      call MPI_F_SYNC_REG(space)
      if (space(3000) .ne. 12) stop 8
      call MPI_TYPE_FREE(type, ierr)
      call MPI_GET_ADDRESS(x, whole, ierr)
      call MPI_TYPE_CREATE_HINDEXED(1, 1, whole, MPI_INTEGER, type,
     &     ierr)
      call MPI_TYPE_COMMIT(type, ierr)
      call MPI_BCAST(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD, ierr)
      call MPI_F_SYNC_REG(x)
      if (x .ne. 11) stop 9
      call MPI_TYPE_FREE(type, ierr)
      end
