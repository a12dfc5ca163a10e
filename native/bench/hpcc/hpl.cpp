// HPL: solves a dense system of linear equations by LU factorisation with partial pivoting on a grid of all ranks.
#include <cstring>
#include <string>
#include <vector>

#include "bench/hpcc/dense.hpp"
#include "bench/hpcc/elimination.hpp"
#include "bench/hpcc/threads.hpp"
#include "platform/clock.hpp"

using namespace kiviat;

namespace {

constexpr double threshold = 16;

class Study {
 public:
  explicit Study(Trial& t) : t_(t), plan_(plan_of(t)) {
    if (host::carries_payload()) blas_ = agreed_blas(t, plan_.threads);
    const Places places(plan_);
    refuse_more_than_available(t, "n=" + std::to_string(plan_.order), 8 * static_cast<double>(places.doubles()));
    Trial::fitting(8 * places.panel, "B of a panel"), Trial::fitting(8 * places.u, "B of rows");
    memory_ = pages_of(t, 8 * static_cast<std::size_t>(places.doubles()), plan_.threads);
    // Messages of the checks take at most a sixty-fourth of the memory on any grid.
    const auto parts = static_cast<std::size_t>(std::max(plan_.grid.columns, 2 * plan_.grid.rows * plan_.grid.rows));
    sample_bytes_ = std::clamp<std::size_t>(places.doubles() / 8 / parts / 8 * 8, 16, 1 << 20);
    sent_ = &t.buffer(sample_bytes_ * (plan_.grid.rows + 1));
    received_ = &t.buffer(sample_bytes_ * parts);
    t.uses_threads(plan_.threads);
    t.note("block", std::to_string(plan_.block));
    t.number("block", plan_.block);
    t.number("grid_rows", plan_.grid.rows);
    t.number("grid_columns", plan_.grid.columns);
    t.note("grid", std::to_string(plan_.grid.rows) + " x " + std::to_string(plan_.grid.columns));
    t.note("bcast", route_names[static_cast<std::size_t>(plan_.route)]);
    t.note("swap", swap_names[static_cast<std::size_t>(plan_.swap)]);
    if (const std::string words = PanelFactorization::agreements(t.comm(), plan_.block).words();
        plan_.grid.rows > 1 && !words.empty())
      t.note("pivots", "pivot searches of a panel: " + words);
  }

  void operator()() {
    const GridRanks grid(t_.comm(), plan_.grid);
    if (!panels_arrive(grid) || !rows_arrive(grid)) return;
    Elimination elimination(plan_, grid, blas_,
                            {memory_.as<double>(), static_cast<std::size_t>(Places(plan_).doubles())});
    // Progress reports take time within the timed part, so short solutions get none.
    double told_s = clock::now();
    elimination.on_progress = [&](double share) {
      if (clock::now() - told_s < 1) return;
      told_s = clock::now();
      t_.progressed(share);
    };
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
      t_.confirm(residual < threshold, "the residual is " + std::to_string(residual) +
                                           ", not below 16: messages were corrupted, or the BLAS is wrong (" +
                                           blas_.words() + ")");
  }

 private:
  static Plan plan_of(const Trial& t) {
    Plan plan;
    plan.grid = grid_shape(t);
    plan.depth = t.count_of("depth");
    plan.threads = openmp_threads(t);
    plan.seed = t.seed();
    if (const std::string route = t.text("bcast"); route != "auto") plan.route = route_named(route);
    if (const std::string swap = t.text("swap"); swap != "auto") plan.swap = swap_named(swap);
    const std::int64_t given_order = integer_or(t, "n", 0);
    const std::int64_t given_block = integer_or(t, "nb", 0);
    return given_order ? of_order(plan, given_order, given_block) : largest(plan, memory_of(t) / 8, given_block);
  }

  // Verifies that the broadcast route delivers every bit, because a residual does not show all message faults. Each
  // rank of the grid row in turn broadcasts a sample of a panel. Returns whether all messages were correct. Collective.
  bool panels_arrive(const GridRanks& grid) {
    const int columns = plan_.grid.columns;
    if (columns == 1) return true;
    t_.forget_payload();
    t_.sends(*sent_, sample_bytes_);
    std::vector<Piece> pieces;
    for (int root = 0; root < columns; ++root)
      if (root != grid.column) pieces.push_back({root * sample_bytes_, sample_bytes_, grid.row * columns + root});
    t_.expects(*received_, std::move(pieces));
    return t_.verify([&](std::int64_t) {
      Broadcast broadcast(grid.along_row, plan_.route);
      std::int64_t pivot = 0;
      for (int root = 0; root < columns; ++root) {
        std::byte* const data = received_->first().data() + root * sample_bytes_;
        if (root == grid.column) std::memcpy(data, sent_->first().data(), sample_bytes_);
        broadcast.start(root, data, sample_bytes_, &pivot, 1);
        broadcast.finish();
      }
    });
  }

