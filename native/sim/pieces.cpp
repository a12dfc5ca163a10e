// The whole simulation is forked: every process has all ranks, and leaves the values of its pieces in memory that all
// processes share. Pieces begin with a meeting of all ranks, so that those before them do not matter.
#include "core/pieces.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "core/host.hpp"

#undef getpid  // SMPI has one of its own, which numbers ranks

namespace kiviat {
namespace {

// What a check of payload finds is told in one process only.
std::size_t processes_for(std::size_t pieces) {
  if (host::carries_payload()) return 1;
  const char* given = std::getenv("KIVIAT_PROCESSES");
  return std::clamp<std::size_t>(given ? std::strtoul(given, nullptr, 10) : 1, 1, pieces);
}

}  // namespace

// One for all ranks of a process. Whoever is free takes the next piece, so that fewer processes do as well.
struct Pieces::Shares {
  double* results;
  std::atomic<int>* taken;
  std::vector<signed char> mine;  // of each piece: -1 not asked yet
  std::vector<pid_t> others = {};
  bool leads = true, lost = false;

  static Shares* among(std::size_t count, std::size_t values) {
    const std::size_t bytes = count * (values * sizeof(double) + sizeof(std::atomic<int>));
    void* memory = mmap(nullptr, std::max<std::size_t>(1, bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory for the results of " + std::to_string(count) + " pieces");
    auto* results = static_cast<double*>(memory);
    auto* shares = new Shares{results, reinterpret_cast<std::atomic<int>*>(results + count * values), std::vector<signed char>(count, -1)};
    std::fflush(nullptr);
    for (std::size_t number = 1; number < processes_for(count); ++number) {
      const pid_t parent = getpid(), other = fork();
      if (other < 0) break;
      if (other == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        shares->leads = false, shares->others.clear();
        break;
      }
      shares->others.push_back(other);
    }
    return shares;
  }
};

// Known to all ranks of a process by its address.
Pieces::Pieces(const Assembly& assembly, std::size_t count, std::size_t values)
    : assembly_(assembly), count_(count), values_(values) {
  int rank;
  MPI_Comm_rank(assembly.comm(), &rank);
  if (rank == 0) shares_ = Shares::among(count, values);
  auto address = reinterpret_cast<std::uintptr_t>(shares_);
  assembly.tell(&address, sizeof address);
  shares_ = reinterpret_cast<Shares*>(address);
  results_ = shares_->results;
}

Pieces::~Pieces() = default;

bool Pieces::mine(std::size_t piece) const {
  signed char& mine = shares_->mine[piece];
  if (mine < 0) mine = shares_->taken[piece].exchange(1) == 0;
  return mine != 0;
}

bool Pieces::leads() const { return shares_->leads; }

void Pieces::collect() {
  assembly_.meet();
  // Whoever comes first does it for all ranks of this process.
  if (!leads()) _exit(0);
  for (const pid_t other : shares_->others) {
    int status = 0;
    waitpid(other, &status, 0);
    shares_->lost = shares_->lost || status != 0;
  }
  shares_->others.clear();
  assembly_.meet();
  if (shares_->lost) throw std::runtime_error("a process of the simulation was lost");
}

}  // namespace kiviat
