// HPL compared with textbook elimination, on all grids, with all broadcast routes and row swaps; and faults that its
// check must detect.
#include "bench/hpcc/elimination.hpp"

#include <map>
#include <numeric>
#include <set>

#include "driver/runner.hpp"
#include "helpers.hpp"
#include "ranked_test.hpp"
#include "support/failure.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

// A simple reference implementation.
Blas plain_blas() {
  Blas blas;
  blas.name = "loops";
  blas.gemm = [](std::int64_t m, std::int64_t n, std::int64_t k, double alpha, const double* a, std::int64_t lda,
                 const double* b, std::int64_t ldb, double beta, double* c, std::int64_t ldc) {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += a[i + l * lda] * b[l + j * ldb];
        c[i + j * ldc] = alpha * sum + beta * c[i + j * ldc];
      }
  };
  blas.trsm = [](std::int64_t m, std::int64_t n, const double* l, std::int64_t ldl, double* b, std::int64_t ldb) {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t k = 0; k < i; ++k) b[i + j * ldb] -= l[i + k * ldl] * b[k + j * ldb];
  };
  return blas;
}

// Gaussian elimination with partial pivoting in extended precision.
std::vector<long double> solved(const Plan& plan) {
  const auto n = static_cast<std::size_t>(plan.order);
  std::vector<std::vector<long double>> rows(n, std::vector<long double>(n + 1));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= n; ++j) rows[i][j] = element(plan.seed, plan.order, i, j);
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t best = k;
    for (std::size_t i = k; i < n; ++i)
      if (std::abs(rows[i][k]) > std::abs(rows[best][k])) best = i;
    std::swap(rows[k], rows[best]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const long double times = rows[i][k] / rows[k][k];
      for (std::size_t j = k; j <= n; ++j) rows[i][j] -= times * rows[k][j];
    }
  }
  std::vector<long double> x(n);
  for (std::size_t i = n; i-- > 0;) {
    long double sum = rows[i][n];
    for (std::size_t j = i + 1; j < n; ++j) sum -= rows[i][j] * x[j];
    x[i] = sum / rows[i][i];
  }
  return x;
}

struct Solved {
  double residual, error;  // error: largest difference from the reference, over all ranks
  std::int64_t singular;
};

using Meddle = std::function<void(Elimination&)>;

Solved solve(const Plan& plan, MPI_Comm comm, const Meddle& before = {}, const Blas& blas = plain_blas()) {
  const GridRanks grid(comm, plan.grid);
  std::vector<double> memory(static_cast<std::size_t>(Places(plan).doubles()), NAN);
  Elimination elimination(plan, grid, blas, memory);
  elimination.generate();
  if (before) before(elimination);
  elimination.solve();
  double error = 0;
  const std::vector<long double> x = solved(plan);
  for (std::size_t j = 0; j < elimination.x().size(); ++j)
    if (const std::int64_t column = elimination.columns().global(static_cast<std::int64_t>(j)); column < plan.order)
      error = std::max(error, std::abs(elimination.x()[j] - static_cast<double>(x[static_cast<std::size_t>(column)])));
  return {elimination.residual(), maximum(error, comm), elimination.singular_column()};
}

std::vector<GridShape> grids_of(int ranks) {
  std::vector<GridShape> grids;
  for (int rows = 1; rows <= ranks; ++rows)
    if (ranks % rows == 0) grids.push_back({rows, ranks / rows});
  return grids;
}

bool right(const Solved& found) { return found.residual < 1 && found.error < 1e-9 && found.singular < 0; }

}  // namespace

// Orders that are multiples of the block size, and others; blocks wider than the matrix, and wider than the recursion's
// leaf.
RANKED_TEST(a_system_is_solved_on_every_grid, 1, 2, 4) {
  for (const GridShape grid : grids_of(world.size))
    for (const auto& [order, block] : {std::pair{1, 1}, {2, 1}, {7, 3}, {24, 6}, {37, 5}, {30, 100}, {90, 29}})
      for (const int depth : {0, 1}) {
        const Plan plan{.order = order, .block = block, .grid = grid, .depth = depth, .seed = 5};
        EXPECT(right(solve(plan, world.comm)));
      }
}

RANKED_TEST(a_system_is_solved_by_every_route_and_in_every_way, 2, 4) {
  for (std::size_t route = 0; route < route_names.size(); ++route)
    EXPECT(right(solve({.order = 41, .block = 4, .grid = {1, world.size}, .route = Route(route)}, world.comm)));
  for (std::size_t swap = 0; swap < swap_names.size(); ++swap)
    EXPECT(right(solve({.order = 41, .block = 4, .grid = {world.size, 1}, .swap = Swap(swap)}, world.comm)));
}

