! ranks: 1 2 3 4 5 6 7 8
! expect-stdout: last word of rank
! no-check: objects are left at the end
! Habits of old programs: no IMPLICIT NONE, buffers of every type in one file, an array for a scalar and a scalar for an array,
! requests that are null or never completed, empty groups, constants of MPI in PARAMETER statements.
      PROGRAM HABITS
      INCLUDE 'mpif.h'
      PARAMETER (LBUF = 4 + MPI_BSEND_OVERHEAD)
      PARAMETER (LNAME = 2 * MPI_MAX_PROCESSOR_NAME)
      CHARACTER NAME*(LNAME), TEXT*10
      BYTE BYTES(LBUF + 3), B8(8)
      INTEGER*2 I2(3)
      INTEGER*8 I8
      COMPLEX C
      DOUBLE COMPLEX Z
      DOUBLE PRECISION D, BEGIN
      REAL*8 X(10)
      REAL A(3, 3)
      LOGICAL L, FLAG
      INTEGER REQ(3), STATUS(MPI_STATUS_SIZE, 3), WHICH(3), OP
      INTEGER GROUP, NOBODY, IN(2), OUT(2), BIG(100000)
      EXTERNAL IADD5
      DATA B8 /8 * 3/, I2 /3 * 7/, X /10 * 2.5D0/, A /9 * 1.5/
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, NP, IERR)
      BEGIN = MPI_WTIME()
      IF (MPI_WTIME(IERR) .LT. BEGIN) STOP 1
      IF (MPI_WTICK() .LE. 0 .OR. MPI_WTICK(IERR) .LE. 0) STOP 2
      CALL MPI_GET_PROCESSOR_NAME(NAME, LENGTH, IERR)
      IF (NAME(LENGTH+1:) .NE. ' ' .OR. LENGTH .LT. 1) STOP 3
      I8 = 0
      D = 0
      L = .FALSE.
      C = 0
      Z = 0
      TEXT = ' '
      R = 0
      IF (ME .EQ. 0) THEN
         I8 = 2
         I8 = I8 ** 40
         D = 3.5D0
         L = .TRUE.
         C = (1., 2.)
         Z = (3.D0, 4.D0)
         TEXT = 'textbook'
         R = 0.5
      END IF
      CALL MPI_BCAST(I2, 3, MPI_INTEGER2, 0, MPI_COMM_WORLD, IERR)
      CALL MPI_BCAST(I8, 1, MPI_INTEGER8, 0, MPI_COMM_WORLD, IERR)
      CALL MPI_BCAST(B8, 8, MPI_BYTE, 0, MPI_COMM_WORLD, IERR)
      CALL MPI_BCAST(B8, 8, MPI_INTEGER1, 0, MPI_COMM_WORLD, IERR)
      CALL MPI_BCAST(TEXT, 10, MPI_CHARACTER, 0, MPI_COMM_WORLD, IERR)
      CALL MPI_BCAST(C, 1, MPI_COMPLEX, 0, MPI_COMM_WORLD, IERR)
      CALL MPI_BCAST(Z, 1, MPI_DOUBLE_COMPLEX, 0, MPI_COMM_WORLD, IERR)
      CALL MPI_BCAST(L, 1, MPI_LOGICAL, 0, MPI_COMM_WORLD, IERR)
      CALL MPI_BCAST(R, 1, MPI_REAL, 0, MPI_COMM_WORLD, IERR)
      CALL MPI_BCAST(D, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD,
     $     IERR)
      CALL MPI_BCAST(X, 10, MPI_REAL8, 0, MPI_COMM_WORLD, IERR)
      CALL MPI_BCAST(A, 9, MPI_REAL4, 0, MPI_COMM_WORLD, IERR)
      CALL MPI_BCAST(A(2, 2), 1, MPI_REAL, 0, MPI_COMM_WORLD, IERR)
      IF (I8 .NE. 1099511627776_8 .OR. D .NE. 3.5D0) STOP 4
      IF (.NOT. L .OR. C .NE. (1., 2.) .OR. Z .NE. (3.D0, 4.D0)) STOP 5
      IF (TEXT .NE. 'textbook' .OR. R .NE. 0.5) STOP 6
      CALL SCALAR(A)
! One rank where a list is expected; an empty group, freed.
      CALL MPI_COMM_GROUP(MPI_COMM_WORLD, GROUP, IERR)
      CALL MPI_GROUP_INCL(GROUP, 1, 0, K, IERR)
      CALL MPI_GROUP_SIZE(K, N, IERR)
      IF (N .NE. 1) STOP 7
      CALL MPI_GROUP_INCL(GROUP, 0, WHICH, NOBODY, IERR)
      CALL MPI_GROUP_SIZE(NOBODY, N, IERR)
      IF (N .NE. 0) STOP 8
      CALL MPI_GROUP_FREE(NOBODY, IERR)
      IF (IERR .NE. MPI_SUCCESS .OR. NOBODY .NE. MPI_GROUP_NULL) STOP 9
