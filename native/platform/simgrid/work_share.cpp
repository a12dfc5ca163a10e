// Each independent measurement ("piece") of a study runs in a fork of the simulation, which contains all ranks and
// leaves its results in shared memory. Every piece starts from the same state at the same simulated time, so its result
// depends neither on the other pieces nor on the number of concurrent processes: even rounding differences between
// ranks could change the state of a bucket (simgrid/bucket.hpp).
#include "platform/work_share.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "platform/node.hpp"

#undef getpid  // removes SMPI's own getpid, which returns the rank

namespace kiviat {
namespace {

std::size_t processes_at_a_time() {
  const char* given = std::getenv("KIVIAT_PROCESSES");
  return given ? std::max(1UL, std::strtoul(given, nullptr, 10)) : 1;
}

}  // namespace

// State shared by all ranks of a process.
struct WorkShare::Shares {
  double* results;
  bool all_mine = false;  // with payload, one process runs all pieces, because it collects the check results
  std::size_t mine = SIZE_MAX;
  std::size_t others = 0;  // running child processes
  bool lost = false;       // a child failed

  static Shares* among(std::size_t count, std::size_t values, const Progress& progressed) {
    const std::size_t bytes = count * values * sizeof(double);
    void* memory =
        mmap(nullptr, std::max<std::size_t>(1, bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      throw std::runtime_error("cannot allocate " + std::to_string(bytes) + " B for the results of " +
                               std::to_string(count) + " measurements");
    auto* shares = new Shares{static_cast<double*>(memory)};
    if (host::carries_payload()) {
      shares->all_mine = true;
      return shares;
    }
    std::size_t done = 0;
    const auto finish_one = [&] {
      shares->wait();
      progressed(static_cast<double>(++done) / static_cast<double>(count));
    };
    std::fflush(nullptr);
    // The last first: studies list short measurements before long ones, and a long one that starts last keeps the other
    // processes waiting.
    for (std::size_t piece = count; piece-- > 0 && !shares->lost;) {
      if (shares->others == processes_at_a_time()) finish_one();
      const pid_t parent = getpid(), other = fork();
      if (other == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        shares->mine = piece;
        return shares;
      }
      if (other < 0)
        throw std::runtime_error("cannot start a process for measurement " + std::to_string(piece) + " of " +
                                 std::to_string(count) + ": " + std::strerror(errno));
      ++shares->others;
    }
    while (shares->others > 0) finish_one();
    return shares;
  }

 private:
  void wait() {
    int status = 0;
    pid_t ended;
    do ended = ::wait(&status);
    while (ended < 0 && errno == EINTR);
    --others, lost = lost || ended < 0 || status != 0;
  }
};

// Rank 0 creates the shared state and broadcasts its address within the process.
WorkShare::WorkShare(const RankGroup& group, std::size_t count, std::size_t values, const Progress& progressed)
    : group_(group), count_(count), values_(values) {
  int rank;
  MPI_Comm_rank(group.comm(), &rank);
  if (rank == 0) shares_ = Shares::among(count, values, progressed);
  auto address = reinterpret_cast<std::uintptr_t>(shares_);
  group.broadcast(&address, sizeof address);
  shares_ = reinterpret_cast<Shares*>(address);
  results_ = shares_->results;
}

WorkShare::~WorkShare() = default;

bool WorkShare::mine(std::size_t piece) const { return shares_->all_mine || piece == shares_->mine; }

bool WorkShare::leads() const { return shares_->all_mine; }

void WorkShare::collect() {
  group_.barrier();
  // In a child, the first rank to get here ends the process, and with it all ranks.
  if (shares_->mine != SIZE_MAX) _exit(0);
  if (shares_->lost) throw std::runtime_error("a process of the simulation failed or was killed");
}

}  // namespace kiviat