// Numbers of ranks that are not powers of two use different code paths.
RANKED_TEST(three_ranks_solve_it_too, 4) {
  MPI_Comm three;
  MPI_Comm_split(world.comm, world.rank < 3 ? 0 : MPI_UNDEFINED, world.rank, &three);
  if (world.rank == 3) return;
  for (std::size_t route = 0; route < route_names.size(); ++route)
    EXPECT(right(solve({.order = 41, .block = 4, .grid = {1, 3}, .route = Route(route)}, three)));
  for (std::size_t swap = 0; swap < swap_names.size(); ++swap)
    EXPECT(right(solve({.order = 41, .block = 4, .grid = {3, 1}, .swap = Swap(swap)}, three)));
  MPI_Comm_free(&three);
}

RANKED_TEST(threads_solve_it_too, 1, 2) {
  EXPECT(right(solve({.order = 60, .block = 7, .grid = {world.size, 1}, .threads = 2}, world.comm)));
}

RANKED_TEST(a_library_solves_it_too, 1) {
  EXPECT(right(solve({.order = 150, .block = 40, .grid = {1, 1}}, world.comm, {}, find_blas())));
}

RANKED_TEST(the_solution_depends_on_no_grid, 4) {
  const Plan one{.order = 50, .block = 4, .grid = {4, 1}}, other{.order = 50, .block = 9, .grid = {2, 2}};
  EXPECT(solve(one, world.comm).error < 1e-10);
  EXPECT(solve(other, world.comm).error < 1e-10);
}

RANKED_TEST(a_flipped_element_is_noticed, 1, 2, 4) {
  for (const GridShape grid : grids_of(world.size)) {
    const Plan plan{.order = 40, .block = 6, .grid = grid};
    for (const auto& [row, column] : std::vector<std::pair<int, int>>{{0, 0}, {39, 17}, {20, 40}}) {
      const Solved found = solve(plan, world.comm, [&](Elimination& all) {
        if (double* at = all.find(row, column)) *at = -*at;
      });
      EXPECT(!(found.residual < 16));
    }
  }
}

RANKED_TEST(a_wrong_pivot_is_noticed, 1, 2, 4) {
  for (const GridShape grid : grids_of(world.size)) {
    const Plan plan{.order = 40, .block = 6, .grid = grid};
    const Solved found = solve(plan, world.comm, [&](Elimination& all) {
      all.on_panel = [](Panel& panel) {
        if (panel.block == 2) panel.pivots[0] = panel.pivots[0] == 39 ? 38 : 39;
      };
    });
    EXPECT(!(found.residual < 16));
  }
}

RANKED_TEST(a_lost_panel_is_noticed, 1, 2, 4) {
  for (const GridShape grid : grids_of(world.size)) {
    const Plan plan{.order = 40, .block = 6, .grid = grid};
    const Solved found = solve(plan, world.comm, [&](Elimination& all) {
      all.on_panel = [](Panel& panel) {
        if (panel.block == 3) std::ranges::fill(panel.data, 0);
      };
    });
    EXPECT(!(found.residual < 16));
  }
}