! An operation of no declared type.
      CALL MPI_OP_CREATE(IADD5, .TRUE., OP, IERR)
      IN(1) = ME + 1
      IN(2) = 2 * ME
      CALL MPI_ALLREDUCE(IN, OUT, 2, MPI_INTEGER, OP, MPI_COMM_WORLD,
     $     IERR)
      IF (NP .GT. 1 .AND. OUT(1) .NE. MOD(NP * (NP + 1) / 2, 5)) STOP 10
      IF (NP .GT. 1 .AND. OUT(2) .NE. MOD(NP * (NP - 1), 5)) STOP 11
! A buffer of exactly the size that is needed, at every alignment.
      DO 10 I = 1, 4
         CALL MPI_BUFFER_ATTACH(BYTES(I), LBUF, IERR)
         CALL MPI_BSEND(ME, 1, MPI_INTEGER, MOD(ME + 1, NP), I,
     $        MPI_COMM_WORLD, IERR)
         CALL MPI_RECV(K, 1, MPI_INTEGER, MOD(ME + NP - 1, NP), I,
     $        MPI_COMM_WORLD, STATUS, IERR)
         IF (K .NE. MOD(ME + NP - 1, NP)) STOP 12
         CALL MPI_BUFFER_DETACH(BYTES(I), N, IERR)
         IF (N .NE. LBUF) STOP 13
 10   CONTINUE
! Nothing is active.
      DO 20 I = 1, 3
         REQ(I) = MPI_REQUEST_NULL
 20   CONTINUE
      CALL MPI_WAITANY(3, REQ, I, STATUS, IERR)
      IF (I .NE. MPI_UNDEFINED) STOP 14
      CALL MPI_TESTANY(3, REQ, I, FLAG, STATUS, IERR)
      IF (.NOT. FLAG .OR. I .NE. MPI_UNDEFINED) STOP 15
      CALL MPI_WAITSOME(3, REQ, N, WHICH, STATUS, IERR)
      IF (N .NE. MPI_UNDEFINED) STOP 16
      CALL MPI_TESTSOME(3, REQ, N, WHICH, STATUS, IERR)
      IF (N .NE. MPI_UNDEFINED) STOP 17
      CALL MPI_WAITANY(0, REQ, I, STATUS, IERR)
      IF (I .NE. MPI_UNDEFINED) STOP 18
      CALL MPI_STARTALL(0, REQ, IERR)
      CALL MPI_WAITALL(0, REQ, STATUS, IERR)
      CALL MPI_WAIT(REQ(1), STATUS, IERR)
      IF (STATUS(MPI_SOURCE, 1) .NE. MPI_ANY_SOURCE) STOP 19
      IF (STATUS(MPI_TAG, 1) .NE. MPI_ANY_TAG) STOP 20
! One among null ones.
      CALL MPI_IRECV(K, 1, MPI_INTEGER, ME, 1, MPI_COMM_WORLD, REQ(2),
     $     IERR)
      CALL MPI_SEND(ME, 1, MPI_INTEGER, ME, 1, MPI_COMM_WORLD, IERR)
      CALL MPI_WAITANY(3, REQ, I, STATUS, IERR)
      IF (I .NE. 2 .OR. K .NE. ME) STOP 21
! Sends that are never completed, one of them long, and a persistent one that is never freed.
      DO 30 I = 1, 100000
         BIG(I) = ME + I
 30   CONTINUE
      CALL MPI_ISEND(BIG, 100000, MPI_INTEGER, MOD(ME + 1, NP), 7,
     $     MPI_COMM_WORLD, REQ(1), IERR)
      CALL MPI_ISEND(ME, 1, MPI_INTEGER, MOD(ME + 1, NP), 8,
     $     MPI_COMM_WORLD, REQ(2), IERR)
      CALL MPI_SEND_INIT(ME, 1, MPI_INTEGER, ME, 9, MPI_COMM_WORLD,
     $     REQ(3), IERR)
      CALL GETBIG(MOD(ME + NP - 1, NP))
      CALL MPI_RECV(K, 1, MPI_INTEGER, MPI_ANY_SOURCE, 8,
     $     MPI_COMM_WORLD, STATUS, IERR)
      CALL MPI_FINALIZE(IERR)
      WRITE (*, '(A, I3, 1X, 200A1)') 'last word of rank', ME,
     $     ('.', I = 1, 200)
      STOP
      END

! Its dummy is a scalar, what it gets an array.
      SUBROUTINE SCALAR(S)
      REAL S
      INCLUDE 'mpif.h'
      CALL MPI_BCAST(S, 9, MPI_REAL, 0, MPI_COMM_WORLD, IERR)
      IF (S .NE. 1.5) STOP 22
      END

      SUBROUTINE GETBIG(FROM)
      INCLUDE 'mpif.h'
      INTEGER FROM, B(100000), STATUS(MPI_STATUS_SIZE)
      CALL MPI_RECV(B, 100000, MPI_INTEGER, FROM, 7, MPI_COMM_WORLD,
     $     STATUS, IERR)
      IF (B(1) .NE. FROM + 1 .OR. B(100000) .NE. FROM + 100000) STOP 23
      END

! Its value is never set.
      FUNCTION IADD5(IN, INOUT, LEN, TYPE)
      INTEGER TYPE, IN(LEN), INOUT(LEN)
      DO 10 I = 1, LEN
         INOUT(I) = MOD(IN(I) + INOUT(I), 5)
 10   CONTINUE
      END
