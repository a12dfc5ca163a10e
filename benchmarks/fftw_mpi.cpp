// FFTW's own transform over MPI ranks, in natural order: fftw_mpi N RUNS WISDOM [in-place] prints the seconds of each
// run of the slowest rank, then the largest error of a transform forth and back. The plan is measured (FFTW_MEASURE)
// outside the times, which takes a minute, and kept in the file WISDOM for further launches; the one of the way back,
// which only checks, is estimated.
#include <fftw3-mpi.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

// Not inlined, so that it rounds alike wherever it is called: at i = 10^7 a fused multiplication alone changes the
// result by 10^-10.
[[gnu::noinline]] static double value(ptrdiff_t i, int part) { return std::sin(0.7 * static_cast<double>(i) + part); }

int main(int count, char** words) {
  MPI_Init(&count, &words);
  fftw_mpi_init();
  const ptrdiff_t n = std::atoll(words[1]);
  const int runs = std::atoi(words[2]);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  ptrdiff_t in, in_start, out, out_start;
  const ptrdiff_t local =
      fftw_mpi_local_size_1d(n, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_MEASURE, &in, &in_start, &out, &out_start);
  fftw_complex* data = fftw_alloc_complex(static_cast<size_t>(local));
  fftw_complex* result = count > 4 ? data : fftw_alloc_complex(static_cast<size_t>(local));
  if (rank == 0) fftw_import_wisdom_from_filename(words[3]);
  fftw_mpi_broadcast_wisdom(MPI_COMM_WORLD);
  const fftw_plan forth = fftw_mpi_plan_dft_1d(n, data, result, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_MEASURE);
  fftw_mpi_gather_wisdom(MPI_COMM_WORLD);
  if (rank == 0) fftw_export_wisdom_to_filename(words[3]);
  const fftw_plan back = fftw_mpi_plan_dft_1d(n, result, data, MPI_COMM_WORLD, FFTW_BACKWARD, FFTW_ESTIMATE);
  const auto fill = [&] {
    for (ptrdiff_t i = 0; i < in; ++i)
      for (int part = 0; part < 2; ++part) data[i][part] = value(in_start + i, part);
  };
  fill();

  for (int run = 0; run <= runs; ++run) {
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = -MPI_Wtime();
    fftw_execute(forth);
    seconds += MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0 && run > 0) std::printf("%.9f\n", seconds);  // the first warms up
  }
  fill();  // in place, each run has transformed the last one's result
  fftw_execute(forth);
  fftw_execute(back);
  double error = 0;
  for (ptrdiff_t i = 0; i < in; ++i)
    for (int part = 0; part < 2; ++part)
      error = std::max(error, std::abs(data[i][part] / static_cast<double>(n) - value(in_start + i, part)));
  MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) std::printf("error %.3g\n", error);
  MPI_Finalize();
}
