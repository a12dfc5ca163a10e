// exchange FROM TO BYTES: every rank prints its host; then rank FROM sends one message to rank TO. With negative BYTES
// the message is never sent.
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  char host[64] = {}, line[256] = {};
  gethostname(host, sizeof host - 1);
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  const char* marker = std::getenv("KIVIAT_LAUNCH");
  std::snprintf(line, sizeof line, "%d %s %d %s", rank, host, CPU_COUNT(&cpus), marker ? marker : "none");
  std::vector<char> lines(256 * size);
  MPI_Gather(line, 256, MPI_CHAR, lines.data(), 256, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    for (int other = 0; other < size; ++other) std::printf("%s\n", &lines[256 * other]);
    std::fflush(stdout);
  }

  const int from = std::atoi(words[1]), to = std::atoi(words[2]), bytes = std::atoi(words[3]);
  std::vector<char> message(std::max(bytes, 0), 'x');
  if (bytes < 0) MPI_Recv(nullptr, 0, MPI_CHAR, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == from) MPI_Send(message.data(), bytes, MPI_CHAR, to, 0, MPI_COMM_WORLD);
  if (rank == to) MPI_Recv(message.data(), bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

  // The last messages before the end go between all ranks, as in a benchmark.
  std::vector<int> out(size), in(size);
  MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
