! The same calls with each of Fortran's interfaces: mpif.h, `use mpi` and, with HAS_F08, `use mpi_f08`.
program fortran
#if defined(HAS_F08)
  use mpi_f08
#elif defined(HAS_MODULE)
  use mpi
#endif
  implicit none
#if defined(HAS_F08)
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#define STATUS type(MPI_Status)
#else
#define COMM integer
#define REQUEST integer
#define DATATYPE integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#endif
#if !defined(HAS_F08) && !defined(HAS_MODULE)
  include 'mpif.h'
#endif
  integer :: rank, ranks, error, next, before, step
  integer, allocatable :: counts(:), places(:)
  double precision :: out(1000), in(1000)
  REQUEST :: requests(2)
  COMM :: half
  DATATYPE :: pair
  STATUS :: received

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  out = rank
  do step = 1, 10  ! 80 B each to the next rank
    call MPI_Irecv(in, 10, MPI_DOUBLE_PRECISION, before, 1, MPI_COMM_WORLD, requests(1), error)
    call MPI_Isend(out, 10, MPI_DOUBLE_PRECISION, next, 1, MPI_COMM_WORLD, requests(2), error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  end do
  call MPI_Type_contiguous(2, MPI_INTEGER, pair, error)
  call MPI_Type_commit(pair, error)
  if (rank == 0) call MPI_Send(out, 3, pair, ranks - 1, 2, MPI_COMM_WORLD, error)  ! 24 B
  if (rank == ranks - 1) call MPI_Recv(in, 3, pair, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, received, error)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
  call MPI_Send(out, 3, pair, ranks, 2, MPI_COMM_WORLD, error)  ! fails: there is no such rank
  if (error == MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 3, error)
  call MPI_Allreduce(MPI_IN_PLACE, out, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  allocate (counts(ranks), places(ranks))
  counts = 1
  places = 0
  ! MPI_IN_PLACE: the data is in the receive buffer, and the send counts must be ignored.
  call MPI_Alltoallv(MPI_IN_PLACE, counts, places, MPI_INTEGER, in, counts * 5, places, MPI_INTEGER, MPI_COMM_SELF, error)
  call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, half, error)
  call MPI_Bcast(in, 4, MPI_INTEGER, 0, half, error)  ! 16 B from the last rank of the world
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Comm_free(half, error)
#if defined(HAS_F08)
  call MPI_Finalize()  ! the last argument may be left out
#else
  call MPI_Finalize(error)
#endif
end program
