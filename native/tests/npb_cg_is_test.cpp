// CG: process grid and its exchange partners, the matrix in blocks and slices. IS: ownership of buckets.
#include <cmath>
#include <map>

#include "bench/npb/bucket_owners.hpp"
#include "bench/npb/matrix_grid.hpp"
#include "bench/npb/sliced_matrix.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::npb;

namespace {

HugePages allocate(std::size_t bytes) { return HugePages(bytes); }

using Elements = std::map<std::pair<std::int64_t, std::int64_t>, double>;

Elements elements_of(const RandomMatrix& matrix) {
  const Range rows = matrix.rows(), columns = matrix.columns();
  Elements elements;
  matrix.each_row([&](std::int64_t row, const auto& column, const auto& value) {
    for (std::size_t i = 0; i < column.size(); ++i) elements[{rows.begin + row, columns.begin + column[i]}] = value[i];
  });
  return elements;
}

}  // namespace

RANKED_TEST(blocks_of_a_grid_cover_the_matrix_once, 1) {
  for (int ranks = 1; ranks <= 64; ranks *= 2) {
    std::vector<int> covered(60 * 60);
    for (int rank = 0; rank < ranks; ++rank) {
      const MatrixGrid grid(60, ranks, rank);
      EXPECT(grid.rows() * grid.columns() == ranks);
      for (std::int64_t row = grid.row_block().begin; row < grid.row_block().end; ++row)
        for (std::int64_t column = grid.column_block().begin; column < grid.column_block().end; ++column)
          ++covered[static_cast<std::size_t>(60 * row + column)];
    }
    EXPECT(std::ranges::count(covered, 1) == 60 * 60);
  }
}

// Partners that sum their parts keep different halves or the same rows; partners across the diagonal have the data that
// the other one needs.
RANKED_TEST(partners_in_a_grid_fit_each_other, 1) {
  for (int ranks = 1; ranks <= 64; ranks *= 2)
    for (int rank = 0; rank < ranks; ++rank) {
      const MatrixGrid grid(61, ranks, rank);
      const auto partners = grid.sum_partners();
      EXPECT((1 << partners.size()) == grid.columns());
      for (std::size_t i = 0; i < partners.size(); ++i) {
        const MatrixGrid other(61, ranks, partners[i]);
        EXPECT(other.sum_partners()[i] == rank);
        EXPECT((other.row_block() == grid.row_block()));
        if (i > 0 || grid.square())
          EXPECT((other.kept() == grid.kept()));
        else
          EXPECT((grid.kept().end == other.kept().begin || other.kept().end == grid.kept().begin));
      }
      const MatrixGrid across(61, ranks, grid.transposed());
      EXPECT(across.transposed() == rank);
      EXPECT((across.kept() == grid.column_block()));
    }
}

RANKED_TEST(the_random_matrix_is_the_sum_that_defines_it, 1) {
  constexpr std::int64_t order = 100;
  const Elements all = elements_of(RandomMatrix(order, 5, 10, {0, order}, {0, order}));
  double trace = 0;
  bool symmetric = true;
  for (const auto& [at, value] : all) {
    symmetric = symmetric && std::abs(all.at({at.second, at.first}) - value) < 1e-15;
    if (at.first == at.second) trace += value;
  }
  EXPECT(symmetric);
  // Row 0 of the definition: the second random number belongs to vector 0, whose weight is 1 and whose element 0 is
  // 1/2.
  Lcg random(Lcg::usual_seed(), 1);
  const double value = random();
  const auto column = static_cast<std::int64_t>(128 * random());
  EXPECT(column > 0);
  EXPECT(all.contains({0, column}));
  EXPECT((trace > order * (0.1 - 10) + 0.25 && trace < order * (0.1 - 10) + order * (0.25 + 5)));
  EXPECT(value > 0);
  // The blocks together must be the whole matrix.
  Elements joined;
  for (const Range rows : {Range{0, 37}, Range{37, 100}})
    for (const Range columns : {Range{0, 64}, Range{64, 100}})
      joined.merge(elements_of(RandomMatrix(order, 5, 10, rows, columns)));
  EXPECT((joined == all));
}

RANKED_TEST(slices_have_all_elements_of_the_matrix, 1) {
  constexpr std::int64_t order = 5003;
  const Range rows{17, 2222}, columns{100, 5000};
  const RandomMatrix matrix(order, 3, 1, rows, columns);
  Elements left = elements_of(matrix);
  const SlicedMatrix sliced(matrix, allocate);
  std::size_t at = 0;
  bool right = true;
  for (const SlicedMatrix::Slice& slice : sliced.slices())
    for (std::int32_t k = 0; k < slice.length; ++k, ++at)
      for (std::size_t lane = 0; lane < SlicedMatrix::height; ++lane) {
        const double value = sliced.values()[at][lane];
        if (value == 0) continue;
        const std::int64_t column = columns.begin + slice.first_column + sliced.columns()[at][lane];
        const auto found = left.find({rows.begin + slice.row[lane], column});
        right = right && found != left.end() && found->second == value;
        if (found != left.end()) left.erase(found);
      }
  EXPECT(right);
  EXPECT(left.empty());
}

RANKED_TEST(buckets_are_shared_out_in_order, 1) {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    std::vector<std::int32_t> keys(64);
    for (int b = 0; b < 64; ++b) keys[static_cast<std::size_t>(b)] = (b * (63 - b)) % 97;
    std::int64_t all = 0;
    for (const std::int32_t in_bucket : keys) all += in_bucket;
    const std::int64_t share = (all + ranks - 1) / ranks;
    const std::vector<int> owners = bucket_owners(keys, share, ranks);
    EXPECT(std::ranges::is_sorted(owners));
    std::vector<std::int64_t> load(static_cast<std::size_t>(ranks));
    for (std::size_t b = 0; b < keys.size(); ++b) load[static_cast<std::size_t>(owners[b])] += keys[b];
    EXPECT(std::ranges::max(load) <= share + std::ranges::max(keys));
  }
  // Corrupted totals must not yield owners that do not exist, or the same owner twice.
  const std::vector<std::int32_t> garbled = {50, 1 << 30, -(1 << 30), -100, 7};
  const std::vector<int> owners = bucket_owners(garbled, 4, 20);
  EXPECT(std::ranges::is_sorted(owners));
  EXPECT(std::ranges::max(owners) == 19);
}
