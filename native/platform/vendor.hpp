// Name of the MPI whose headers this program was compiled with. The loaded library identifies itself by
// MPI_Get_library_version; the launcher reports a mismatch.
#pragma once

#include <mpi.h>
#ifdef KIVIAT_SIMULATED
#include <simgrid/version.h>
#endif

#include <string>

namespace kiviat {

struct Vendor {
  std::string name, version;
};

inline Vendor vendor() {
#if defined(KIVIAT_SIMULATED)
  return {"SMPI", std::to_string(SIMGRID_VERSION_MAJOR) + "." + std::to_string(SIMGRID_VERSION_MINOR)};
#elif defined(OPEN_MPI)
  return {"Open MPI", std::to_string(OMPI_MAJOR_VERSION) + "." + std::to_string(OMPI_MINOR_VERSION) + "." +
                          std::to_string(OMPI_RELEASE_VERSION)};
#elif defined(I_MPI_VERSION)
  return {"Intel MPI", I_MPI_VERSION};
#elif defined(MVAPICH_VERSION)
  return {"MVAPICH", MVAPICH_VERSION};
#elif defined(MVAPICH2_VERSION)
  return {"MVAPICH2", MVAPICH2_VERSION};
#elif defined(MPICH_VERSION)
  return {"MPICH", MPICH_VERSION};
#else
  return {"unknown MPI", "unknown"};
#endif
}

}  // namespace kiviat
