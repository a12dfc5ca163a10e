// Cells of SP and BT: they cover the cube exactly once, and neighbours are where sweeps expect them.
#include "bench/npb/multipartition.hpp"

#include <set>
#include <vector>

#include "ranked_test.hpp"

using namespace kiviat::npb;
using namespace kiviat::test;

RANKED_TEST(cells_cover_the_cube_once, 1) {
  for (const int sections : {1, 2, 3, 4, 5, 8})
    for (const int n : {8, 12, 36}) {
      std::vector<int> owners(static_cast<std::size_t>(n * n * n), 0);
      for (int rank = 0; rank < sections * sections; ++rank) {
        const Multipartition mine(sections * sections, rank, n);
        for (const Multipartition::Cell& cell : mine.cells())
          for (int z = 0; z < cell.points[2]; ++z)
            for (int y = 0; y < cell.points[1]; ++y)
              for (int x = 0; x < cell.points[0]; ++x)
                ++owners[static_cast<std::size_t>(((cell.first[2] + z) * n + cell.first[1] + y) * n + cell.first[0] +
                                                  x)];
      }
      EXPECT(std::set<int>(owners.begin(), owners.end()) == std::set<int>{1});
    }
}

RANKED_TEST(every_layer_has_a_cell_of_every_rank_and_the_next_is_the_neighbours, 1) {
  for (const int sections : {1, 2, 3, 4, 7})
    for (int rank = 0; rank < sections * sections; ++rank) {
      const Multipartition mine(sections * sections, rank, 24);
      EXPECT(mine.sections() == sections);
      for (std::size_t axis = 0; axis < 3; ++axis)
        for (int place = 0; place < sections; ++place) {
          const auto& cell = mine.cells()[mine.cell_at(axis, place)];
          EXPECT(cell.at[axis] == place);
          for (const int step : {-1, 1}) {
            const int next = place + step;
            if (next < 0 || next == sections) continue;
            const Multipartition other(sections * sections, mine.neighbour(axis, step), 24);
            const auto& beside = other.cells()[other.cell_at(axis, next)];
            for (std::size_t across = 0; across < 3; ++across)
              EXPECT((across == axis || beside.at[across] == cell.at[across]));
          }
        }
    }
}
