// LU compared with a straightforward implementation with 5 x 5 blocks, in which every rank computes the whole grid.
#include <cmath>
#include <complex>
#include <set>
#include <vector>

#include "bench/npb/lu_solver.hpp"
#include "driver/runner.hpp"
#include "helpers.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::npb;
using namespace kiviat::test;

namespace {

using Vector5 = std::array<double, 5>;
using Matrix = std::array<Vector5, 5>;

// --- straightforward implementation ---------------------------------------------------------------------

template <class T>
std::array<T, 5> flux(const std::array<T, 5>& u, std::size_t axis) {
  const T speed = u[1 + axis] / u[0];
  const T pressure = flow::k2 * (u[4] - 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / u[0]);
  std::array<T, 5> f = {u[1 + axis], u[1] * speed, u[2] * speed, u[3] * speed, (u[4] + pressure) * speed};
  f[1 + axis] += pressure;
  return f;
}

// Viscous fluxes.
template <class T>
std::array<T, 5> viscous(const std::array<T, 5>& u, std::size_t axis) {
  const double c = flow::k3 * flow::k4, k15 = flow::k1 * flow::k5;
  const T v[3] = {u[1] / u[0], u[2] / u[0], u[3] / u[0]};
  const T square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
  std::array<T, 5> f = {T{}, c * v[0], c * v[1], c * v[2],
                        c * (0.5 * (1 - k15) * square + v[axis] * v[axis] / 6.0 + k15 * u[4] / u[0])};
  f[1 + axis] *= 4.0 / 3;
  return f;
}

// Derivatives by the complex-step method, which is exact to rounding.
template <class Function>
Matrix derivative(const Vector5& u, Function function) {
  Matrix d;
  for (std::size_t column = 0; column < 5; ++column) {
    std::array<std::complex<double>, 5> stepped;
    for (std::size_t m = 0; m < 5; ++m) stepped[m] = {u[m], m == column ? 1e-30 : 0};
    const auto f = function(stepped);
    for (std::size_t row = 0; row < 5; ++row) d[row][column] = f[row].imag() / 1e-30;
  }
  return d;
}
Matrix flux_matrix(const Vector5& u, std::size_t axis) {
  return derivative(u, [axis](const auto& v) { return flux(v, axis); });
}
Matrix viscous_matrix(const Vector5& u, std::size_t axis) {
  return derivative(u, [axis](const auto& v) { return viscous(v, axis); });
}

// Solves a x = b by Gaussian elimination.
Vector5 solution(Matrix a, Vector5 b) {
  for (std::size_t p = 0; p < 5; ++p)
    for (std::size_t row = p + 1; row < 5; ++row) {
      const double factor = a[row][p] / a[p][p];
      for (std::size_t m = p; m < 5; ++m) a[row][m] -= factor * a[p][m];
      b[row] -= factor * b[p];
    }
  for (std::size_t row = 5; row-- > 0;) {
    for (std::size_t m = row + 1; m < 5; ++m) b[row] -= a[row][m] * b[m];
    b[row] /= a[row][row];
  }
  return b;
}

class Plain {
 public:
  Plain(std::int64_t n, double step)
      : n_(n), step_(step), h_(1.0 / static_cast<double>(n - 1)), u_(size()), r_(size()), forcing_(size()) {
    each(0, [&](std::int64_t i, std::int64_t j, std::int64_t k) { u(i, j, k) = flow::exact(h_ * i, h_ * j, h_ * k); });
    evaluate();
    for (std::size_t at = 0; at < size(); ++at)
      for (std::size_t m = 0; m < 5; ++m) forcing_[at][m] = -r_[at][m];
    each(1,
         [&](std::int64_t i, std::int64_t j, std::int64_t k) { u(i, j, k) = flow::initial(h_ * i, h_ * j, h_ * k); });
    evaluate();
  }

