#include "trace/clocks.hpp"

#include <mpi.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "platform/clock.hpp"
#include "prof/real.hpp"
#include "trace/recorder.hpp"

namespace kiviat::prof {
namespace {

using trace::Word;

constexpr int round_trips = 64, tag = 0;

struct Estimate {
  double offset_s = 0, moment_s = 0, trip_s = 0;
};

void answer(int rank) {
  const MPI_Comm apart = recorder.comm_of_clocks;
  for (int trip = 0; trip < round_trips; ++trip) {
    double mine_s = 0;
    KIVIAT_PMPI(Recv)(&mine_s, 0, byte(), rank, tag, apart, MPI_STATUS_IGNORE);
    mine_s = clock::now();
    KIVIAT_PMPI(Send)(&mine_s, sizeof mine_s, byte(), rank, tag, apart);
  }
}

Estimate ask() {
  const MPI_Comm apart = recorder.comm_of_clocks;
  Estimate best{0, 0, std::numeric_limits<double>::infinity()};
  for (int trip = 0; trip < round_trips; ++trip) {
    double theirs_s = 0;
    const double sent_s = clock::now();
    KIVIAT_PMPI(Send)(&theirs_s, 0, byte(), 0, tag, apart);
    KIVIAT_PMPI(Recv)(&theirs_s, sizeof theirs_s, byte(), 0, tag, apart, MPI_STATUS_IGNORE);
    const double received_s = clock::now(), middle_s = 0.5 * (sent_s + received_s);
    if (received_s - sent_s < best.trip_s) best = {theirs_s - middle_s, middle_s, received_s - sent_s};
  }
  return best;
}

Estimate compared() {
  const std::vector<int>& first_of_clock = recorder.first_of_clock;
  if (first_of_clock.size() < 2) return {};
  if (recorder.rank == 0) std::for_each(first_of_clock.begin() + 1, first_of_clock.end(), answer);
  const bool asks = recorder.rank != 0 && std::ranges::find(first_of_clock, recorder.rank) != first_of_clock.end();
  return asks ? ask() : Estimate{};
}

Word in_ns(double seconds) { return static_cast<Word>(static_cast<std::int64_t>(1e9 * seconds)); }

}  // namespace

void note_clocks(trace::Header& header) {
  const Word mine = clock::domain();
  std::vector<Word> clocks(static_cast<std::size_t>(recorder.ranks));
  KIVIAT_PMPI(Allgather)(&mine, sizeof mine, byte(), clocks.data(), sizeof mine, byte(), world());
  for (std::size_t rank = 0; rank < clocks.size(); ++rank)
    if (std::find(clocks.begin(), clocks.begin() + static_cast<std::ptrdiff_t>(rank), clocks[rank]) ==
        clocks.begin() + static_cast<std::ptrdiff_t>(rank))
      recorder.first_of_clock.push_back(static_cast<int>(rank));
  if (recorder.first_of_clock.size() > 1) KIVIAT_PMPI(Comm_dup)(world(), &recorder.comm_of_clocks);
  const Estimate found = compared();
  header.clock = mine;
  header.offset_before_ns = in_ns(found.offset_s), header.moment_before_ns = in_ns(found.moment_s);
  header.trip_before_ns = in_ns(found.trip_s);
}

void note_clocks_again(trace::Header& header) {
  const Estimate found = compared();
  header.offset_after_ns = in_ns(found.offset_s), header.moment_after_ns = in_ns(found.moment_s);
  header.trip_after_ns = in_ns(found.trip_s);
  if (recorder.first_of_clock.size() > 1) KIVIAT_PMPI(Comm_free)(&recorder.comm_of_clocks);
  recorder.first_of_clock.clear();
}

}  // namespace kiviat::prof
