! ranks: 1 2 3 4 5 6 7 8
! A reduction by doubling against MPI_REDUCE, an operation that is an integer function without a value, a broadcast
! of a packed buffer that is half full, matrices and vectors through MPI_BCAST and MPI_GATHER.
      program reduce
      implicit none
      include 'mpif.h'
      integer ierr, rank, size, op, mine, partner, step, got, all
      integer i, position, n, both(2)
      real x
      character*100 packed
      integer add_mod_5
      external add_mod_5
      real*8 row(4), matrix(4, 8)
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
      mine = 3 * rank + 1
      step = 1
! Half of the remaining ranks send to the other half, if there is one.
 10   if (step .lt. size) then
         if (mod(rank, 2 * step) .eq. 0) then
            partner = rank + step
            if (partner .lt. size) then
               call MPI_RECV(got, 1, MPI_INTEGER, partner, 1,
     &              MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
               mine = mine + got
            end if
         else
            partner = rank - step
            call MPI_SEND(mine, 1, MPI_INTEGER, partner, 1,
     &           MPI_COMM_WORLD, ierr)
            goto 20
         end if
         step = 2 * step
         goto 10
      end if
 20   continue
      all = -1
      call MPI_REDUCE(3 * rank + 1, all, 1, MPI_INTEGER, MPI_SUM, 0,
     &     MPI_COMM_WORLD, ierr)
      if (rank .eq. 0 .and. all .ne. mine) stop 1
      if (rank .ne. 0 .and. all .ne. -1) stop 2
! An operation of our own.
      call MPI_OP_CREATE(add_mod_5, .true., op, ierr)
      both(1) = rank
      both(2) = 1
      call MPI_ALLREDUCE(both, matrix, 2, MPI_INTEGER, op,
     &     MPI_COMM_WORLD, ierr)
      call compare(matrix, size)
      call MPI_OP_FREE(op, ierr)
! Fifty bytes of a hundred.
      position = 0
      if (rank .eq. 0) then
         n = 5
         x = 1.25
         call MPI_PACK(n, 1, MPI_INTEGER, packed, 100, position,
     &        MPI_COMM_WORLD, ierr)
         call MPI_PACK(x, 1, MPI_REAL, packed, 100, position,
     &        MPI_COMM_WORLD, ierr)
      end if
      call MPI_BCAST(packed, 100, MPI_PACKED, 0, MPI_COMM_WORLD, ierr)
      n = 0
      x = 0
      position = 0
      call MPI_UNPACK(packed, 100, position, n, 1, MPI_INTEGER,
     &     MPI_COMM_WORLD, ierr)
      call MPI_UNPACK(packed, 100, position, x, 1, MPI_REAL,
     &     MPI_COMM_WORLD, ierr)
      if (n .ne. 5 .or. x .ne. 1.25) stop 3
      do i = 1, 4
         row(i) = 10 * rank + i
      end do
      call MPI_GATHER(row, 4, MPI_DOUBLE_PRECISION, matrix, 4,
     &     MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) then
         do i = 1, size
            if (matrix(3, i) .ne. 10 * (i - 1) + 3) stop 4
         end do
      end if
      call MPI_BCAST(matrix(1, size), 1, MPI_REAL8, 0, MPI_COMM_WORLD,
     &     ierr)
      if (matrix(1, size) .ne. 10 * (size - 1) + 1) stop 5
      call MPI_FINALIZE(ierr)
      end

      subroutine compare(got, size)
      integer got(2), size
      if (size .eq. 1) return
      if (got(1) .ne. mod(size * (size - 1) / 2, 5)) stop 6
      if (got(2) .ne. mod(size, 5)) stop 7
      end

      integer function add_mod_5(in, inout, len, type)
      integer len, type, in(len), inout(len), i
      do i = 1, len
         inout(i) = mod(in(i) + inout(i), 5)
      end do
      end
