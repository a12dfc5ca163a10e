! Subroutines of mixed.c.
subroutine begin_in_fortran(other, requests)
  implicit none
  include 'mpif.h'
  integer :: other, requests(2), error
  integer, save :: in(10), out(10)
  call MPI_Irecv(in, 10, MPI_INTEGER, other, 0, MPI_COMM_WORLD, requests(1), error)
  call MPI_Isend(out, 10, MPI_INTEGER, other, 0, MPI_COMM_WORLD, requests(2), error)
end subroutine

subroutine match_in_fortran(message)
  implicit none
  include 'mpif.h'
  integer :: message, error
  call MPI_Mprobe(1, 1, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE, error)
end subroutine

subroutine receive_in_fortran()
  implicit none
  include 'mpif.h'
  integer :: value, error
  call MPI_Recv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
end subroutine
