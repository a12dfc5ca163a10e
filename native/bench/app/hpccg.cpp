// HPCCG: conjugate gradients without preconditioner for the sparse matrix of a 27-point operator on a tall box of
// points. In every step each rank exchanges a plane with the ranks below and above, and all ranks compute two global
// sums.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/app/hpccg_domain.hpp"
#include "bench/app/run_matrix.hpp"
#include "bench/memory.hpp"
#include "bench/npb/outcome.hpp"
#include "kernels/dot.hpp"
#include "kernels/target_clones.hpp"
#include "platform/compute.hpp"
#include "support/random.hpp"

using namespace kiviat;
using namespace kiviat::app;

namespace {

// w = x + beta y; w may be x or y.
KIVIAT_EVERY_WIDTH void add_scaled(const double* x, double beta, const double* y, double* w, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) w[i] = x[i] + beta * y[i];
}

constexpr Bounds points_of_side{1, 1 << 20};

HpccgDomain domain_of(const Trial& t, int rank) {
  const std::int64_t nx = t.integer("nx"), ny = t.integer("ny"), nz = t.integer("nz");
  if (t.text("scaling") == "weak") return HpccgDomain::weak(nx, ny, nz, t.ranks(), rank);
  if (nz < t.ranks())
    throw Skip("scaling=strong: nz=" + std::to_string(nz) + " planes are fewer than the " + std::to_string(t.ranks()) +
               " ranks; give at least one plane per rank");
  return HpccgDomain::strong(nx, ny, nz, t.ranks(), rank);
}

// An inner product: the contribution of this rank, and the sum over all ranks.
struct Sum {
  double mine, all;
};

class Program {
 public:
  static PhaseNames phase_names() { return {{"waxpby", "ddot", "sparsemv"}, {"halo", "allreduce"}}; }
  explicit Program(Trial& t)
      : t_(t),
        steps_(t.count_of("steps")),
        domain_(domain_of(t, t.rank())),
        rows_(domain_.rows()),
        plane_(domain_.plane()),
        computed_(host::carries_payload()) {
    const std::string size = "nx=" + t.text("nx") + " ny=" + t.text("ny") + " nz=" + t.text("nz");
    if (const std::int64_t columns = domain_of(t, 0).columns();
        columns > RunMatrix::most_columns)  // the first rank has the most columns
      throw UsageError(size + ": " + std::to_string(columns) + " matrix columns on a rank exceed the limit of " +
                       std::to_string(RunMatrix::most_columns) + "; give a smaller grid");
    Trial::fitting(8 * plane_, "B of a plane");
    const std::size_t vector = static_cast<std::size_t>(RunMatrix::padded(rows_));
    const std::size_t columns = static_cast<std::size_t>(RunMatrix::padded(domain_.columns()));
    vector_bytes_ = (4 * vector + columns) * sizeof(double);
    refuse_more_than_available(t, size, static_cast<double>(vector_bytes_) + matrix_bytes());
    vectors_ = pages_of(t, vector_bytes_);
    double* next = vectors_.as<double>();
    for (double** const one : {&b_, &x_, &r_, &q_}) *one = next, next += vector;
    columns_ = next, p_ = columns_ + plane_;
    if (computed_) assemble();
  }

  void operator()() {
    if (computed_) {
      check_counts();
      check_product();
      begin();
      solve(std::min(steps_, 2));  // warm-up: memory and code are loaded, connections exist
      begin();
    }
    phases_.reset();
    const double time_s = t_.measured("hpccg", [&] { solve(steps_); });
    tell_rates(time_s, phases_.tell(t_));
    tell_size();
    if (computed_) {
      check_solution();
      begin();
      check_steps();
      check_product();
    }
  }

 private:
  enum Phase { waxpby, ddot, sparsemv, halo, allreduce };

