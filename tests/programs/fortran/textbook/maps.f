! ranks: 1 2 3 4 5 6 7 8
! timeout: 60
! Assignment through a distributed map, A = B(map): one get for each process with types that pick the elements, and one
! get for each element; then sums into the places that a map names, with accumulates.
      program maps
      implicit none
      include 'mpif.h'
      integer m
      parameter (m = 40)
      integer ierr, rank, size, map(m), i
      real a(m), b(m)
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
! A permutation of all indices, counted from zero.
      do i = 1, m
         map(i) = mod((rank * m + i - 1) * 13 + 3, m * size)
         b(i) = real(rank * m + i - 1)
      end do
      call bytype(a, b, map, m, size)
      do i = 1, m
         if (a(i) .ne. real(map(i))) stop 1
         a(i) = -1
      end do
      call byelem(a, b, map, m)
      do i = 1, m
         if (a(i) .ne. real(map(i))) stop 2
      end do
! Each place gets what the one element has that names it.
      do i = 1, m
         a(i) = real(map(i) + 1)
         b(i) = 0
      end do
      call sums(a, b, map, m)
      do i = 1, m
         if (b(i) .ne. real(rank * m + i)) stop 3
         b(i) = 0
         a(i) = 1
         map(i) = mod(i, size) * m + 5
      end do
! All name a few places.
      call sums(a, b, map, m)
      do i = 1, m
         if (i .ne. 6 .and. b(i) .ne. 0) stop 4
      end do
      if (mod(m, size) .eq. 0 .and. b(6) .ne. real(m)) stop 5
      call MPI_FINALIZE(ierr)
      end

! The processes that hold the elements, one after the other.
      subroutine bytype(a, b, map, m, p)
      implicit none
      include 'mpif.h'
      integer m, p, map(m)
      real a(m), b(m)
      integer win, ierr, i, k, n, from(m), to(m), here, there, bytes
      integer (kind=MPI_ADDRESS_KIND) lower, extent, zero
      call MPI_TYPE_GET_EXTENT(MPI_REAL, lower, extent, ierr)
      bytes = int(extent)
      call MPI_WIN_CREATE(b, m * extent, bytes, MPI_INFO_NULL,
     &     MPI_COMM_WORLD, win, ierr)
      zero = 0
      call MPI_WIN_FENCE(0, win, ierr)
      do i = 0, p - 1
         n = 0
         do k = 1, m
            if (map(k) / m .eq. i) then
               n = n + 1
               to(n) = k - 1
               from(n) = mod(map(k), m)
            end if
         end do
         call MPI_TYPE_CREATE_INDEXED_BLOCK(n, 1, to, MPI_REAL, here,
     &        ierr)
         call MPI_TYPE_CREATE_INDEXED_BLOCK(n, 1, from, MPI_REAL,
     &        there, ierr)
         call MPI_TYPE_COMMIT(here, ierr)
         call MPI_TYPE_COMMIT(there, ierr)
         call MPI_GET(a, 1, here, i, zero, 1, there, win, ierr)
         call MPI_TYPE_FREE(here, ierr)
         call MPI_TYPE_FREE(there, ierr)
      end do
      call MPI_WIN_FENCE(0, win, ierr)
      call MPI_WIN_FREE(win, ierr)
      end

      subroutine byelem(a, b, map, m)
      implicit none
      include 'mpif.h'
      integer m, map(m)
      real a(m), b(m)
      integer win, ierr, i, bytes
      integer (kind=MPI_ADDRESS_KIND) lower, extent, disp
      call MPI_TYPE_GET_EXTENT(MPI_REAL, lower, extent, ierr)
      bytes = int(extent)
      call MPI_WIN_CREATE(b, m * extent, bytes, MPI_INFO_NULL,
     &     MPI_COMM_WORLD, win, ierr)
      call MPI_WIN_FENCE(0, win, ierr)
      do i = 1, m
         disp = mod(map(i), m)
         call MPI_GET(a(i), 1, MPI_REAL, map(i) / m, disp, 1, MPI_REAL,
     &        win, ierr)
      end do
      call MPI_WIN_FENCE(0, win, ierr)
      call MPI_WIN_FREE(win, ierr)
      end

      subroutine sums(a, b, map, m)
      implicit none
      include 'mpif.h'
      integer m, map(m)
      real a(m), b(m)
      integer win, ierr, i, bytes
      integer (kind=MPI_ADDRESS_KIND) lower, extent, disp
      call MPI_TYPE_GET_EXTENT(MPI_REAL, lower, extent, ierr)
      bytes = int(extent)
      call MPI_WIN_CREATE(b, m * extent, bytes, MPI_INFO_NULL,
     &     MPI_COMM_WORLD, win, ierr)
      call MPI_WIN_FENCE(0, win, ierr)
      do i = 1, m
         disp = mod(map(i), m)
         call MPI_ACCUMULATE(a(i), 1, MPI_REAL, map(i) / m, disp, 1,
     &        MPI_REAL, MPI_SUM, win, ierr)
      end do
      call MPI_WIN_FENCE(0, win, ierr)
      call MPI_WIN_FREE(win, ierr)
      end
