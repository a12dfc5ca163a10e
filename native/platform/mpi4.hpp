// Macros for the calls of MPI 4 that the header declares:
//   KIVIAT_HAS_MPI4: persistent collectives, partitioned messages and sessions. Open MPI 5 has them, although it states
//                    MPI 3.1; it lacks the large counts of MPI 4
//   KIVIAT_HAS_MPIX: persistent collectives as extensions (Open MPI 4.1)
#pragma once

#include <mpi.h>

#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
#define KIVIAT_HAS_MPI4
#elif defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define KIVIAT_HAS_MPIX
#endif
#endif
