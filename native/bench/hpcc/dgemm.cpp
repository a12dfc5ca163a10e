// DGEMM: product of two dense matrices on each rank separately, computed by the machine's BLAS.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "bench/hpcc/dense.hpp"
#include "bench/hpcc/product.hpp"
#include "bench/hpcc/scope.hpp"
#include "bench/hpcc/threads.hpp"
#include "platform/clock.hpp"
#include "platform/compute.hpp"

using namespace kiviat;

namespace {

constexpr double threshold = 16;
constexpr double most_s = 20;       // limit on the time of one product if neither order nor memory is given
constexpr double repeated_s = 0.5;  // short products are repeated for at least this time
constexpr int most_repetitions = 10;

class Study {
 public:
  explicit Study(Trial& t) : t_(t), scope_(scope_of(t)), threads_(t.count_of("threads")) {
    const std::int64_t given = integer_or(t, "n", 0);
    if (host::carries_payload()) blas_ = agreed_blas(t, threads_);
    order_ = given ? given : automatic_order();
    const std::int64_t bytes = 8 * Product::doubles(order_);
    refuse_more_than_available(t, "n=" + std::to_string(order_), static_cast<double>(bytes));
    memory_ = pages_of(t, computes(t, scope_) ? static_cast<std::size_t>(bytes) : 1, threads_);
    t.uses_threads(threads_);
    t.number("order", order_);
    t.note("order", std::to_string(order_));
  }

  void operator()() {
    const bool busy = computes(t_, scope_);
    std::optional<Product> product;
    if (busy) product.emplace(order_, t_.seed(), memory_.as<double>());
    double taken_s = 0;
    for (int repetition = 0; repetition < most_repetitions; ++repetition) {
      if (busy && host::carries_payload()) product->generate(threads_);
      double mine_s = 0;
      const double slowest_s = t_.measured(
          "dgemm",
          [&] {
            if (!busy) return;
            const double start_s = clock::now();
            work::run({product->flops(), product->bytes()}, [&] { product->multiply(blas_); });
            mine_s = clock::now() - start_s;
          },
          !busy);
      report(busy ? product->flops() / mine_s : 0);
      if (!check(busy && host::carries_payload() ? product->residual() : 0)) return;
      taken_s += slowest_s;
      if (t_.deterministic() || taken_s > repeated_s) return;
    }
  }

 private:
  // Returns the largest order that fits the given memory; if no memory is given, an order that takes at most about
  // most_s. Collective.
  std::int64_t automatic_order() {
    const std::int64_t doubles = memory_of(t_) / 8;
    auto order = static_cast<std::int64_t>(std::sqrt(static_cast<double>(doubles) / 3));
    while (order > 1 && Product::doubles(order) > doubles) --order;
    constexpr std::int64_t of_pilot = 768;
    if (!t_.text("memory").starts_with("auto") || t_.deterministic() || order <= of_pilot)
      return std::max<std::int64_t>(order, 1);
    double mine_s = 0;
    if (computes(t_, scope_)) {
      HugePages memory(8 * static_cast<std::size_t>(Product::doubles(of_pilot)));
      mine_s = INFINITY;
      if (memory) {
        Product pilot(of_pilot, t_.seed(), memory.as<double>());
        pilot.generate(threads_);
        for (int repetition = 0; repetition < 3; ++repetition) {
          const double start_s = clock::now();
          pilot.multiply(blas_);
          mine_s = std::min(mine_s, clock::now() - start_s);
        }
      }
    }
    t_.together(!computes(t_, scope_));
    const double slowest_s = t_.worst(mine_s);
    if (!std::isfinite(slowest_s)) throw Skip("cannot allocate matrices for the pilot run: give a smaller memory=");
    const auto most = static_cast<std::int64_t>(of_pilot * std::cbrt(most_s / slowest_s));
    if (most < order)
      t_.note("cap",
              "n = " + std::to_string(most) + " takes about 20 s; memory would allow n = " + std::to_string(order));
    return std::min(order, most);
  }

  // `mine`: flop/s of this rank.
  void report(double mine) {
    const bool busy = computes(t_, scope_);
    double sums[] = {mine, busy ? 1.0 : 0.0};
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, t_.comm());
    t_.report("rate", sums[0] / sums[1]);
    t_.report("rate_min", -t_.worst(busy ? -mine : -INFINITY));
  }

  bool check(double residual) {
    if (!host::carries_payload()) return t_.confirm(true, "");
    t_.report("residual", t_.worst(std::isnan(residual) ? INFINITY : residual));
    return t_.confirm(residual < threshold, "the residual is " + std::to_string(residual) +
                                                ", not below 16: the BLAS computes wrongly: " + blas_.words());
  }

  Trial& t_;
  Scope scope_;
  int threads_;
  Blas blas_;
  std::int64_t order_ = 1;
  HugePages memory_;
};

}  // namespace

static void dgemm(Trial& t) {
  Study study(t);
  t.study(std::ref(study));
}

BENCHMARK(dgemm,
          .summary = "product of two dense matrices on each rank separately, by the machine's BLAS",
          .source = "HPC Challenge, DGEMM; Luszczek et al., Introduction to the HPC Challenge Benchmark Suite, 2005",
          .aka = {"DGEMM"},
          .sampling = Sampling::study,
          .ranks = at_least(1),
          .sized = false,
          .buffers = false,
          .reports = {{"rate", "flop/s", "higher", "2 n^3 / time of a rank: mean over the ranks that compute"},
                      {"rate_min", "flop/s", "higher", "2 n^3 / time of the slowest rank"},
                      {"residual", "1", "lower", "|(alpha A B + beta C0) x - C x| / (|C| |x| n eps), the worst rank's; below 16 it passes", true}},
          .nominal_s = 20,
          .axes = {scope_axis(false), memory_axis(),
                   {"n", "auto", "rows", "order of the matrices; auto: as memory allows; if memory is auto, too, the order that takes about 20 s", {"auto", Bounds{1, 1'000'000}}},
                   {"threads", "1", "threads", "BLAS threads per rank", threads_of_rank}},
          .headlines = {{.title = "DGEMM, per process", .metric = "rate", .place = 15}},
          .per_rank = true,
          .problem = ProblemSize{.counts = "order", .words = "order {}", .power = 2, .each = true});
