// Minimal ping-pong, the reference for kiviat-bench.
//
// tight_loop BYTES BLOCKS ROUND_TRIPS
//
// Rank 0 prints half of the round-trip time in seconds, one line per block. The clock is read once per block, which
// costs less than a thousandth with a hundred round trips per block. Round trips keep the ranks synchronised, so blocks
// need no barrier between them.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, world = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (argc != 4 || world != 2) {
    std::fprintf(stderr, "usage: mpirun -n 2 tight_loop BYTES BLOCKS ROUND_TRIPS (on %d ranks)\n", world);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int bytes = std::atoi(argv[1]), blocks = std::atoi(argv[2]), round_trips = std::atoi(argv[3]);
  std::vector<char> out(bytes + 1, 1), in(bytes + 1, 2);
  std::vector<double> half_s(blocks);

  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  for (int block = -blocks; block < blocks; ++block) {  // the first half of the blocks is warm-up
    if (rank == 0) {
      for (int i = 0; i < round_trips; ++i) {
        MPI_Send(out.data(), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(in.data(), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    } else {
      for (int i = 0; i < round_trips; ++i) {
        MPI_Recv(in.data(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out.data(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
      }
    }
    const double end = MPI_Wtime();
    if (block >= 0) half_s[block] = (end - begin) / (2.0 * round_trips);
    begin = end;
  }
  if (rank == 0)
    for (const double half : half_s) std::printf("%.12g\n", half);
  MPI_Finalize();
}
