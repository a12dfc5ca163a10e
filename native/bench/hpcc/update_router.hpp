// Routes updates to the ranks that own their words, in rounds of few updates, so that latency dominates. With many
// ranks, updates travel in stages: in each stage, a rank exchanges messages only with the ranks whose number differs in
// one digit. So updates are combined into fewer and longer messages (S. J. Plimpton et al., "A simple synchronous
// distributed-memory algorithm for the HPCC RandomAccess benchmark", IEEE Cluster 2006, for powers of two; mixed bases
// are Kiviat's extension).
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace kiviat {

// Divides words 0 … 2^bits - 1 into one part per rank; parts differ by at most one word.
struct TableShare {
  int bits, ranks;
  std::uint64_t mask() const { return (std::uint64_t{1} << bits) - 1; }
  int owner(std::uint64_t word) const { return static_cast<int>((word * static_cast<std::uint64_t>(ranks)) >> bits); }
  std::uint64_t first(int rank) const {
    const std::uint64_t parts = static_cast<std::uint64_t>(ranks);
    return ((static_cast<std::uint64_t>(rank) << bits) + parts - 1) / parts;
  }
  std::uint64_t count(int rank) const { return first(rank + 1) - first(rank); }
};

// Returns the bases of the digits of a rank's number: products of prime factors of the number of ranks, at most `most`
// unless a prime factor itself is larger.
inline std::vector<int> digit_bases(int ranks, int most) {
  std::vector<int> bases;
  for (int rest = ranks, prime = 2; rest > 1; ++prime)
    for (; rest % prime == 0; rest /= prime) {
      const auto room = std::ranges::find_if(bases, [&](int base) { return base * prime <= most; });
      if (room != bases.end())
        *room *= prime;
      else
        bases.push_back(prime);
    }
  return bases;
}

class UpdateRouter {
 public:
  static constexpr std::size_t batch = 1024;  // HPC Challenge limits the updates that a rank may collect before sending

  UpdateRouter(MPI_Comm comm, const TableShare& share, int greatest_base = 16) : comm_(comm), share_(share) {
    int rank;
    MPI_Comm_rank(comm, &rank);
    int place = 1;
    for (const int base : digit_bases(share.ranks, greatest_base)) {
      Stage& stage = stages_.emplace_back();
      for (int owner = 0; owner < share.ranks; ++owner)
        stage.digit.push_back(static_cast<std::uint16_t>(owner / place % base));
      stage.mine = stage.digit[rank];
      for (int digit = 0; digit < base; ++digit) stage.partners.push_back(rank + (digit - stage.mine) * place);
      stage.counts.resize(base), stage.requests.resize(2 * base, MPI_REQUEST_NULL);
      stage.out = std::make_unique_for_overwrite<std::uint64_t[]>(base * capacity);
      stage.in = std::make_unique_for_overwrite<std::uint64_t[]>(base * capacity);
      place *= base;
    }
  }

  // One round: sends `mine`, at most a batch; calls deliver() with received updates for this rank, possibly several
  // times. Collective.
  template <class Deliver>
  void operator()(std::span<const std::uint64_t> mine, Deliver deliver) {
    for (Stage& stage : stages_) receive(stage);
    sort(0, mine, deliver);
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      Stage& stage = stages_[s];
      const int base = static_cast<int>(stage.partners.size());
      for (int digit = 0; digit < base; ++digit)
        if (digit != stage.mine)
          MPI_Isend(&stage.out[digit * capacity], bytes(stage.counts[digit]), MPI_BYTE, stage.partners[digit], 0, comm_,
                    &stage.requests[base + digit]);
      sort(s + 1, {&stage.out[stage.mine * capacity], stage.counts[stage.mine]}, deliver);
      for (int done;;) {
        MPI_Status status;
        MPI_Waitany(base, stage.requests.data(), &done, &status);
        if (done == MPI_UNDEFINED) break;
        int received;
        MPI_Get_count(&status, MPI_BYTE, &received);
        sort(s + 1, {&stage.in[done * capacity], static_cast<std::size_t>(received) / sizeof(std::uint64_t)}, deliver);
      }
      MPI_Waitall(base, stage.requests.data() + base, MPI_STATUSES_IGNORE);
      std::ranges::fill(stage.counts, 0);
    }
  }

  // Number of updates dropped because a buffer was full. A buffer holds four batches per partner, which random updates
  // practically never fill.
  std::int64_t lost() const { return lost_; }

 private:
  static constexpr std::size_t capacity = 4 * batch;  // updates per message

  struct Stage {
    std::vector<std::uint16_t> digit;  // digit of each owner at this stage
    std::vector<int> partners;         // ranks by digit, including this one
    int mine;
    std::vector<std::size_t> counts;    // number of updates to each partner
    std::vector<MPI_Request> requests;  // receives, then sends
    std::unique_ptr<std::uint64_t[]> out, in;
  };

  static int bytes(std::size_t updates) { return static_cast<int>(updates * sizeof(std::uint64_t)); }

  void receive(Stage& stage) {
    for (int digit = 0; digit < static_cast<int>(stage.partners.size()); ++digit)
      if (digit != stage.mine)
        MPI_Irecv(&stage.in[digit * capacity], bytes(capacity), MPI_BYTE, stage.partners[digit], 0, comm_,
                  &stage.requests[digit]);
  }

  // Sorts updates by their owner's digit at stage `s`; after the last stage, delivers them.
  template <class Deliver>
  void sort(std::size_t s, std::span<const std::uint64_t> updates, Deliver& deliver) {
    if (s == stages_.size()) return deliver(updates);
    Stage& stage = stages_[s];
    const std::uint64_t mask = share_.mask();
    for (const std::uint64_t update : updates) {
      const std::size_t digit = stage.digit[share_.owner(update & mask)];
      std::size_t& count = stage.counts[digit];
      if (count < capacity)
        stage.out[digit * capacity + count++] = update;
      else
        ++lost_;
    }
  }

  MPI_Comm comm_;
  TableShare share_;
  std::vector<Stage> stages_;
  std::int64_t lost_ = 0;
};

}  // namespace kiviat