  void iterate() {
    const double omega = 1.2;
    std::vector<Vector5> v(size(), Vector5{});
    each(1, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
      Vector5 right = at(r_, i, j, k);
      for (double& value : right) value *= step_;
      for (std::size_t axis = 0; axis < 3; ++axis) take(right, omega, axis, -1, v, i, j, k);
      at(v, i, j, k) = solution(diagonal(u(i, j, k)), right);
    });
    for (std::int64_t k = n_ - 2; k > 0; --k)
      for (std::int64_t j = n_ - 2; j > 0; --j)
        for (std::int64_t i = n_ - 2; i > 0; --i) {
          Vector5 right{};
          for (std::size_t axis = 0; axis < 3; ++axis) take(right, omega, axis, 1, v, i, j, k);
          const Vector5 change = solution(diagonal(u(i, j, k)), right);
          for (std::size_t m = 0; m < 5; ++m) at(v, i, j, k)[m] += change[m];
        }
    each(1, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
      for (std::size_t m = 0; m < 5; ++m) u(i, j, k)[m] += at(v, i, j, k)[m] / (omega * (2 - omega));
    });
    evaluate();
  }

  Vector5 residual() {
    Vector5 sums{};
    each(1, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
      for (std::size_t m = 0; m < 5; ++m) sums[m] += at(r_, i, j, k)[m] * at(r_, i, j, k)[m];
    });
    return flow::norms(sums, n_, MPI_COMM_SELF);
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(n_ * n_ * n_); }
  Vector5& at(std::vector<Vector5>& of, std::int64_t i, std::int64_t j, std::int64_t k) {
    return of[static_cast<std::size_t>((k * n_ + j) * n_ + i)];
  }
  Vector5& u(std::int64_t i, std::int64_t j, std::int64_t k) { return at(u_, i, j, k); }
  template <class Visit>
  void each(std::int64_t margin, Visit visit) {
    for (std::int64_t k = margin; k < n_ - margin; ++k)
      for (std::int64_t j = margin; j < n_ - margin; ++j)
        for (std::int64_t i = margin; i < n_ - margin; ++i) visit(i, j, k);
  }
  Vector5& beside(std::vector<Vector5>& of, std::size_t axis, std::int64_t by, std::int64_t i, std::int64_t j,
                  std::int64_t k) {
    return at(of, i + (axis == 0 ? by : 0), j + (axis == 1 ? by : 0), k + (axis == 2 ? by : 0));
  }

  void evaluate() {
    each(1, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
      Vector5 sum = at(forcing_, i, j, k);
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::int64_t here = axis == 0 ? i : axis == 1 ? j : k;
        const auto of = [&](std::int64_t by) -> const Vector5& { return beside(u_, axis, by, i, j, k); };
        const Vector5 before = flux(of(-1), axis), after = flux(of(1), axis);
        const Vector5 low = viscous(of(-1), axis), middle = viscous(of(0), axis), high = viscous(of(1), axis);
        for (std::size_t m = 0; m < 5; ++m) {
          sum[m] -= (after[m] - before[m]) / (2 * h_);
          sum[m] += (low[m] - 2 * middle[m] + high[m]) / (h_ * h_);
          sum[m] += flow::diffusion[axis] * (of(-1)[m] - 2 * of(0)[m] + of(1)[m]) / (h_ * h_);
          double fourth;
          if (here == 1)
            fourth = 5 * of(0)[m] - 4 * of(1)[m] + of(2)[m];
          else if (here == 2)
            fourth = -4 * of(-1)[m] + 6 * of(0)[m] - 4 * of(1)[m] + of(2)[m];
          else if (here == n_ - 3)
            fourth = of(-2)[m] - 4 * of(-1)[m] + 6 * of(0)[m] - 4 * of(1)[m];
          else if (here == n_ - 2)
            fourth = of(-2)[m] - 4 * of(-1)[m] + 5 * of(0)[m];
          else
            fourth = of(-2)[m] - 4 * of(-1)[m] + 6 * of(0)[m] - 4 * of(1)[m] + of(2)[m];
          sum[m] -= flow::dissipation * fourth;
        }
      }
      at(r_, i, j, k) = sum;
    });
  }

  Matrix diagonal(const Vector5& state) const {
    Matrix d{};
    for (std::size_t m = 0; m < 5; ++m) d[m][m] = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Matrix viscosity = viscous_matrix(state, axis);
      for (std::size_t row = 0; row < 5; ++row)
        for (std::size_t m = 0; m < 5; ++m)
          d[row][m] += 2 * step_ / (h_ * h_) * (viscosity[row][m] + (row == m ? flow::diffusion[axis] : 0));
    }
    return d;
  }
  // Subtracts omega times the neighbour's block times its v.
  void take(Vector5& right, double omega, std::size_t axis, std::int64_t side, std::vector<Vector5>& v, std::int64_t i,
            std::int64_t j, std::int64_t k) {
    const Vector5 &state = beside(u_, axis, side, i, j, k), &change = beside(v, axis, side, i, j, k);
    const Matrix inviscid = flux_matrix(state, axis), viscosity = viscous_matrix(state, axis);
    for (std::size_t row = 0; row < 5; ++row)
      for (std::size_t m = 0; m < 5; ++m) {
        const double block = static_cast<double>(side) * step_ / (2 * h_) * inviscid[row][m] -
                             step_ / (h_ * h_) * (viscosity[row][m] + (row == m ? flow::diffusion[axis] : 0));
        right[row] -= omega * block * change[m];
      }
  }

  std::int64_t n_;
  double step_, h_;
  std::vector<Vector5> u_, r_, forcing_;
};