  void assemble() {
    const auto row = [&](std::int64_t i, auto add) { domain_.each_element(i, add); };
    matrix_.emplace(rows_, domain_.columns(), row, [&](std::size_t bytes) { return pages_of(t_, bytes); });
    for (std::int64_t i = 0; i < rows_; ++i) {
      std::int64_t elements = 0;
      domain_.each_element(i, [&](std::int64_t, double) { ++elements; });
      b_[i] = HpccgDomain::diagonal - static_cast<double>(elements - 1);  // A times a vector of ones
      nonzeros_ += elements;
    }
  }

  // --- the method: M. Hestenes and E. Stiefel, J. Res. NBS 49(6), 1952, section 3 ------------------------------

  // Neighbours' planes are NaN until received: initial values are 0, so that a missing message would go unnoticed.
  void begin() {
    std::fill_n(x_, rows_, 0.0);
    if (domain_.has_below()) std::fill_n(columns_, plane_, NAN);
    if (domain_.has_above()) std::fill_n(p_ + rows_, plane_, NAN);
  }

  // Solves from x = 0, in HPCCG's order of operations: r·r is summed only when it is needed.
  void solve(int steps) {
    sums_.clear(), done_ = 0;
    compute(waxpby, {.flops = 0, .bytes = 24}, [&] { std::copy_n(x_, rows_, p_); });
    multiply_by_matrix();
    compute(waxpby, {.flops = 2, .bytes = 32}, [&] { add_scaled(b_, -1, q_, r_, rows_); });
    double rr = 0;
    for (; done_ < steps; ++done_) {
      const double before = rr;
      rr = product(r_, r_, 8);
      if (computed_ && !(rr > 0)) break;  // converged to the last digit, or corrupted
      if (done_ == 0)
        compute(waxpby, {.flops = 0, .bytes = 24}, [&] { std::copy_n(r_, rows_, p_); });
      else
        compute(waxpby, {.flops = 2, .bytes = 24}, [&] { add_scaled(r_, rr / before, p_, p_, rows_); });
      multiply_by_matrix();
      const double curvature = product(p_, q_, 16), alpha = rr / curvature;
      compute(waxpby, {.flops = 2, .bytes = 24}, [&] { add_scaled(x_, alpha, p_, x_, rows_); });
      compute(waxpby, {.flops = 2, .bytes = 24}, [&] { add_scaled(r_, -alpha, q_, r_, rows_); });
    }
  }

  // q = A p.
  void multiply_by_matrix() {
    phases_(halo, [&] { exchange_planes(); });
    phases_(sparsemv, [&] {
      // Cost: reads the matrix and the vector once; written memory is fetched first.
      work::run({.flops = 2 * static_cast<double>(domain_.nonzeros()),
                 .bytes = matrix_bytes() + 8 * static_cast<double>(domain_.columns() + 2 * rows_)},
                [&] { multiply(*matrix_, columns_, q_); });
    });
  }

  // Exchanges the planes of p that border this rank's part. Sends bytes, so that fault injection can tell them from
  // messages of the harness.
  void exchange_planes() {
    enum Tag { downwards, upwards };
    const int bytes = static_cast<int>(8 * plane_), below = t_.rank() - 1, above = t_.rank() + 1;
    MPI_Request requests[4];
    int count = 0;
    if (domain_.has_below()) MPI_Irecv(columns_, bytes, MPI_BYTE, below, upwards, t_.comm(), &requests[count++]);
    if (domain_.has_above()) MPI_Irecv(p_ + rows_, bytes, MPI_BYTE, above, downwards, t_.comm(), &requests[count++]);
    if (domain_.has_below()) MPI_Isend(p_, bytes, MPI_BYTE, below, downwards, t_.comm(), &requests[count++]);
    if (domain_.has_above())
      MPI_Isend(p_ + rows_ - plane_, bytes, MPI_BYTE, above, upwards, t_.comm(), &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  }

  double product(const double* one, const double* other, double bytes) {
    double mine = 0, all = 0;
    compute(ddot, {.flops = 2, .bytes = bytes}, [&] { mine = dot(one, other, rows_); });
    if (known_)
      all = (*known_)[sums_.size()].all;
    else
      phases_(allreduce, [&] { MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, t_.comm()); });
    sums_.push_back({mine, all});
    return all;
  }

