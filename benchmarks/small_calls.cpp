// Cost of the cheapest MPI calls, of a rank with itself: prints one line per call with its name and the nanoseconds of
// one call, the minimum over many blocks. Names with `cold_`: the median of single calls, each after the program has
// walked through more memory than the caches next to the core hold.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

static double now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
}

template <class Call>
static void timed(const char* name, int calls_each, Call call) {
  constexpr int blocks = 2000, calls = 50;
  double least = 1e9;
  for (int block = 0; block < blocks; ++block) {
    const double start = now_ns();
    for (int i = 0; i < calls; ++i) call();
    least = std::min(least, (now_ns() - start) / (calls * calls_each));
  }
  std::printf("%s %.2f\n", name, least);
}

template <class Call>
static void timed_cold(const char* name, Call call) {
  constexpr std::size_t calls = 301, other_bytes = 8 << 20, line_bytes = 64;
  static std::vector<char> other(other_bytes);
  std::vector<double> times(calls);
  for (double& time : times) {
    for (std::size_t i = 0; i < other_bytes; i += line_bytes) ++other[i];
    const double start = now_ns();
    call();
    time = now_ns() - start;
  }
  std::ranges::nth_element(times, times.begin() + calls / 2);
  std::printf("%s %.2f\n", name, times[calls / 2]);
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank, flag;
  char out[8] = {}, in[8];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Request request = MPI_REQUEST_NULL;
  timed("iprobe", 1, [&] { MPI_Iprobe(rank, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); });
  timed("test", 1, [&] { MPI_Test(&request, &flag, MPI_STATUS_IGNORE); });
  const auto message = [&] {
    MPI_Isend(out, 8, MPI_CHAR, rank, 0, MPI_COMM_WORLD, &request);
    MPI_Recv(in, 8, MPI_CHAR, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  };
  timed("send_recv_wait", 3, message);
  timed("allreduce", 1, [&] { MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); });
  timed_cold("cold_iprobe", [&] { MPI_Iprobe(rank, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); });
  timed_cold("cold_send_recv_wait", message);
  MPI_Finalize();
}
