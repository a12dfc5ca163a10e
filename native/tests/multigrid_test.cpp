// MG: distribution of the points of every grid, and exchange of neighbours' points.
#include <map>
#include <set>

#include "bench/npb/charges.hpp"
#include "bench/npb/halo.hpp"
#include "bench/npb/planes.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::npb;
using namespace kiviat::test;

namespace {

std::size_t index(const Box& box, int x, int y, int z) {
  return static_cast<std::size_t>(box.origin + x + y * box.row + z * box.plane);
}

double number_of(int n, int x, int y, int z) {
  const auto within = [n](int at) { return (at + n) % n; };
  return 1 + within(x) + n * (within(y) + static_cast<double>(n) * within(z));
}

// Owner of each point of the grid with n points a side; one process simulates all ranks.
using Owners = std::map<std::array<int, 3>, int>;
Owners owners_of(int n, const RankBox& ranks) {
  Owners owners;
  const int count = ranks.size[0] * ranks.size[1] * ranks.size[2];
  for (int rank = 0; rank < count; ++rank) {
    const Level level(n, ranks, rank);
    const auto& [xs, ys, zs] = level.segments;
    for (int z = 0; z < zs.points; ++z)
      for (int y = 0; y < ys.points; ++y)
        for (int x = 0; x < xs.points; ++x) owners[{xs.first + x, ys.first + y, zs.first + z}] += 1 + rank;
  }
  return owners;
}

std::vector<double> filled(const Level& level) {
  const auto& [xs, ys, zs] = level.segments;
  std::vector<double> grid(static_cast<std::size_t>(level.box.elements), -1);
  for (int z = 0; z < zs.points; ++z)
    for (int y = 0; y < ys.points; ++y)
      for (int x = 0; x < xs.points; ++x)
        grid[index(level.box, x, y, z)] = number_of(level.n, xs.first + x, ys.first + y, zs.first + z);
  return grid;
}

// Number of wrong points in the box and its halo. `first`: coordinates of point 0.
int wrong_points(const Level& level, const std::vector<double>& grid, const std::array<int, 3>& first) {
  int wrong = 0;
  const Place& points = level.box.points;
  for (int z = -1; z <= points[2]; ++z)
    for (int y = -1; y <= points[1]; ++y)
      for (int x = -1; x <= points[0]; ++x)
        wrong += grid[index(level.box, x, y, z)] != number_of(level.n, first[0] + x, first[1] + y, first[2] + z);
  return wrong;
}

}  // namespace

RANKED_TEST(ranks_form_boxes_that_are_nearly_cubes, 1) {
  for (int ranks = 1; ranks <= 4096; ranks *= 2) {
    const RankBox box(ranks);
    EXPECT(box.size[0] * box.size[1] * box.size[2] == ranks);
    EXPECT(box.size[0] <= box.size[1]);
    EXPECT(box.size[1] <= box.size[2]);
    EXPECT(box.size[2] <= 2 * box.size[0]);
    for (const int rank : {0, ranks / 2, ranks - 1}) EXPECT(box.rank_at(box.place_of(rank)) == rank);
  }
}

RANKED_TEST(every_point_of_every_grid_has_one_rank, 1) {
  for (int ranks = 1; ranks <= 64; ranks *= 2)
    for (int n = 2; n <= 16; n *= 2) {
      const RankBox box(ranks);
      const Owners owners = owners_of(n, box);
      EXPECT(owners.size() == n * n * n);
      for (const auto& [point, owner] : owners) {
        EXPECT(owner <= ranks);
        // A point of the coarser grid is on the same rank as the same point of the finer grid.
        if (n < 16) EXPECT((owners_of(2 * n, box).at({2 * point[0] + 1, 2 * point[1] + 1, 2 * point[2] + 1})) == owner);
        if (n > 4) break;  // keeps the test quick
      }
    }
}

RANKED_TEST(coarser_points_are_found_in_the_finer_grid, 1) {
  for (const int ranks : {1, 2, 4, 8, 16})
    for (int n = 4; n <= 32; n *= 2)
      for (int at = 0; at < ranks; ++at) {
        const Segment fine(n, ranks, at), coarse(n / 2, ranks, at);
        for (int point = 0; point < coarse.points; ++point)
          EXPECT(fine.first + 2 * point + offset_of(fine, coarse) == 2 * (coarse.first + point) + 1);
        // For ranks without points, the surrounding points are at -1 and 0.
        if (fine.points > 0 && coarse.points == 0) EXPECT(offset_of(fine, coarse) == 1);
      }
}