// The solver under test with its memory.
struct Ours {
  Ours(std::int64_t n, double step, const World& world)
      : part(ssor::Part::of(n, world.size, world.rank)),
        values(static_cast<std::size_t>(ssor::Solver::elements(part))),
        messages(8, std::vector<double>(static_cast<std::size_t>(ssor::Solver::message_elements(part)))),
        solver(world.comm, part, step,
               {values.data(),
                {messages[0].data(), messages[1].data(), messages[2].data(), messages[3].data()},
                {messages[4].data(), messages[5].data(), messages[6].data(), messages[7].data()}}) {}
  ssor::Part part;
  std::vector<double> values;
  std::vector<std::vector<double>> messages;
  ssor::Solver solver;
};

double difference(const Vector5& a, const Vector5& b) {
  double most = 0;
  for (std::size_t m = 0; m < 5; ++m) most = std::max(most, std::isnan(a[m]) ? INFINITY : std::abs(a[m] / b[m] - 1));
  return most;
}

}  // namespace

// Residuals of each iteration must agree, for all distributions.
RANKED_TEST(lu_relaxes_as_its_method_written_out_does, 1, 2, 4) {
  for (const std::int64_t n : {6, 7, 9}) {
    Ours ours(n, 0.5, world);
    ours.solver.prepare();
    ours.solver.start();
    Plain plain(n, 0.5);
    EXPECT(difference(ours.solver.residual(), plain.residual()) < 1e-10);
    for (int iteration = 0; iteration < 3; ++iteration) {
      ours.solver.iterate(1);
      plain.iterate();
      EXPECT(difference(ours.solver.residual(), plain.residual()) < 1e-10);
    }
    // Several iterations in one call must give the same result, and start() always the same state.
    ours.solver.start();
    ours.solver.iterate(3);
    EXPECT(difference(ours.solver.residual(), plain.residual()) < 1e-10);
  }
}

RANKED_TEST(lu_grids_are_cut_into_parts_that_meet, 1) {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    const ssor::Grid grid = ssor::Grid::of(ranks);
    EXPECT(grid.px * grid.py == ranks);
    EXPECT(grid.px >= grid.py);
    std::int64_t points = 0, inner = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const ssor::Part part = ssor::Part::of(33, ranks, rank);
      points += part.x.size() * part.y.size(), inner += part.inner_x().size() * part.inner_y().size();
      if (part.east != MPI_PROC_NULL) {
        const ssor::Part other = ssor::Part::of(33, ranks, part.east);
        EXPECT(other.west == rank);
        EXPECT(other.x.begin == part.x.end);
        EXPECT((other.y == part.y) == true);
      }
      if (part.north != MPI_PROC_NULL) {
        const ssor::Part other = ssor::Part::of(33, ranks, part.north);
        EXPECT(other.south == rank);
        EXPECT(other.y.begin == part.y.end);
        EXPECT((other.x == part.x) == true);
      }
    }
    EXPECT(points == 33 * 33);
    EXPECT(inner == 31 * 31);
  }
  EXPECT(ssor::Grid::of(8).px == 4);
  EXPECT(ssor::Grid::of(36).fits(12) == true);
  EXPECT(ssor::Grid::of(64).fits(12) == false);
}

RANKED_TEST(points_of_diagonals_lie_apart, 1) {
  for (std::int64_t nx = 2; nx < 21; ++nx)
    for (std::int64_t ny : {2, 3, 8, 13}) {
      const Diagonals shape(nx, ny, {nx > 5 ? 1 : 0, nx}, {0, ny > 4 ? ny - 1 : ny});
      std::set<std::int64_t> taken;
      for (std::int64_t j = -2; j < ny + 2; ++j)
        for (std::int64_t i = -2; i < nx + 2; ++i) {
          EXPECT(shape.at(i, j) >= 0);
          EXPECT(shape.at(i, j) < shape.size());
          EXPECT(taken.insert(shape.at(i, j)).second == true);
        }
      std::int64_t computed = 0;
      for (std::int64_t s = shape.diagonals().begin; s < shape.diagonals().end; ++s) {
        const Range js = shape.computed(s);
        computed += js.size();
        EXPECT((shape.origin(s) + js.begin) % Diagonals::group == 0);
        // Elements beyond the end of a diagonal must not overlap other points.
        for (std::int64_t j = js.end; (j - js.begin) % Diagonals::group != 0; ++j)
          if (s - j < -2 || j > ny + 1) EXPECT(taken.count(shape.origin(s) + j) == 0);
      }
      EXPECT(computed == shape.x().size() * shape.y().size());
    }
}

RANKED_TEST(lu_is_as_published, 1, 2, 4) {
  Session session(world.comm);
  const Result result = run_case({"case", "lu", {{"class", "S"}}}, session);
  EXPECT(result.check == "passed");
  if (world.rank == 0) EXPECT(result.summary(*result.metric("deviation")).p50.value_or(1) < 1e-10);
}
