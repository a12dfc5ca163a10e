// CG, conjugate gradient: smallest eigenvalue of an unstructured sparse matrix by inverse iteration. Each iteration
// solves A z = x approximately by 25 steps of conjugate gradients, with 26 matrix-vector products.
#include <cmath>
#include <numeric>
#include <optional>
#include <span>

#include "bench/memory.hpp"
#include "bench/npb/matrix_grid.hpp"
#include "bench/npb/outcome.hpp"
#include "bench/npb/problem_class.hpp"
#include "bench/npb/random_matrix.hpp"
#include "bench/npb/sliced_matrix.hpp"
#include "kernels/dot.hpp"
#include "kernels/target_clones.hpp"
#include "platform/compute.hpp"

using namespace kiviat;
using namespace kiviat::npb;

namespace {

struct Problem {
  std::int64_t order;
  int nonzeros, iterations;
  double shift, zeta;
};
constexpr PerClass<Problem> problems = {{{1400, 7, 15, 10, 8.5971775078648},
                                         {7000, 8, 15, 12, 10.362595087124},
                                         {14000, 11, 15, 20, 17.130235054029},
                                         {75000, 13, 75, 60, 22.712745482631},
                                         {150000, 15, 75, 110, 28.973605592845}}};
constexpr int steps = 25;

// y = A x. Prefetches the matrix one kilobyte ahead.
KIVIAT_EVERY_WIDTH void multiply(const SlicedMatrix& matrix, const double* x, double* y, std::int64_t rows) {
  std::fill_n(y, rows + 1, 0.0);
  const SlicedMatrix::Values* values = matrix.values();
  const SlicedMatrix::Columns* columns = matrix.columns();
  for (const SlicedMatrix::Slice& slice : matrix.slices()) {
    const double* const part = x + slice.first_column;
    SlicedMatrix::Values sum = {};
    for (std::int32_t k = 0; k < slice.length; ++k, ++values, ++columns) {
      __builtin_prefetch(values + 32);
      __builtin_prefetch(columns + 32);
      const SlicedMatrix::Columns at = *columns;
      const SlicedMatrix::Values gathered = {part[at[0]], part[at[1]], part[at[2]], part[at[3]]};
      sum += gathered * *values;
    }
    for (std::size_t lane = 0; lane < slice.row.size(); ++lane) y[slice.row[lane]] += sum[lane];
  }
}

// z += alpha p, r -= alpha q; returns the dot product of the new r with itself.
KIVIAT_EVERY_WIDTH double descend(double alpha, const double* p, const double* q, double* z, double* r,
                                  std::int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) {
    z[i] += alpha * p[i];
    const double rest = r[i] - alpha * q[i];
    r[i] = rest, sum += rest * rest;
  }
  return sum;
}

// p = r + beta p.
KIVIAT_EVERY_WIDTH void turn(double beta, const double* r, double* p, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) p[i] = r[i] + beta * p[i];
}

KIVIAT_EVERY_WIDTH double squared_distance(const double* a, const double* b, std::int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

KIVIAT_EVERY_WIDTH void add(const double* more, double* sum, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) sum[i] += more[i];
}

class Program {
 public:
  static PhaseNames phase_names() { return {{"matrix-vector", "vectors"}, {"sums", "exchange"}}; }
  explicit Program(Trial& t)
      : t_(t),
        problem_(of_class(t, problems)),
        grid_(problem_.order, t.ranks(), t.rank()),
        rows_(grid_.row_block()),
        count_(grid_.column_block().size()),
        partners_(grid_.sum_partners()) {
    elements_ = static_cast<double>(problem_.order) * RandomMatrix::elements_of_row(problem_.nonzeros) / t.ranks();
    // One extra element, because slices with fewer than four rows write their unused lanes there.
    const std::size_t vector = padded(count_), row_sums = padded(rows_.size() + 1);
    const std::size_t bytes = (5 * vector + 2 * row_sums) * sizeof(double);
    constexpr double filled_up = 1.1;
    refuse_more_than_available(t, "class=" + t.text("class"),
                               static_cast<double>(bytes) + filled_up * SlicedMatrix::bytes(elements_) +
                                   RandomMatrix::bytes(problem_.order, problem_.nonzeros, rows_, grid_.column_block()));
    vectors_ = pages_of(t, bytes);
    double* next = vectors_.as<double>();
    for (double** const one : {&x_, &z_, &p_, &q_, &r_}) *one = std::exchange(next, next + vector);
    partial_ = next, incoming_ = next + row_sums;
    if (host::carries_payload())
      matrix_.emplace(RandomMatrix(problem_.order, problem_.nonzeros, problem_.shift, rows_, grid_.column_block()),
                      [&](std::size_t size) { return pages_of(t, size); });
  }

  void operator()() {
    iterate(1);
    phases_.reset();
    const double time_s = t_.measured("cg", [&] { iterate(problem_.iterations); });
    const double q = problem_.nonzeros * (problem_.nonzeros + 1);
    tell_rate(t_, 2.0 * problem_.iterations * static_cast<double>(problem_.order) * (6 + q + steps * (5 + q)), time_s);
    phases_.tell(t_);
    Verification verification(1e-10);
    verification.expect("zeta", problem_.zeta, zeta_);
    verification.tell(t_);
  }

 private:
  enum Phase { matrix_vector, vectors, sums, exchange };

  static std::size_t padded(std::int64_t count) { return (static_cast<std::size_t>(count) + 7) / 8 * 8; }

