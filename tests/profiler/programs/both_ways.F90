! The same as both_ways.c, with mpif.h.
program both_ways
  implicit none
  include 'mpif.h'
  integer :: rank, other, request, error
  character :: out(100), in(100)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  other = 1 - rank
  call MPI_Isendrecv(out, 100, MPI_CHARACTER, other, 0, in, 100, MPI_CHARACTER, other, 0, MPI_COMM_WORLD, request, error)
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  call MPI_Isendrecv_replace(in, 60, MPI_CHARACTER, other, 0, other, 0, MPI_COMM_WORLD, request, error)
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  call MPI_Finalize(error)
end program
