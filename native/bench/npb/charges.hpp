// Right-hand side of MG: +1 at the 10 points with the largest random numbers, -1 at the 10 with the smallest, 0
// elsewhere. RNR-94-007, section 2.3.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "bench/npb/grid_levels.hpp"
#include "kernels/lcg.hpp"

namespace kiviat::npb {

struct Charge {
  std::uint64_t number;
  std::int64_t point;  // x + n (y + n z)
};

// The largest and smallest values so far.
class Extremes {
 public:
  static constexpr std::size_t count = 10;

  void add(Charge charge) {
    if (most_.size() < count || charge.number > most_.back().number) keep(most_, charge, std::greater());
    if (least_.size() < count || charge.number < least_.back().number) keep(least_, charge, std::less());
  }
  const std::vector<Charge>& most() const { return most_; }
  const std::vector<Charge>& least() const { return least_; }

 private:
  template <class Before>
  static void keep(std::vector<Charge>& kept, Charge charge, Before before) {
    kept.insert(std::ranges::upper_bound(kept, charge.number, before, &Charge::number), charge);
    if (kept.size() > count) kept.pop_back();
  }

  std::vector<Charge> most_, least_;
};

// Returns the extremes of the values at this rank's points.
inline Extremes extremes_of(const Level& level) {
  Extremes extremes;
  const Place& points = level.box.points;
  const auto& [xs, ys, zs] = level.segments;
  for (int z = zs.first; z < zs.first + points[2]; ++z)
    for (int y = ys.first; y < ys.first + points[1]; ++y) {
      const std::int64_t first = xs.first + level.n * (y + std::int64_t{level.n} * z);
      Lcg numbers(Lcg::usual_seed(), static_cast<std::uint64_t>(first));
      for (std::int64_t x = 0; x < points[0]; ++x) numbers(), extremes.add({numbers.state(), first + x});
    }
  return extremes;
}

// Extremes over all ranks. Collective.
inline Extremes of_all(const Extremes& mine, MPI_Comm comm) {
  constexpr Charge nothing{0, -1};
  int ranks;
  MPI_Comm_size(comm, &ranks);
  std::vector<Charge> sent(2 * Extremes::count, nothing), all(sent.size() * static_cast<std::size_t>(ranks), nothing);
  std::ranges::copy(mine.most(), sent.begin());
  std::ranges::copy(mine.least(), sent.begin() + Extremes::count);
  const int bytes = static_cast<int>(sent.size() * sizeof(Charge));
  MPI_Allgather(sent.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, comm);
  // With few points per rank, a point may be in both lists.
  std::ranges::sort(all, {}, &Charge::point);
  const auto rest = std::ranges::unique(all, {}, &Charge::point);
  all.erase(rest.begin(), rest.end());
  Extremes extremes;
  for (const Charge& charge : all)
    if (charge.point >= 0) extremes.add(charge);
  return extremes;
}

// Stores the charges in this rank's grid, which must be 0.
inline void place(const Extremes& extremes, const Level& level, double* grid) {
  const auto put = [&](const std::vector<Charge>& charges, double value) {
    for (const Charge& charge : charges) {
      const std::int64_t n = level.n, global[] = {charge.point % n, charge.point / n % n, charge.point / n / n};
      std::int64_t at = 0;
      bool mine = true;
      for (std::size_t side = 0; mine && side < sides; ++side) {
        const std::int64_t distance[] = {1, level.box.row, level.box.plane},
                           local = global[side] - level.segments[side].first;
        mine = local >= 0 && local < level.segments[side].points;
        if (mine) at += local * distance[side];
      }
      if (mine) grid[at] = value;
    }
  };
  put(extremes.most(), 1), put(extremes.least(), -1);
}

}  // namespace kiviat::npb
