! ranks: 3
! launch: --check=error
! one-host: the log of accesses lies in the memory of one host
! expect-exit: nonzero
! args: root => OX-COLL-ROOT: rank 1: called MPI_Bcast (root 1) where rank 0 of the communicator called MPI_Bcast (root 0)
! args: op => OX-COLL-OP: rank 1: called MPI_Allreduce (MPI_MAX)
! args: count => OX-COLL-COUNT: rank 1: called MPI_Scan
! args: type => OX-TYPE-COLL: rank 1: called MPI_Reduce
! args: call => OX-COLL-CALL: rank 1: called MPI_Scatter (root 0) where rank 0 of the communicator called MPI_Bcast (root 0)
! args: order => OX-COLL-ORDER: rank 1: called MPI_Gather
! args: message => OX-TYPE-MESSAGE: rank 1: the message of MPI_Recv from rank 0 with tag 1
! args: wait => OX-REQ-ACTIVE: rank 1: 1 request of MPI_Isend
! args: send => OX-BUF-SEND: rank 1: the buffer of MPI_Isend
! args: receive => OX-BUF-
! args: overlap => OX-BUF-OVERLAP: rank 1: MPI_Irecv
! args: persistent => OX-OBJ-REQUEST: rank 1: 1 request of MPI_Recv_init
! args: unreceived => OX-MATCH-UNRECEIVED: rank 1: a message of 16 bytes from rank 0 with tag 1
! args: conflict => OX-RMA-CONFLICT: rank
! args: store => OX-RMA-STORE: rank
! args: window => OX-OBJ-WIN: ranks 0-2: 1 window of MPI_Win_create
! args: comm => OX-OBJ-COMM: rank 1: 1 communicator of MPI_Comm_split
! args: datatype => OX-OBJ-TYPE: rank 1: 1 datatype of MPI_Type_vector
! args: group => OX-OBJ-GROUP: rank 1: 1 group of MPI_Comm_group
! args: operation => OX-OBJ-OP: rank 1: 1 reduction operation of MPI_Op_create
! What Fortran programs do wrong, one mistake a run; fortran_right.f90 is the same without the mistakes.
program fortran_wrong
    use mpi_f08
    implicit none
    integer :: rank
    logical :: is_wrong
    character(len=32) :: what

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    is_wrong = .true.
    call get_command_argument(1, what)
    call act(trim(what))
    call MPI_Finalize()

contains

    include 'fortran.inc'

end program fortran_wrong