RANKED_TEST(a_blas_that_is_wrong_once_is_noticed, 1, 2) {
  Blas blas = plain_blas();
  long calls = 0;
  blas.gemm = [right = blas.gemm, &calls](std::int64_t m, std::int64_t n, std::int64_t k, double alpha, const double* a,
                                          std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c,
                                          std::int64_t ldc) {
    right(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    if (++calls == 3 && m > 0 && n > 0) c[m - 1] *= 1 + 1e-6;
  };
  EXPECT(!(solve({.order = 40, .block = 6, .grid = {1, world.size}}, world.comm, {}, blas).residual < 16));
}

RANKED_TEST(a_singular_matrix_is_named, 1, 2, 4) {
  for (const GridShape grid : grids_of(world.size)) {
    const Plan plan{.order = 20, .block = 3, .grid = grid};
    const Solved found = solve(plan, world.comm, [&](Elimination& all) {
      for (std::int64_t row = 0; row < 20; ++row)
        if (double* at = all.find(row, 13)) *at = 0;
    });
    EXPECT(maximum(static_cast<double>(found.singular), world.comm) == 13);
  }
}

// An interchange has the same effect as exchanging rows pair by pair.
RANKED_TEST(an_interchange_is_what_its_pivots_say, 1) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Cyclic rows{40, 5, 3, 0}, columns{41, 5, 1, 0};
    std::vector<double> room(static_cast<std::size_t>(Panel::most(rows)));
    Panel panel;
    panel.room = room;
    panel.place(static_cast<std::int64_t>(seed % 8), rows, columns);
    std::vector<std::int64_t> expected(40), found(40);
    std::iota(expected.begin(), expected.end(), 0);
    found = expected;
    for (std::int64_t j = 0; j < panel.width; ++j) {
      const auto row = panel.first + j;
      // Half of the pivots are near, so that some rows move twice.
      const std::int64_t reach = j % 2 ? 40 - row : std::min<std::int64_t>(7, 40 - row);
      panel.pivots[j] = row + static_cast<std::int64_t>(random_at(seed, j) % reach);
      std::swap(expected[row], expected[panel.pivots[j]]);
    }
    const Interchange moves(panel, rows);
    std::size_t moved = 0;
    for (int part = 0; part < 3; ++part) {
      const Cyclic of_part{40, 5, 3, part};
      for (const auto [local, index] : moves.to_top[part]) found[panel.first + index] = of_part.global(local), ++moved;
      for (const auto [local, index] : moves.from_top[part]) found[of_part.global(local)] = panel.first + index;
    }
    EXPECT(moved == static_cast<std::size_t>(panel.width));
    EXPECT(found == expected);
  }
}

RANKED_TEST(routes_reach_everybody_once, 1) {
  for (const Route route : {Route::ring, Route::ring_first, Route::two_rings, Route::tree})
    for (int ranks = 1; ranks <= 40; ++ranks) {
      std::vector<int> heard_from(static_cast<std::size_t>(ranks), -1);
      for (int distance = 0; distance < ranks; ++distance)
        for (const int next : link_of(route, distance, ranks).to) {
          EXPECT((next > 0 && next < ranks));
          EXPECT(heard_from[next] == -1);
          heard_from[next] = distance;
        }
      for (int distance = 0; distance < ranks; ++distance)
        EXPECT(link_of(route, distance, ranks).from == heard_from[distance]);
    }
}

// Uses no more memory than requested: the block size shrinks before a problem is refused.
RANKED_TEST(memory_is_what_was_asked_for, 1) {
  for (const GridShape grid : {GridShape{1, 1}, GridShape{1, 2}, GridShape{2, 2}, GridShape{3, 5}})
    for (const double bytes : {1024.0, 1e5, 1e6, 3e7, 1e9, 6e9}) {
      const auto doubles = static_cast<std::int64_t>(bytes / 8);
      const Plan plan = largest({.grid = grid}, doubles, 0);
      const std::int64_t used = Places(plan).doubles();
      EXPECT(plan.order >= 1);
      EXPECT(used <= doubles);
      if (bytes >= 1e5) EXPECT(static_cast<double>(used) > 0.95 * static_cast<double>(doubles));
    }
  EXPECT(largest({.grid = {1, 2}}, 1, 0).order == 1);
  EXPECT(largest({.grid = {1, 2}}, 1'000'000, 50).block == 50);
}

RANKED_TEST(the_benchmark_reports_what_it_solved, 1, 2) {
  Session session(world.comm);
  const Result result = run_case({"case", "hpl", {{"memory", "100000"}}}, session);
  EXPECT(result.check == "passed");
  if (world.rank != 0) return;
  const auto value = [&](const char* name) { return result.summary(*result.metric(name)).p50.value_or(NAN); };
  const double n = value("order");
  EXPECT(n > 90);
  EXPECT(std::abs(value("rate") * value("time") / (2.0 / 3 * n * n * n + 1.5 * n * n) - 1) < 1e-12);
  EXPECT(value("residual") < 1);
}

RANKED_TEST(what_makes_no_sense_is_refused, 2) {
  Session session(world.comm);
  const auto reason = [&](std::map<std::string, std::string, std::less<>> words) {
    return run_case({"case", "hpl", std::move(words)}, session).reason.value_or("");
  };
  EXPECT(contains(reason({{"p", "3"}}), "p=3"));
  EXPECT(contains(reason({{"n", "0"}}), "n=0"));
  EXPECT(contains(reason({{"n", "90000000"}}), "available"));
  EXPECT(contains(reason({{"depth", "7"}}), "depth=7"));
}