  // Verifies the row exchange in the same way; each rank of the grid column in turn has the diagonal block.
  bool rows_arrive(const GridRanks& grid) {
    const int rows = plan_.grid.rows;
    if (rows == 1) return true;
    RowPieces samples(rows);
    for (int row = 0; row < rows; ++row) samples.bytes[row] = static_cast<int>(sample_bytes_);
    samples.lay_out();
    const std::size_t turn_bytes = 2 * sample_bytes_ * rows;  // `all`, followed by `spread`
    t_.forget_payload();
    t_.sends(*sent_);
    std::vector<Piece> pieces;
    const auto rank_of = [&](int row) { return row * plan_.grid.columns + grid.column; };
    for (int root = 0; root < rows; ++root) {
      for (int row = 0; row < rows; ++row)
        if (row != grid.row)
          pieces.push_back({root * turn_bytes + samples.begin(row), sample_bytes_, rank_of(row), rows * sample_bytes_});
      const std::size_t mine = grid.row * sample_bytes_;
      if (root != grid.row)
        pieces.push_back({root * turn_bytes + rows * sample_bytes_ + mine, sample_bytes_, rank_of(root), mine});
    }
    t_.expects(*received_, std::move(pieces));
    return t_.verify([&](std::int64_t) {
      const RowExchange exchange(grid.along_column, plan_.swap);
      const std::byte* const mine = sent_->first().data();
      for (int root = 0; root < rows; ++root) {
        std::byte *const all = received_->first().data() + root * turn_bytes, *const spread =
                                                                                  all + rows * sample_bytes_;
        std::memcpy(all + samples.begin(grid.row), mine + rows * sample_bytes_, sample_bytes_);
        if (root == grid.row) std::memcpy(spread, mine, rows * sample_bytes_);
        exchange(all, samples, spread, samples, root);
      }
    });
  }

  Trial& t_;
  Plan plan_;
  Blas blas_;
  HugePages memory_;
  std::size_t sample_bytes_;
  Buffer *sent_, *received_;
};

}  // namespace

static void hpl(Trial& t) {
  t.refuse_rotation("the factorisation");
  Study study(t);
  t.study(std::ref(study));
}

static std::vector<std::string> with_auto(const auto& names) {
  std::vector<std::string> values{"auto"};
  values.insert(values.end(), names.begin(), names.end());
  return values;
}

BENCHMARK(hpl,
          .summary = "solution of a dense linear system by LU factorisation with partial pivoting, on all ranks",
          .source = "HPC Challenge, HPL; Dongarra, Luszczek, Petitet, The LINPACK Benchmark: past, present and future, 2003",
          .aka = {"HPL", "Linpack"},
          .sampling = Sampling::study,
          .ranks = at_least(1),
          .sized = false,
          .reports = {{"rate", "flop/s", "higher", "(2/3 N^3 + 3/2 N^2) / time, of all ranks together"},
                      {"time", "s", "lower", "time of factorisation and back substitution"},
                      {"residual", "1", "lower", "|A x - b| / (eps (|A| |x| + |b|) N) in the maximum norm; below 16 it passes", true},
                      {"order", "1", "higher", "N"}},
          .nominal_s = 60,
          .axes = {memory_axis(),
                   {"n", "auto", "rows", "order of the matrix; auto: as large as memory allows", {"auto", Bounds{1, most_order}}},
                   {"nb", "auto", "columns", "width of blocks and panels; auto: 192, or less if ranks would have no work", {"auto", Bounds{1, 100'000}}},
                   grid_rows_axis(), grid_columns_axis(),
                   {"threads", "1", "threads", "threads per rank, including those of the BLAS", threads_of_rank},
                   {"bcast", "auto", "", "broadcast of a panel along a grid row; auto: ring_first", with_auto(route_names)},
                   {"swap", "auto", "", "exchange of rows within a grid column; auto: roll", with_auto(swap_names)},
                   {"depth", "1", "panels", "number of panels factored ahead of the update of the remaining matrix", {"0", "1"}}},
          .headlines = {{.title = "HPL", .metric = "rate", .place = 14}},
          .problem = ProblemSize{.counts = "order", .words = "order {}", .power = 2});
