! ranks: 1 2
! Errors of calls from Fortran name the call and what is wrong, also where this interface has to look at the arguments first.
program errors
  use mpi_f08
  implicit none
  integer :: x(8), counts(8), places(8), code, size
  integer(kind=MPI_ADDRESS_KIND) :: displacements(2)
  type(MPI_Comm) :: c
  type(MPI_Datatype) :: types(8)
  logical :: remain(1)
  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  counts = 0
  places = 0
  displacements = 0
  types = MPI_INTEGER
  remain = .true.
  call MPI_Cart_sub(MPI_COMM_WORLD, remain, c, code)
  call expect('MPI_Cart_sub:', MPI_ERR_TOPOLOGY)
  call MPI_Alltoallw(x, counts, places, types, x, counts, places, types, MPI_COMM_NULL, code)
  call expect('MPI_Alltoallw:', MPI_ERR_COMM)
  call MPI_Neighbor_alltoallw(x, counts, displacements, types, x, counts, displacements, types, MPI_COMM_WORLD, code)
  call expect('MPI_Neighbor_alltoallw:', MPI_ERR_TOPOLOGY)
  call MPI_Send(x(1:8:2), 4, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, code)
  call expect('MPI_Send:', MPI_ERR_TYPE)
  call MPI_Send(x(1:8:2), -1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, code)
  call expect('MPI_Send:', MPI_ERR_COUNT)
  call MPI_Send(x(1:8:2), 4, MPI_INTEGER, size, 0, MPI_COMM_WORLD, code)
  call expect('MPI_Send:', MPI_ERR_RANK)
  call MPI_Send(x(1:8:2), 5, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, code)
  call expect('MPI_Send:', MPI_ERR_BUFFER)
  call MPI_Bcast(x, 1, MPI_INTEGER, -1, MPI_COMM_WORLD, code)
  call expect('MPI_Bcast:', MPI_ERR_ROOT)
  call MPI_Bcast(x, 1_MPI_COUNT_KIND, MPI_INTEGER, -1, MPI_COMM_WORLD, code)
  call expect('MPI_Bcast_c:', MPI_ERR_ROOT)
  call MPI_Finalize()

contains

  subroutine expect(call_name, wanted)
    character(len=*), intent(in) :: call_name
    integer, intent(in) :: wanted
    integer :: class, length
    character(len=MPI_MAX_ERROR_STRING) :: text
    call MPI_Error_class(code, class)
    call MPI_Error_string(code, text, length)
    if (class /= wanted .or. index(text, call_name) /= 1) then
      print *, 'wrong: ', call_name, class, text(1:length)
      error stop 1
    end if
  end subroutine expect
end program errors