  // Starts from x = 1.
  void iterate(int iterations) {
    compute(0, 8, [&] { std::fill_n(x_, count_, 1.0); });
    phases_.repeat(t_.comm(), iterations, [&](std::int64_t) {
      solve();
      double products[2] = {};
      compute(4, 24, [&] { products[0] = dot(x_, z_, count_), products[1] = dot(z_, z_, count_); });
      sum(products);
      zeta_ = problem_.shift + 1 / products[0];
      const double length = std::sqrt(products[1]);
      compute(1, 16, [&] { std::transform(z_, z_ + count_, x_, [&](double z) { return z / length; }); });
    });
  }

  // Solves A z = x approximately; RNR-94-007, figure 2.1.
  void solve() {
    double rho = 0;
    compute(2, 32, [&] {
      std::fill_n(z_, count_, 0.0), std::copy_n(x_, count_, r_), std::copy_n(x_, count_, p_);
      rho = dot(r_, r_, count_);
    });
    sum(rho);
    for (int step = 0; step < steps; ++step) {
      multiply_by(p_);
      double curvature = 0;
      compute(2, 16, [&] { curvature = dot(p_, q_, count_); });
      sum(curvature);
      const double alpha = rho / curvature, before = rho;
      compute(6, 48, [&] { rho = descend(alpha, p_, q_, z_, r_, count_); });
      sum(rho);
      compute(2, 24, [&] { turn(rho / before, r_, p_, count_); });
    }
    multiply_by(z_);
    double residual = 0;
    compute(3, 16, [&] { residual = squared_distance(x_, q_, count_); });
    sum(residual);
  }

  // q = A x, restricted to this rank's columns of the vectors. Each rank multiplies its block; ranks of a grid row sum
  // their results; ranks across the diagonal exchange them, because the result, distributed by rows, is needed
  // distributed by columns.
  void multiply_by(const double* x) {
    phases_(matrix_vector, [&] {
      // Bytes of the matrix and the input vector, read once, and of the sums, which are cleared and then written.
      const double bytes = SlicedMatrix::bytes(elements_) + 8.0 * static_cast<double>(count_ + 2 * rows_.size());
      work::run({2 * elements_, bytes}, [&] { multiply(*matrix_, x, partial_, rows_.size()); });
    });
    phases_(sums, [&] { sum_rows(); });
    phases_(exchange, [&] {
      const Range kept = grid_.kept();
      if (t_.ranks() == 1)
        q_ = partial_;
      else
        swap(grid_.transposed(), partial_ + (kept.begin - rows_.begin), kept.size(), q_, count_);
    });
  }

  void sum_rows() {
    const Range kept = grid_.kept();
    double* const keep = partial_ + (kept.begin - rows_.begin);
    bool first = true;
    for (const int partner : partners_) {
      const bool halves = std::exchange(first, false) && !grid_.square();
      const double* const out = !halves ? keep : kept.begin > rows_.begin ? partial_ : keep + kept.size();
      swap(partner, out, halves ? rows_.size() - kept.size() : kept.size(), incoming_, kept.size());
      work::run(cost(kept.size(), 1, 24), [&] { add(incoming_, keep, kept.size()); });
    }
  }

  // Sums numbers over the ranks of a row of the process grid; every rank of the row gets the result.
  void sum(std::span<double> numbers) {
    phases_(sums, [&] {
      double theirs[2];
      const auto count = static_cast<std::int64_t>(numbers.size());
      for (const int partner : partners_) {
        swap(partner, numbers.data(), count, theirs, count);
        for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += theirs[i];
      }
    });
  }
  void sum(double& number) { sum(std::span(&number, 1)); }

  // Sends bytes, so that fault injection can tell them from messages of the harness.
  void swap(int partner, const double* out, std::int64_t sent, double* in, std::int64_t received) {
    constexpr int size = sizeof(double);
    MPI_Sendrecv(out, static_cast<int>(sent) * size, MPI_BYTE, partner, 0, in, static_cast<int>(received) * size,
                 MPI_BYTE, partner, 0, t_.comm(), MPI_STATUS_IGNORE);
  }

  static Cost cost(std::int64_t count, double flops, double bytes) {
    return {flops * static_cast<double>(count), bytes * static_cast<double>(count)};
  }
  // `flops` and `bytes` are per element of a vector.
  template <class Kernel>
  void compute(double flops, double bytes, const Kernel& kernel) {
    phases_(vectors, [&] { work::run(cost(count_, flops, bytes), kernel); });
  }

  Trial& t_;
  Problem problem_;
  MatrixGrid grid_;
  Range rows_;
  std::int64_t count_;  // number of this rank's columns, and of its elements of each vector
  std::vector<int> partners_;
  double elements_;  // approximate number of matrix elements on each rank
  HugePages vectors_;
  double *x_, *z_, *p_, *q_, *r_, *partial_, *incoming_;
  std::optional<SlicedMatrix> matrix_;
  double zeta_ = 0;
  Phases phases_{phase_names()};
};

}  // namespace

static void cg(Trial& t) {
  Program program(t);
  t.study(std::ref(program));
}

BENCHMARK(cg,
          .summary = "NAS CG: smallest eigenvalue of a random sparse matrix; messages along rows of a process grid and across it",
          .source = "NAS Parallel Benchmarks, CG; Bailey et al., RNR-94-007, 1994, section 2.4; NAS-95-020, 1995",
          .aka = {"CG", "npb"},
          .sampling = Sampling::study,
          .ranks = powers_of_two(),
          .sized = false,
          .buffers = false,
          .reports = quantities(),
          .nominal_s = 2,
          .axes = {class_axis()},
          .section = "programs",
          .place = 2,
          .tabled = false,
          .problem = ProblemSize{.counts = "class", .words = "class {}"},
          .phases = Program::phase_names());
