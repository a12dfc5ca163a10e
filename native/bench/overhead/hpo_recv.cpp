// Host processor overhead of MPI_Irecv: processor time taken from a computing rank while a message arrives.
#include "bench/overhead/hpo.hpp"

using namespace kiviat;

static void hpo_recv(Trial& t) { measure_overhead(t, Side::receive); }

BENCHMARK(hpo_recv,
          .summary = "processor time of a non-blocking receive, and availability of the processor meanwhile",
          .source = "Sandia MPI Micro-Benchmark Suite, host processor overhead; Doerfler and Brightwell, EuroPVM/MPI 2006",
          .aka = {"hpo"},
          .sampling = Sampling::study,
          .ranks = pairs(),
          .sizes = study_sizes,
          .reports = overhead_reports(),
          .nominal_s = 0.5,
          .axes = overhead_axes(),
          .section = "overhead",
          .place = 2,
          .tabled = false);