  // `flops` and `bytes` are per row.
  template <class Kernel>
  void compute(Phase phase, const Cost& cost, const Kernel& kernel) {
    const double rows = static_cast<double>(rows_);
    phases_(phase, [&] { work::run({.flops = cost.flops * rows, .bytes = cost.bytes * rows}, kernel); });
  }

  // --- results -----------------------------------------------------------------------------------------------

  // Reports the rate of each kernel: operations of all ranks divided by the kernel's time in `seconds`, the mean over
  // ranks.
  void tell_rates(double time_s, const std::vector<double>& seconds) const {
    const double rows = static_cast<double>(domain_.all_rows()), nonzeros = static_cast<double>(domain_.all_nonzeros());
    const double of_dots = 4 * rows * done_, of_sums = 6 * rows * done_, of_products = 2 * nonzeros * done_;
    t_.report("rate", (of_dots + of_sums + of_products) / time_s);
    t_.report("rate_27", (of_dots + of_sums + 2 * 27 * rows * done_) / time_s);
    t_.report("time", time_s);
    t_.report("waxpby", of_sums / seconds[waxpby]);
    t_.report("ddot", of_dots / (seconds[ddot] + seconds[allreduce]));
    t_.report("sparsemv", of_products / seconds[sparsemv]);
    if (t_.ranks() > 1) t_.report("halo_time", seconds[halo]);
    t_.report("allreduce_time", seconds[allreduce]);
  }

  void tell_size() const {
    const std::int64_t rows = domain_.all_rows(), nonzeros = domain_.all_nonzeros();
    t_.number("rows", rows);
    t_.note("rows", std::to_string(rows));
    t_.note("nonzeros", std::to_string(nonzeros));
    t_.note("steps", std::to_string(done_));
    t_.note("flops", std::to_string(done_ * (10 * rows + 2 * nonzeros)));
    if (!computed_) return;
    char memory[120];
    const double of_row = 1.0 / static_cast<double>(rows_);
    std::snprintf(memory, sizeof memory, "%.1f B for each row: matrix %.1f, vectors %.1f (rank 0)",
                  (static_cast<double>(matrix_->bytes()) + static_cast<double>(vector_bytes_)) * of_row,
                  static_cast<double>(matrix_->bytes()) * of_row, static_cast<double>(vector_bytes_) * of_row);
    t_.note("memory", memory);
  }

  // --- verification ------------------------------------------------------------------------------------------

