// Host processor overhead of MPI_Isend: processor time taken from a computing rank while a message is sent.
#include "bench/overhead/hpo.hpp"

using namespace kiviat;

static void hpo_send(Trial& t) { measure_overhead(t, Side::send); }

BENCHMARK(hpo_send,
          .summary = "processor time of a non-blocking send, and availability of the processor meanwhile",
          .source = "Sandia MPI Micro-Benchmark Suite, host processor overhead; Doerfler and Brightwell, EuroPVM/MPI 2006",
          .aka = {"hpo"},
          .sampling = Sampling::study,
          .ranks = pairs(),
          .sizes = study_sizes,
          .reports = overhead_reports(),
          .nominal_s = 0.5,
          .axes = overhead_axes(),
          .section = "overhead",
          .place = 1,
          .tabled = false);
