// HPCCG: distribution of points, the matrix compared with its definition, and its storage format with other matrices.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <vector>

#include "bench/app/hpccg_domain.hpp"
#include "bench/app/run_matrix.hpp"
#include "ranked_test.hpp"
#include "support/random.hpp"

using namespace kiviat;
using namespace kiviat::app;

namespace {

HugePages allocate(std::size_t bytes) { return HugePages(bytes); }

using Elements = std::map<std::pair<std::int64_t, std::int64_t>, double>;

// Matrix by the definition: all pairs of points at most one apart along each side.
Elements definition(std::int64_t nx, std::int64_t ny, std::int64_t nz) {
  Elements elements;
  const std::int64_t points = nx * ny * nz;
  for (std::int64_t i = 0; i < points; ++i)
    for (std::int64_t j = 0; j < points; ++j) {
      const std::int64_t x = i % nx - j % nx, y = i / nx % ny - j / nx % ny, z = i / nx / ny - j / nx / ny;
      if (std::max({std::abs(x), std::abs(y), std::abs(z)}) <= 1) elements[{i, j}] = i == j ? 27 : -1;
    }
  return elements;
}

// The elements of all ranks in global numbering; `once` becomes false if an element occurs twice.
Elements gathered(const std::vector<HpccgDomain>& parts, bool& once) {
  Elements elements;
  for (const HpccgDomain& part : parts) {
    const std::int64_t first = part.first_z * part.plane();
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < part.rows(); ++i)
      part.each_element(i, [&](std::int64_t column, double value) {
        const std::pair at(first + i, first - part.plane() + column);
        once = once && column >= 0 && column < part.columns() && elements.emplace(at, value).second;
        ++count;
      });
    once = once && count == part.nonzeros();
  }
  return elements;
}

// Rows of an irregular matrix: each has a few random elements and a few along diagonals.
struct Irregular {
  std::int64_t rows, columns;
  template <class Add>
  void operator()(std::int64_t row, Add add) const {
    std::map<std::int64_t, double> elements;
    const auto random = [&](std::uint64_t k) { return random_at(7, static_cast<std::uint64_t>(row) * 100 + k); };
    for (std::uint64_t k = 0; k < random(99) % 6; ++k)
      elements[static_cast<std::int64_t>(random(k) % static_cast<std::uint64_t>(columns))] = centred(random(k + 20));
    for (const std::int64_t away : {-1, 0, 3})
      if (random(40) % 4 && row + away >= 0 && row + away < columns)
        elements[row + away] = centred(random(51 + static_cast<std::uint64_t>(away)));
    for (const auto& [column, value] : elements) add(column, value);
  }
};

}  // namespace

RANKED_TEST(ranks_together_have_the_matrix_of_the_definition_once, 1) {
  const std::int64_t sizes[][3] = {{4, 3, 7}, {1, 1, 9}, {2, 5, 8}, {3, 1, 7}};
  for (const auto& [nx, ny, nz] : sizes)
    for (const int ranks : {1, 2, 3, 4, 7}) {
      std::vector<HpccgDomain> weak, strong;
      for (int rank = 0; rank < ranks; ++rank)
        weak.push_back(HpccgDomain::weak(nx, ny, 2, ranks, rank)),
            strong.push_back(HpccgDomain::strong(nx, ny, nz, ranks, rank));
      for (const auto& parts : {weak, strong}) {
        const Elements all = definition(nx, ny, parts[0].all_z);
        bool once = true;
        EXPECT((gathered(parts, once) == all));
        EXPECT(once);
        EXPECT(parts[0].all_nonzeros() == static_cast<std::int64_t>(all.size()));
        EXPECT(parts[0].all_rows() == nx * ny * parts[0].all_z);
      }
      const auto [least, most] = std::ranges::minmax(strong, {}, &HpccgDomain::nz);
      EXPECT(most.nz - least.nz <= 1);
    }
}

RANKED_TEST(counts_are_right_beyond_32_bits, 1) {
  const HpccgDomain all = HpccgDomain::weak(1000, 1000, 1000, 4096, 4095);
  EXPECT(all.all_rows() == 4096ll * 1000 * 1000 * 1000);
  EXPECT(all.all_nonzeros() == 2998ll * 2998 * (3 * 4096000ll - 2));
}

RANKED_TEST(a_matrix_in_runs_has_the_product_of_the_matrix, 1) {
  for (const std::int64_t rows : {1, 7, 8, 9, 100, 1003}) {
    const Irregular source{rows, rows + 5};
    const RunMatrix matrix(rows, source.columns, source, allocate);
    std::vector<double> x(static_cast<std::size_t>(source.columns)),
        y(static_cast<std::size_t>(RunMatrix::padded(rows)), 99);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = centred(random_at(3, i));
    multiply(matrix, x.data(), y.data());
    double worst = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      double expected = 0;
      source(row, [&](std::int64_t column, double value) { expected += value * x[static_cast<std::size_t>(column)]; });
      worst = std::max(worst, std::abs(y[static_cast<std::size_t>(row)] - expected));
    }
    EXPECT(worst < 1e-14);
    std::size_t runs = 0, scattered = 0;
    for (const auto& slice : matrix.slices()) runs += slice.runs, scattered += slice.scattered;
    EXPECT(matrix.bytes() == 68 * runs + 96 * scattered + 8 * matrix.slices().size());
    if (rows > 50) EXPECT((runs > 0 && scattered > 0));
  }
}

// The domain is surrounded by empty planes, so all rows except a few at the ends are stored as runs.
RANKED_TEST(a_domain_has_an_eighth_of_a_column_number_for_each_element, 1) {
  for (const std::int64_t nx : {16, 21}) {
    const HpccgDomain part = HpccgDomain::weak(nx, 16, 16, 3, 1);
    const RunMatrix matrix(
        part.rows(), part.columns(), [&](std::int64_t i, auto add) { part.each_element(i, add); }, allocate);
    const double of_row = static_cast<double>(matrix.bytes()) / static_cast<double>(part.rows());
    EXPECT(of_row < 27 * 8.5 * (nx % 8 ? 1.02 : 1) + 2);
    EXPECT(of_row > 26 * 8);
  }
}