  // The rows and nonzeros of all ranks must add up to the closed form of the whole matrix.
  void check_counts() {
    double mine[3] = {static_cast<double>(rows_), static_cast<double>(nonzeros_), 0}, all[3];
    for (std::int64_t i = 0; i < rows_; ++i) mine[2] += b_[i];
    MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, t_.comm());
    const double rows = static_cast<double>(domain_.all_rows()), nonzeros = static_cast<double>(domain_.all_nonzeros());
    const double expected[3] = {rows, nonzeros, 28 * rows - nonzeros};
    const char* const what[3] = {"rows", "nonzeros", "the sum of b"};
    std::string wrong;
    for (int i = 0; i < 3 && wrong.empty(); ++i)
      if (all[i] != expected[i]) wrong = std::string(what[i]) + differs(all[i], expected[i]);
    t_.confirm(wrong.empty(), wrong);
  }

  // Checks a matrix-vector product of small integers that depend on the row; it is exact in any order of summation. It
  // detects any wrong element, column or plane, unlike the solution, which is the same everywhere.
  void check_product() {
    const std::int64_t below = domain_.first_z * plane_ - plane_;  // global row of column 0
    const auto number = [&](std::int64_t column) {
      return static_cast<double>(random_at(t_.seed(), static_cast<std::uint64_t>(below + column)) >> 44);
    };
    for (std::int64_t i = 0; i < rows_; ++i) p_[i] = number(i + plane_);
    multiply_by_matrix();
    std::string wrong;
    for (std::int64_t i = 0; i < rows_ && wrong.empty(); ++i) {
      double expected = 0;
      domain_.each_element(i, [&](std::int64_t column, double value) { expected += value * number(column); });
      if (q_[i] != expected)
        wrong =
            "the product of matrix and vector in row " + std::to_string(below + plane_ + i) + differs(q_[i], expected);
    }
    t_.confirm(wrong.empty(), wrong);
  }

  // A message lost in a late step does not change a converged solution. So all steps are repeated with the recorded
  // global sums: each rank's contributions must be bitwise equal, and the global sums must equal the sum of the
  // contributions.
  void check_steps() {
    const std::vector<Sum> were = std::exchange(sums_, {});
    std::vector<double> mine, of_all(2 * were.size());
    for (const Sum& sum : were) mine.insert(mine.end(), {sum.mine, std::abs(sum.mine)});
    MPI_Allreduce(mine.data(), of_all.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_SUM, t_.comm());
    known_ = &were;
    solve(steps_);
    known_ = nullptr;
    std::string wrong;
    for (std::size_t i = 0; i < were.size() && wrong.empty(); ++i) {
      if (sums_[i].mine != were[i].mine)
        wrong = name_of_sum(i) + differs(were[i].mine, sums_[i].mine) + " on this rank";
      else if (!(std::abs(were[i].all - of_all[2 * i]) <= rounding * of_all[2 * i + 1]))
        wrong = name_of_sum(i) + differs(were[i].all, of_all[2 * i]) + " over all ranks";
    }
    t_.confirm(wrong.empty(), wrong);
  }
  static std::string name_of_sum(std::size_t number) {
    return (number % 2 == 0 ? "r·r in step " : "p·Ap in step ") + std::to_string(number / 2 + 1);
  }

  // The solution must be 1 everywhere, as accurately as the number of steps guarantees: |x - 1| in the norm of A
  // decreases per step by at least (sqrt(53) - 1) / (sqrt(53) + 1), up to a factor of 2 (Y. Saad, Iterative Methods for
  // Sparse Linear Systems, 2003, section 6.11.3). All eigenvalues are between 1 and 53, because a row has 27 on the
  // diagonal and up to 26 times -1. The recomputed residual must equal the iterated one.
  void check_solution() {
    double furthest = 0;
    std::copy_n(x_, rows_, p_);
    multiply_by_matrix();
    double mine[3] = {}, all[3];  // squared norms of r, of b, of b - A x - r
    for (std::int64_t i = 0; i < rows_; ++i) {
      const double off = std::abs(x_[i] - 1), gap = b_[i] - q_[i] - r_[i];
      furthest = std::isnan(off) ? INFINITY : std::max(furthest, off);
      mine[0] += r_[i] * r_[i], mine[1] += b_[i] * b_[i], mine[2] += gap * gap;
    }
    MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, t_.comm());
    const double sum_of_b = 28 * static_cast<double>(domain_.all_rows()) - static_cast<double>(domain_.all_nonzeros());
    const double step = (std::sqrt(53) - 1) / (std::sqrt(53) + 1);
    const double most = 2 * std::pow(step, done_) * std::sqrt(sum_of_b) + rounding;
    std::string wrong;
    char words[160];
    if (!(furthest <= most)) {
      std::snprintf(words, sizeof words, "the solution is off by %.3g after %d steps, not %.3g at most", furthest,
                    done_, most);
      wrong = words;
    } else if (done_ < steps_ && !(all[0] <= square(rounding) * all[1])) {
      std::snprintf(words, sizeof words, "the iteration ended after %d steps with a residual of %.3g", done_,
                    std::sqrt(all[0]));
      wrong = words;
    } else if (!(all[2] <= square(100 * rounding) * all[1])) {
      std::snprintf(words, sizeof words, "the recomputed residual deviates by %.3g, where |b| is %.3g",
                    std::sqrt(all[2]), std::sqrt(all[1]));
      wrong = words;
    }
    double error;
    MPI_Allreduce(&furthest, &error, 1, MPI_DOUBLE, MPI_MAX, t_.comm());
    t_.report("error", error);
    tell_residuals(std::sqrt(all[0]));
    t_.confirm(wrong.empty(), wrong);
  }

  // Tabulates the norms before the first step and after each.
  void tell_residuals(double last) const {
    t_.report("residual", last);
    const std::size_t steps = sums_.size() / 2;
    std::vector<std::string> names;
    for (std::size_t step = 0; step <= steps; ++step) names.push_back(std::to_string(step));
    Table& table = t_.table("residual", "1", "lower", {{"step", names}});
    for (std::size_t step = 0; step < steps; ++step) table.at({step}) = std::sqrt(sums_[2 * step].all);
    table.at({steps}) = last;
  }

  static double square(double value) { return value * value; }
  static std::string differs(double found, double expected) {
    char numbers[80];
    std::snprintf(numbers, sizeof numbers, " is %.17g, not %.17g", found, expected);
    return numbers;
  }

  // Estimated bytes of the matrix on this rank: one column number per eight elements, lines along x padded.
  double matrix_bytes() const {
    const double filled_up =
        static_cast<double>(3 * RunMatrix::padded(domain_.nx)) / static_cast<double>(3 * domain_.nx - 2);
    return 8.5 * filled_up * static_cast<double>(domain_.nonzeros()) + static_cast<double>(rows_);
  }

  static constexpr double rounding = 1e-12;

  Trial& t_;
  int steps_, done_ = 0;
  HpccgDomain domain_;
  std::int64_t rows_, plane_, nonzeros_ = 0;
  bool computed_;
  std::size_t vector_bytes_;
  HugePages vectors_;
  double *b_, *x_, *r_, *q_;  // right-hand side, solution, residual, A p
  double *columns_,
      *p_;  // search direction: start of all columns, including the plane below, and of this rank's own
  std::optional<RunMatrix> matrix_;
  std::vector<Sum> sums_;                    // r·r and p·Ap alternately
  const std::vector<Sum>* known_ = nullptr;  // recorded sums to use instead of computing them; null otherwise
  npb::Phases phases_{phase_names()};
};

}  // namespace

