! ranks: 1 2 3 4 5 6 7 8
! no-check: objects are left at the end
! Groups: translation, empty ones, a reversed split, disjoint communicators made in one call, attributes in INTEGERs.
      program groups
      implicit none
      include 'mpif.h'
      integer ierr, rank, size, world, odd, n, i, ranks(32), there(32)
      integer comm, r, s, none, group, same, key, value
      logical flag
      external copy_twice
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
      call MPI_COMM_GROUP(MPI_COMM_WORLD, world, ierr)
! The odd ranks, backwards.
      n = 0
      do i = size - 1, 0, -1
         if (mod(i, 2) .eq. 1) then
            n = n + 1
            ranks(n) = i
         end if
      end do
      call MPI_GROUP_INCL(world, n, ranks, odd, ierr)
      call MPI_GROUP_SIZE(odd, s, ierr)
      if (s .ne. n) stop 1
      do i = 1, size
         ranks(i) = i - 1
      end do
      call MPI_GROUP_TRANSLATE_RANKS(world, size, ranks, odd, there,
     &     ierr)
      do i = 1, size
         if (mod(i - 1, 2) .eq. 0) then
            if (there(i) .ne. MPI_UNDEFINED) stop 2
         else if (there(i) .ne. n - i / 2) then
            stop 3
         end if
      end do
      call MPI_GROUP_INCL(world, 0, ranks, none, ierr)
      call MPI_GROUP_COMPARE(none, MPI_GROUP_EMPTY, same, ierr)
      if (same .ne. MPI_IDENT) stop 4
      if (none .ne. MPI_GROUP_EMPTY) call MPI_GROUP_FREE(none, ierr)
! Even ranks make one communicator and odd ranks another, in one call.
      n = 0
      do i = mod(rank, 2), size - 1, 2
         n = n + 1
         ranks(n) = i
      end do
      call MPI_GROUP_INCL(world, n, ranks, group, ierr)
      call MPI_COMM_CREATE(MPI_COMM_WORLD, group, comm, ierr)
      call MPI_COMM_SIZE(comm, s, ierr)
      call MPI_COMM_RANK(comm, r, ierr)
      if (s .ne. n .or. r .ne. rank / 2) stop 5
      call MPI_COMM_FREE(comm, ierr)
      if (comm .ne. MPI_COMM_NULL) stop 6
      call MPI_COMM_SPLIT(MPI_COMM_WORLD, 0, -rank, comm, ierr)
      call MPI_COMM_RANK(comm, r, ierr)
      if (r .ne. size - 1 - rank) stop 7
      call MPI_COMM_COMPARE(comm, MPI_COMM_WORLD, same, ierr)
      if (size .gt. 1 .and. same .ne. MPI_SIMILAR) stop 8
! Attributes.
      call MPI_KEYVAL_CREATE(copy_twice, MPI_NULL_DELETE_FN, key, 3,
     &     ierr)
      call MPI_ATTR_PUT(comm, key, 21, ierr)
      call MPI_COMM_DUP(comm, group, ierr)
      call MPI_ATTR_GET(group, key, value, flag, ierr)
      if (.not. flag .or. value .ne. 63) stop 9
      call MPI_ATTR_DELETE(group, key, ierr)
      call MPI_ATTR_GET(group, key, value, flag, ierr)
      if (flag) stop 10
      call MPI_KEYVAL_FREE(key, ierr)
      if (key .ne. MPI_KEYVAL_INVALID) stop 11
      call MPI_ATTR_GET(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
      if (.not. flag .or. value .lt. 32767) stop 12
      call MPI_COMM_FREE(comm, ierr)
      call MPI_COMM_FREE(group, ierr)
      call MPI_FINALIZE(ierr)
      end

! The copy is the attribute times the extra state.
      subroutine copy_twice(comm, key, extra, in, out, flag, ierr)
      integer comm, key, extra, in, out, ierr
      logical flag
      out = in * extra
      flag = .true.
      ierr = 0
      end
