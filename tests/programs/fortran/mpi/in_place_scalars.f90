! ranks: 1 2 4
! With MPI_IN_PLACE the counts, displacements and types of the send buffer are not used. Programs pass scalars there, as the
! modules of other libraries allow.
program in_place_scalars
  use mpi
  implicit none
  integer, parameter :: most = 4
  integer :: values(0:most - 1), counts(0:most - 1), displs(0:most - 1), bytes(0:most - 1), types(0:most - 1)
  integer :: rank, ranks, ierr, request, form, i
  integer, parameter :: zero = 0

  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
  counts = 1
  types = MPI_INTEGER
  do i = 0, most - 1
    displs(i) = i
    bytes(i) = 4 * i
  end do
  do form = 1, 4
    do i = 0, ranks - 1
      values(i) = 100 * rank + i
    end do
    select case (form)
    case (1)
      call MPI_ALLTOALLV(MPI_IN_PLACE, zero, 0, MPI_DATATYPE_NULL, values, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    case (2)
      call MPI_ALLTOALLW(MPI_IN_PLACE, 0, zero, MPI_DATATYPE_NULL, values, counts, bytes, types, MPI_COMM_WORLD, ierr)
    case (3)
      call MPI_IALLTOALLV(MPI_IN_PLACE, 0, 0, MPI_DATATYPE_NULL, values, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, request, ierr)
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierr)
    case (4)
      call MPI_IALLTOALLW(MPI_IN_PLACE, 0, 0, MPI_DATATYPE_NULL, values, counts, bytes, types, MPI_COMM_WORLD, request, ierr)
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierr)
    end select
    do i = 0, ranks - 1
      if (values(i) /= 100 * i + rank) then
        print *, 'form', form, 'rank', rank, 'value', i, 'is', values(i)
        call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
      end if
    end do
  end do
  call MPI_FINALIZE(ierr)
end program
