! Two ranks exchange a number, with mpif.h.
      program exchange
      implicit none
      include 'mpif.h'
      integer rank, mine, theirs, ierr
      character*16 text
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      mine = 100 + rank
      call MPI_SENDRECV(mine, 1, MPI_INTEGER, 1 - rank, 5, theirs, 1,
     &     MPI_INTEGER, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE,
     &     ierr)
      write (text, '(a,i1,a,i3)') 'rank ', rank, ' got ', theirs
      write (*, '(a)') text(1:14)
      call MPI_FINALIZE(ierr)
      end
