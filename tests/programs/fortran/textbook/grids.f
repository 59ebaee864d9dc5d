! ranks: 1 2 3 4 5 6 7 8 24
! timeout: 120
! no-check: objects are left at the end
! Grids and graphs: surplus ranks, shifts off the edge, a star whose members may have other ranks than in the world,
! dimensions that cannot be had.
      program grids
      implicit none
      include 'mpif.h'
      integer ierr, rank, size, grid, dims(3), n, i, cube, line
      integer coords(3), source, dest, star, index(64), edges(128)
      integer neighbors(64), class
      logical periods(3), remain(3), got(3)
      data periods /.true., .false., .true./
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
! The largest grid of 4 by 3 by 2 that fits, or a line.
      dims(1) = 4
      dims(2) = 3
      dims(3) = 2
      if (size .lt. 24) then
         dims(1) = max(1, size / 2)
         dims(2) = 1
         dims(3) = 1
      end if
      n = dims(1) * dims(2) * dims(3)
      call MPI_CART_CREATE(MPI_COMM_WORLD, 3, dims, periods, .false.,
     &     cube, ierr)
      if ((cube .eq. MPI_COMM_NULL) .neqv. (rank .ge. n)) stop 1
      if (rank .lt. n) then
         call MPI_CART_COORDS(cube, rank, 3, coords, ierr)
         if (coords(3) .ne. mod(rank, dims(3))) stop 2
         if (coords(1) .ne. rank / (dims(2) * dims(3))) stop 3
         call MPI_CART_RANK(cube, coords, i, ierr)
         if (i .ne. rank) stop 4
         call MPI_CART_SHIFT(cube, 1, 1, source, dest, ierr)
         if (coords(2) .eq. 0 .and. source .ne. MPI_PROC_NULL) stop 5
         if (coords(2) .eq. dims(2) - 1 .and. dest .ne. MPI_PROC_NULL)
     &        stop 6
         call MPI_CART_GET(cube, 3, dims, got, coords, ierr)
         if (.not. got(1) .or. got(2) .or. .not. got(3)) stop 7
         remain(1) = .true.
         remain(2) = .false.
         remain(3) = .false.
         call MPI_CART_SUB(cube, remain, line, ierr)
         call MPI_COMM_SIZE(line, i, ierr)
         if (i .ne. dims(1)) stop 8
         call MPI_COMM_FREE(line, ierr)
         call MPI_COMM_FREE(cube, ierr)
      end if
! A star: rank 0 and all others.
      index(1) = size - 1
      do i = 1, size - 1
         edges(i) = i
         index(i + 1) = size - 1 + i
         edges(size - 1 + i) = 0
      end do
      call MPI_GRAPH_CREATE(MPI_COMM_WORLD, size, index, edges, .true.,
     &     star, ierr)
      call MPI_COMM_RANK(star, rank, ierr)
      call MPI_GRAPH_NEIGHBORS_COUNT(star, rank, n, ierr)
      if (rank .eq. 0 .and. n .ne. size - 1) stop 9
      if (rank .gt. 0 .and. n .ne. 1) stop 10
      call MPI_GRAPH_NEIGHBORS(star, rank, 64, neighbors, ierr)
      do i = 1, n
         call MPI_SENDRECV(rank, 1, MPI_INTEGER, neighbors(i), 0, dest,
     &        1, MPI_INTEGER, neighbors(i), 0, star, MPI_STATUS_IGNORE,
     &        ierr)
         if (dest .ne. neighbors(i)) stop 11
      end do
! Three does not divide seven.
      call MPI_ERRHANDLER_SET(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr)
      dims(1) = 3
      dims(2) = 0
      call MPI_DIMS_CREATE(7, 2, dims, ierr)
      if (ierr .eq. MPI_SUCCESS) stop 12
      call MPI_ERROR_CLASS(ierr, class, ierr)
      if (class .ne. MPI_ERR_DIMS) stop 13
      dims(1) = 0
      dims(2) = 0
      call MPI_DIMS_CREATE(size, 2, dims, ierr)
      if (dims(1) * dims(2) .ne. size) stop 14
      call MPI_FINALIZE(ierr)
      end
