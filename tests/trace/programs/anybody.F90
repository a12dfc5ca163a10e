! Receives from any source, with each of Fortran's MPI interfaces; message sizes identify the sender.
program anybody
#if defined(HAS_F08)
  use mpi_f08
#elif defined(HAS_MODULE)
  use mpi
#endif
  implicit none
#if defined(HAS_F08)
#define REQUEST type(MPI_Request)
#define STATUS type(MPI_Status)
#define SOURCE(status) status%MPI_SOURCE
#else
#define REQUEST integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#define SOURCE(status) status(MPI_SOURCE)
#endif
#if !defined(HAS_F08) && !defined(HAS_MODULE)
  include 'mpif.h'
#endif
  integer :: rank, ranks, error, other, which
  logical :: flag
  integer :: values(1000)
  REQUEST :: requests(2)
  STATUS :: told

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  if (rank > 0) then
    do other = 1, 4
      call MPI_Send(values, rank, MPI_INTEGER, 0, other, MPI_COMM_WORLD, error)
    end do
  else
    do other = 1, ranks - 1
      call MPI_Recv(values, 1000, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    end do
    do other = 1, ranks - 1
      call MPI_Recv(values, 1000, MPI_INTEGER, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, told, error)
      if (SOURCE(told) < 1) stop 2
    end do
    do other = 1, ranks - 1
      requests = MPI_REQUEST_NULL
      call MPI_Irecv(values, 1000, MPI_INTEGER, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, requests(2), error)
      call MPI_Waitany(2, requests, which, MPI_STATUS_IGNORE, error)
      ! MPICH 4.0 returns 1 with mpi_f08
      if (which < 1) stop 1
    end do
    do other = 1, ranks - 1
      call MPI_Irecv(values, 1000, MPI_INTEGER, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, requests(1), error)
      flag = .false.
      do while (.not. flag)
        call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE, error)
      end do
    end do
  end if
  call MPI_Finalize(error)
end program