static void hpccg(Trial& t) {
  Program program(t);
  t.study(std::ref(program));
}

BENCHMARK(hpccg,
          .summary = "HPCCG: conjugate gradients for a 27-point operator; planes to two neighbours, global sums",
          .source = "Mantevo HPCCG; M. Heroux et al., Improving performance via mini-applications, SAND2009-5574",
          .aka = {"HPCCG"},
          .sampling = Sampling::study,
          .ranks = at_least(1),
          .sized = false,
          .buffers = false,
          .reports = {{"rate", "flop/s", "higher", "operations of all ranks per second, with the actual number of nonzeros"},
                      {"rate_27", "flop/s", "higher", "the same rate with 27 nonzeros counted in every row, as HPCCG publishes it"},
                      {"time", "s", "lower", "time from the initial residual to the last step, on the slowest rank"},
                      {"waxpby", "flop/s", "higher", "rate of vector sums alone, over all ranks"},
                      {"ddot", "flop/s", "higher", "rate of inner products alone, with their allreduce"},
                      {"sparsemv", "flop/s", "higher", "rate of matrix-vector products alone, without the halo exchange"},
                      {"halo_time", "s", "lower", "time of the halo exchange, mean over ranks"},
                      {"allreduce_time", "s", "lower", "time of allreduce, mean over ranks"},
                      {"residual", "1", "lower", "norm of the residual after the last step"},
                      {"error", "1", "lower", "largest deviation of the solution from the exact one, which is 1", true}},
          .nominal_s = 4,
          .axes = {{"nx", "64", "points", "along x", points_of_side},
                   {"ny", "64", "points", "along y", points_of_side},
                   {"nz", "64", "points", "grid points along z: per rank, or in total with scaling=strong", points_of_side},
                   {"scaling", "weak", "", "weak: nx x ny x nz per rank; strong: nx x ny x nz in total", {"weak", "strong"}},
                   {"steps", "149", "steps", "number of iterations; HPCCG executes 149 with its default limit of 150", Bounds{1, 10'000}}},
          .section = "applications",
          .place = 1,
          .problem = ProblemSize{.counts = "rows", .words = "{,} rows"},
          .phases = Program::phase_names());
