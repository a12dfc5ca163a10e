! Windows whose memory MPI allocates and returns as a C pointer, with `use mpi`.
program windows
  use, intrinsic :: iso_c_binding
  use mpi
  implicit none
  integer :: win, error
  integer(kind=MPI_ADDRESS_KIND) :: size
  type(c_ptr) :: memory

  call MPI_Init(error)
  size = 64
  call MPI_Win_allocate(size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, memory, win, error)
  call MPI_Win_free(win, error)
  call MPI_Win_allocate_shared(size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, memory, win, error)
  call MPI_Win_free(win, error)
  call MPI_Finalize(error)
end program
