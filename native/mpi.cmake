# The MPI of MPI_CXX_COMPILER, for targets that link MPI::MPI_CXX.
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI REQUIRED COMPONENTS CXX)
# FindMPI drops the first option of `mpicxx_abi -show`, and with the header of MPICH's own ABI all would crash.
if("mpi_abi" IN_LIST MPI_CXX_LIB_NAMES)
  set_property(TARGET MPI::MPI_CXX APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS MPI_ABI)
endif()