RANKED_TEST(neighbours_points_arrive_on_every_grid, 1, 2, 4) {
  for (int ranks = 1; ranks <= world.size; ranks *= 2) {
    MPI_Comm comm;
    MPI_Comm_split(world.comm, world.rank < ranks, world.rank, &comm);
    if (world.rank < ranks)
      for (const Place& size : {RankBox(ranks).size, Place{ranks, 1, 1}, Place{1, ranks, 1}, Place{1, 1, ranks}}) {
        RankBox box(1);
        box.size = size;
        const std::vector<Level> levels = levels_of(16, box, world.rank);
        Halo halo(comm, box, world.rank);
        std::vector<double> messages(static_cast<std::size_t>(Halo::elements_of(levels.back().box)));
        halo.use(messages.data(), levels.back().box);
        for (std::size_t i = 0; i < levels.size(); ++i) {
          const Level& level = levels[i];
          std::vector<double> grid = filled(level);
          if (level.active()) {
            halo.exchange(level, grid.data() + level.box.origin);
            EXPECT(wrong_points(level, grid,
                                {level.segments[0].first, level.segments[1].first, level.segments[2].first}) == 0);
          }
          if (i + 1 == levels.size() || !levels[i + 1].active()) continue;
          // Ranks without own points get the surrounding ones: these are the odd points 2c + 1, their own would be
          // even.
          halo.spread(levels[i + 1], level, grid.data() + level.box.origin);
          std::array<int, 3> first{};
          for (std::size_t side = 0; side < 3; ++side)
            first[side] =
                level.segments[side].points > 0 ? level.segments[side].first : levels[i + 1].segments[side].first / 2;
          EXPECT(wrong_points(level, grid, first) == 0);
        }
      }
    MPI_Comm_free(&comm);
  }
}

RANKED_TEST(a_plane_that_is_its_own_neighbour_is_closed, 1) {
  const Level level(8, RankBox(1), 0);
  std::vector<double> grid = filled(level), other = grid;
  Halo halo(world.comm, RankBox(1), 0);
  halo.exchange(level, grid.data() + level.box.origin);
  for (int z = 0; z < 8; ++z) close_plane(level.box, other.data() + level.box.origin + z * level.box.plane);
  halo.exchange(level, other.data() + level.box.origin, 2);
  EXPECT(wrong_points(level, other, {0, 0, 0}) == 0);
}

// No plane overwrites another that is still needed: the two lowest and the two highest, their halo, and four
// consecutive ones.
RANKED_TEST(planes_that_pass_do_not_meet, 1) {
  for (int n = Planes::least_for_some; n <= 32; n *= 2) {
    const Box box({n, n, n});
    std::vector<double> memory(static_cast<std::size_t>(Planes::elements_of_some(box)));
    const Planes planes = Planes::some(memory.data(), box);
    for (int first = 2; first + 4 <= std::max(n - 2, 6); ++first) {
      std::set<double*> places;
      std::set<int> needed = {-1, 0, 1, n - 2, n - 1, n};
      for (int z = first; z < std::min(first + 4, n - 2); ++z) needed.insert(z);
      for (const int z : needed) {
        places.insert(planes(z));
        EXPECT(planes(z) - box.row - 1 >= memory.data());
        EXPECT(planes(z) + n * box.row + n < memory.data() + memory.size());
      }
      EXPECT(places.size() == needed.size());
      EXPECT(planes(-1) + box.plane == planes(0));
      EXPECT(planes(n - 1) + box.plane == planes(n));
    }
  }
}

RANKED_TEST(charges_are_where_one_rank_alone_puts_them, 1, 2, 4) {
  for (const int n : {4, 16}) {
    const Level whole(n, RankBox(1), 0), part(n, RankBox(world.size), world.rank);
    const auto places = [&](const Level& level, const Extremes& extremes) {
      std::vector<double> grid(static_cast<std::size_t>(level.box.elements));
      place(extremes, level, grid.data() + level.box.origin);
      return grid;
    };
    const std::vector<double> all = places(whole, extremes_of(whole)),
                              mine = places(part, of_all(extremes_of(part), world.comm));
    const auto& [xs, ys, zs] = part.segments;
    int wrong = 0;
    double charged = 0;
    for (int z = 0; z < zs.points; ++z)
      for (int y = 0; y < ys.points; ++y)
        for (int x = 0; x < xs.points; ++x) {
          const double there = all[index(whole.box, xs.first + x, ys.first + y, zs.first + z)];
          const double here = mine[index(part.box, x, y, z)];
          wrong += there != here;
          charged += std::abs(here);
        }
    EXPECT(wrong == 0);
    double sum = 0;
    MPI_Allreduce(&charged, &sum, 1, MPI_DOUBLE, MPI_SUM, world.comm);
    EXPECT(sum == 20);
  }
}

RANKED_TEST(garbage_is_no_place_for_a_charge, 1) {
  const Level level(4, RankBox(1), 0);
  std::vector<double> grid(static_cast<std::size_t>(level.box.elements));
  Extremes extremes;
  for (const std::int64_t point : {std::int64_t{64}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) extremes.add({1, point});
  place(extremes, level, grid.data() + level.box.origin);
  EXPECT(std::ranges::count(grid, 0.0) == level.box.elements);
}
