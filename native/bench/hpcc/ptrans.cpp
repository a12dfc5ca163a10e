// PTRANS: C <- C + A^T for matrices distributed block-cyclically over a grid of ranks; all pairs of ranks exchange data
// at once.
#include "bench/hpcc/transposition.hpp"
#include "bench/hpcc/unit_roundoff.hpp"
#include "support/random.hpp"

using namespace kiviat;

namespace {

constexpr int repetitions = 5;  // after one that is not timed

class Study {
 public:
  explicit Study(Trial& t)
      : t_(t),
        memory_bytes_(memory_of(t)),
        buffer_bytes_(std::min(memory_bytes_ / 16, most_buffer_bytes)),
        matrix_(matrix_of()),
        transposition_(t.comm(), matrix_, buffer_bytes_),
        pages_(pages_of(
            t, static_cast<std::size_t>(2 * matrix_.elements() + transposition_.buffer_elements()) * sizeof(double))),
        a_(pages_.as<double>()),
        c_(a_ + matrix_.elements()),
        buffers_(c_ + matrix_.elements()) {}

  void operator()() {
    if (host::carries_payload()) fill();
    double best_s = INFINITY, worst_s = 0;
    const int times = t_.deterministic() ? 1 : repetitions + 1;
    for (int time = 0; time < times; ++time) {
      const double seconds = t_.measured("ptrans", [&] { transposition_(c_, a_, buffers_); });
      if (time > 0 || t_.deterministic()) best_s = std::min(best_s, seconds), worst_s = std::max(worst_s, seconds);
      t_.progressed((time + 1.0) / times);
    }
    const double order = static_cast<double>(matrix_.order);
    t_.report("rate", sizeof(double) * order * order / worst_s);
    t_.report("rate_best", sizeof(double) * order * order / best_s);
    t_.number("order", matrix_.order);
    t_.note("matrix", "order " + std::to_string(matrix_.order) + ", blocks of " + std::to_string(matrix_.block));
    t_.note("grid", std::to_string(matrix_.grid.rows) + " x " + std::to_string(matrix_.grid.columns));
    check(times);
  }

 private:
  static constexpr std::int64_t most_buffer_bytes = 16 << 20, default_block = 128;

  BlockMatrix matrix_of() const {
    const GridShape grid = grid_shape(t_);
    const std::int64_t given_block = integer_or(t_, "nb", 0);
    const std::int64_t given_order = integer_or(t_, "n", 0);
    const double elements = static_cast<double>(memory_bytes_ - buffer_bytes_) / (2 * sizeof(double));
    const auto most_order = static_cast<std::int64_t>(std::sqrt(elements * t_.ranks()));
    BlockMatrix matrix{given_order ? given_order : most_order, given_block, grid, t_.rank()};
    const auto choose_block = [&] {
      const std::int64_t each = matrix.order / std::max(grid.rows, grid.columns);
      if (!given_block) matrix.block = std::clamp<std::int64_t>(each, 1, default_block);
    };
    choose_block();
    const double bytes = 2 * sizeof(double) * t_.worst(static_cast<double>(matrix.elements()));
    if (given_order) refuse_more_than_available(t_, "n=" + std::to_string(given_order), bytes);
    // Block-cyclic distribution gives some ranks more elements, and columns are padded, so the order is reduced until
    // all fit.
    while (!given_order && matrix.order > 1 && t_.worst(static_cast<double>(matrix.elements())) > elements) {
      matrix.order = std::min(matrix.order - 1, static_cast<std::int64_t>(static_cast<double>(matrix.order) * 0.998));
      choose_block();
    }
    return matrix;
  }

  // Initial element of A or C; independent of the number of ranks.
  double initial(std::uint64_t of, std::int64_t row, std::int64_t column) const {
    return centred(random_at(t_.seed() + of, static_cast<std::uint64_t>(column * matrix_.order + row)));
  }
  double initial_a(std::int64_t row, std::int64_t column) const { return initial(0, row, column); }
  double initial_c(std::int64_t row, std::int64_t column) const { return initial(0x7ca5, row, column); }

  template <class Do>
  void for_elements(Do what) const {
    const Cyclic rows = matrix_.rows(), columns = matrix_.columns();
    const std::int64_t height = rows.size(), width = columns.size();
    for (std::int64_t j = 0; j < width; ++j)
      for (std::int64_t i = 0; i < height; ++i)
        what(rows.global(i), columns.global(j), static_cast<std::size_t>(j * matrix_.stride() + i));
  }

  void fill() {
    for_elements([&](std::int64_t row, std::int64_t column, std::size_t at) {
      a_[at] = initial_a(row, column), c_[at] = initial_c(row, column);
    });
  }

  // The sum of two numbers is rounded equally everywhere, so results must be bitwise equal; the residual is the largest
  // deviation.
  void check(int times) {
    if (!host::carries_payload()) return static_cast<void>(t_.confirm(true, ""));
    std::int64_t wrong = 0;
    double most_off = 0, most = 0;
    for_elements([&](std::int64_t row, std::int64_t column, std::size_t at) {
      double expected = initial_c(row, column);
      for (int time = 0; time < times; ++time) expected += initial_a(column, row);
      const double off = std::abs(c_[at] - expected);
      wrong += !(off == 0);
      most_off = std::max(most_off, std::isnan(off) ? INFINITY : off), most = std::max(most, std::abs(expected));
    });
    const double residual = t_.worst(most_off) / (unit_roundoff * t_.worst(most) * static_cast<double>(matrix_.order));
    t_.report("residual", residual);
    t_.confirm(wrong == 0, std::to_string(wrong) + " elements of C + A^T are wrong");
  }

  Trial& t_;
  std::int64_t memory_bytes_, buffer_bytes_;
  BlockMatrix matrix_;
  Transposition transposition_;
  HugePages pages_;
  double *a_, *c_, *buffers_;
};

}  // namespace

static void ptrans(Trial& t) {
  Study study(t);
  t.study(std::ref(study));
}

BENCHMARK(ptrans,
          .summary = "transposition of a matrix that is distributed over a grid of ranks, added to another matrix",
          .source = "HPC Challenge, PTRANS, after PARKBENCH; "
                    "Luszczek et al., Introduction to the HPC Challenge Benchmark Suite, 2005",
          .aka = {"PTRANS"},
          .sampling = Sampling::study,
          .ranks = at_least(1),
          .sized = false,
          .buffers = false,
          .reports = {{"rate", "B/s", "higher",
                       "8 n^2 / time over all ranks; slowest of five repetitions, as in HPC Challenge 1.5"},
                      {"rate_best", "B/s", "higher", "8 n^2 / time over all ranks; fastest of five repetitions"},
                      {"residual", "1", "lower", "greatest error over greatest element, n and epsilon; HPC Challenge allows 16, "
                                                 "here no element may be wrong", true}},
          .nominal_s = 30,
          .axes = {memory_axis(),
                   {"n", "auto", "", "order of the matrices; auto: from memory", {"auto", Bounds{1, 10'000'000}}},
                   {"nb", "auto", "", "order of the blocks; auto: 128, less for small matrices", {"auto", Bounds{1, 1 << 20}}},
                   grid_rows_axis(),
                   grid_columns_axis()},
          .problem = ProblemSize{.counts = "order", .words = "matrix order {}", .power = 2});
