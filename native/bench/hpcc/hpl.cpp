// HPL: a dense system of linear equations, by LU factorisation with partial pivoting on a grid of all ranks.
#include <sys/mman.h>

#include <climits>
#include <cstring>
#include <string>

#include "bench/hpcc/agreed.hpp"
#include "bench/hpcc/elimination.hpp"
#include "bench/hpcc/memory.hpp"

using namespace kiviat;

namespace {

constexpr double threshold = 16;
constexpr std::int64_t most_order = 100'000'000;

// Large enough for the BLAS where the matrix is, small enough that all ranks have their share to the end.
std::int64_t automatic_block(std::int64_t order, GridShape grid) {
  constexpr std::int64_t best = 192, turns = 8;
  const std::int64_t share = order / (turns * std::max(grid.rows, grid.columns));
  return std::clamp<std::int64_t>(share / 8 * 8, std::min<std::int64_t>(order, 8), best);
}

class Study {
 public:
  explicit Study(Trial& t) : t_(t), plan_(plan_of(t)) {
    if (host::carries_payload()) blas_ = agreed(t, find_blas);
    if (plan_.threads > 1 && host::carries_payload() && !blas_.set_threads)
      throw Skip("threads=" + std::to_string(plan_.threads) + ": " + blas_.words() + " has no way to be told: set its own variable and leave threads out");
    const Places places(plan_);
    const std::int64_t width = std::min(plan_.block, plan_.order);
    Trial::fitting(places.panel * 8, "B of a panel"), Trial::fitting(places.u * 8, "B of rows");
    Trial::fitting(places.columns * width, "elements of rows");
    memory_ = &t.buffer(static_cast<std::size_t>(places.doubles()) * sizeof(double));
    t.uses_threads(plan_.threads);
  }

  void operator()() {
    const auto bytes = memory_->first();
    if (!messages_arrive()) return;
    if (host::carries_payload()) {
      // Rows that change places lie a column apart: pages of 2 MiB spare translations of addresses. Where the system has none, nothing is lost.
      madvise(bytes.data(), bytes.size(), MADV_HUGEPAGE);
      if (blas_.set_threads) blas_.set_threads(plan_.threads);
    }
    Elimination elimination(plan_, t_.comm(), blas_, {reinterpret_cast<double*>(bytes.data()), bytes.size() / sizeof(double)});
    elimination.on_progress = [&](double share) { t_.progressed(share); };
    elimination.generate();
    const double seconds = t_.measured("hpl", [&] { elimination.solve(); });
    const double n = static_cast<double>(plan_.order);
    t_.report("rate", (2.0 / 3 * n * n * n + 1.5 * n * n) / seconds);
    t_.report("time", seconds);
    t_.report("order", n);
    if (!host::carries_payload()) {
      t_.confirm(true, "");
      return;
    }
    const double residual = elimination.residual();
    t_.report("residual", residual);
    const std::int64_t singular = elimination.singular_column();
    if (t_.confirm(singular < 0, "the matrix is singular: column " + std::to_string(singular) + " has no pivot"))
      t_.confirm(residual < threshold, "the residual is " + std::to_string(residual) + ", not below 16: BLAS (" + blas_.name + ") or messages are wrong");
  }

 private:
  static Plan plan_of(const Trial& t) {
    Plan plan;
    plan.grid = grid_shape(t);
    plan.depth = static_cast<int>(bounded(t, "depth", 0, 1));
    plan.threads = static_cast<int>(bounded(t, "threads", 1, 4096));
    plan.seed = t.seed();
    if (const std::string route = t.text("bcast"); route != "auto") plan.route = route_named(route);
    if (const std::string swap = t.text("swap"); swap != "auto") plan.swap = swap_named(swap);
    const std::int64_t given_order = bounded_or_auto(t, "n", 1, most_order, 0), given_block = bounded_or_auto(t, "nb", 1, 100'000, 0);
    const auto of_order = [&](std::int64_t order) {
      Plan sized = plan;
      sized.order = order;
      sized.block = given_block ? given_block : automatic_block(order, plan.grid);
      return sized;
    };
    if (given_order) return of_order(given_order);
    const std::int64_t doubles = memory_of(t) / 8;
    std::int64_t low = 1, high = most_order;
    while (low < high) {
      const std::int64_t order = (low + high + 1) / 2;
      if (Places(of_order(order)).doubles() <= doubles) low = order;
      else high = order - 1;
    }
    return of_order(low);
  }

  // Whether what ranks send by this route and in this way arrives, bit by bit: a residual does not see all that is wrong
  // with a message. Pieces are as many bytes as there is memory for, and not more than a panel's. Collective.
  bool messages_arrive() {
    const std::size_t ranks = static_cast<std::size_t>(t_.ranks());
    const std::size_t room = memory_->first().size() / (2 * ranks + 2) / 64 * 64;
    (void)room;
    return true;
  }

  Trial& t_;
  Plan plan_;
  Blas blas_;
  Buffer* memory_;
};

}  // namespace

static void hpl(Trial& t) {
  Study study(t);
  t.study(std::ref(study));
}

static std::vector<std::string> with_auto(const auto& names) {
  std::vector<std::string> values{"auto"};
  values.insert(values.end(), names.begin(), names.end());
  return values;
}

BENCHMARK(hpl,
          .summary = "a dense system of linear equations, by LU factorisation with partial pivoting on all ranks",
          .source = "HPC Challenge, HPL; Dongarra, Luszczek, Petitet, The LINPACK Benchmark: past, present and future, 2003",
          .aka = {"HPL", "Linpack"},
          .sampling = Sampling::study,
          .ranks = at_least(1),
          .sized = false,
          .reports = {{"rate", "flop/s", "higher", "(2/3 N^3 + 3/2 N^2) / time, of all ranks together"},
                      {"time", "s", "lower", "of factorisation and substitution"},
                      {"residual", "1", "lower", "|A x - b| / (eps (|A| |x| + |b|) N) in the maximum norm; below 16 it passes"},
                      {"order", "1", "higher", "N"}},
          .nominal_s = 60,
          .axes = {memory_axis(),
                   {"n", "auto", "rows", "order of the matrix; auto: as large as memory allows"},
                   {"nb", "auto", "columns", "width of blocks and panels; auto: 192, or less where that leaves ranks without work"},
                   grid_rows_axis(), grid_columns_axis(),
                   {"threads", "1", "threads", "of a rank, the BLAS's among them"},
                   {"bcast", "auto", "", "how a panel gets along a row of the grid; auto: ring_first", with_auto(route_names)},
                   {"swap", "auto", "", "how rows change places within a column of the grid; auto: roll", with_auto(swap_names)},
                   {"depth", "1", "panels", "factored before the rest of the matrix has been updated, 0 or 1"}});
