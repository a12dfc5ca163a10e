// PTRANS: local transposition, and transposition across grids of ranks compared with the definition.
#include <vector>

#include "bench/hpcc/transposition.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

double a_at(std::int64_t row, std::int64_t column) { return static_cast<double>(1000 * row + column); }

// Number of wrong elements of C + A^T on this rank.
std::int64_t wrong_elements(const BlockMatrix& matrix, MPI_Comm comm, std::int64_t buffer_bytes) {
  Transposition transposition(comm, matrix, buffer_bytes);
  const std::size_t elements = static_cast<std::size_t>(matrix.elements());
  std::vector<double> a(elements, -7), c(elements, -7),
      buffers(static_cast<std::size_t>(transposition.buffer_elements()));
  const Cyclic rows = matrix.rows(), columns = matrix.columns();
  const auto at = [&](std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(j * matrix.stride() + i); };
  for (std::int64_t j = 0; j < columns.size(); ++j)
    for (std::int64_t i = 0; i < rows.size(); ++i)
      a[at(i, j)] = a_at(rows.global(i), columns.global(j)), c[at(i, j)] = 0.5;
  for (int time = 0; time < 2; ++time) transposition(c.data(), a.data(), buffers.data());
  std::int64_t wrong = 0, seen = 0;
  for (std::int64_t j = 0; j < columns.size(); ++j)
    for (std::int64_t i = 0; i < rows.size(); ++i, ++seen)
      wrong += c[at(i, j)] != 0.5 + 2 * a_at(columns.global(j), rows.global(i));
  // The padding between columns must not change.
  return wrong + std::ranges::count(c, -7.0) - (matrix.elements() - seen);
}

}  // namespace

RANKED_TEST(parts_are_transposed_whatever_their_shape, 1) {
  for (const std::size_t rows : {1, 3, 8, 16, 21})
    for (const std::size_t columns : {1, 7, 8, 24, 33}) {
      std::vector<double> from(40 * columns), to(50 * rows, 3), sum(50 * rows, 3);
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i);
      transpose({to.data(), 50}, {from.data(), 40}, rows, columns);
      add_transpose({sum.data(), 50}, {from.data(), 40}, rows, columns);
      bool right = true;
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t at = 0; at < 50; ++at) {
          const double expected = at < columns ? from[at * 40 + row] : 3;
          right = right && to[row * 50 + at] == expected && sum[row * 50 + at] == (at < columns ? expected + 3 : 3);
        }
      EXPECT(right);
    }
}

RANKED_TEST(matrices_are_transposed_across_every_grid, 1, 2, 4) {
  for (int ranks = 1; ranks <= world.size; ++ranks) {
    MPI_Comm comm;
    MPI_Comm_split(world.comm, world.rank < ranks, world.rank, &comm);
    if (world.rank < ranks)
      for (int rows = 1; rows <= ranks; ++rows)
        for (const std::int64_t order : {1, 5, 37, 96})
          for (const std::int64_t block : {1, 3, 16, 40})
            for (const std::int64_t buffer_bytes : {1, 20'000})
              if (ranks % rows == 0)
                EXPECT(wrong_elements({order, block, {rows, ranks / rows}, world.rank}, comm, buffer_bytes) == 0);
    MPI_Comm_free(&comm);
  }
}

// On grids with more ranks than the launch has: sent and expected elements must match, and the whole matrix must move.
RANKED_TEST(all_elements_move_once_on_large_grids, 1) {
  for (const GridShape grid : {GridShape{3, 4}, GridShape{4, 6}, GridShape{6, 4}, GridShape{5, 5}, GridShape{2, 9}}) {
    const int ranks = grid.rows * grid.columns;
    std::int64_t moved = 0;
    for (int sender = 0; sender < ranks; ++sender)
      for (int receiver = 0; receiver < ranks; ++receiver) {
        const Transposition::Flow flow = Transposition::flow({101, 4, grid, sender}, sender, receiver, 100);
        const bool partners =
            (sender / grid.columns - receiver % grid.columns) % std::gcd(grid.rows, grid.columns) == 0 &&
            (sender % grid.columns - receiver / grid.columns) % std::gcd(grid.rows, grid.columns) == 0;
        if (!partners) EXPECT(flow.pieces.empty());
        for (const Transposition::Piece& piece : flow.pieces) moved += piece.rows * flow.all_columns;
        EXPECT(flow.most_elements <= std::max<std::int64_t>(100, flow.all_columns));
      }
    EXPECT(moved == 101 * 101);
  }
}
