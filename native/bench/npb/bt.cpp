// BT, block tridiagonal: each time step solves one linear system per axis. Each system couples the five components of a
// point with those of its two neighbours on a line along the axis. multipartition.hpp distributes the cells.
#include "bench/npb/flow_steps.hpp"

using namespace kiviat;
using namespace kiviat::npb;

namespace {

constexpr PerClass<FlowProblem> problems = {
    {{12,
      60,
      0.01,
      {1.7034283709541311e-1, 1.2975252070034097e-2, 3.2527926989486055e-2, 2.6436421275166801e-2,
       1.9211784131744430e-1},
      {4.9976913345811579e-4, 4.5195666782961927e-5, 7.3973765172921357e-5, 7.3821238632439731e-5,
       8.9269630987491446e-4}},
     {24,
      200,
      0.0008,
      {112.5590409344, 11.80007595731, 27.10329767846, 24.69174937669, 263.8427874317},
      {4.419655736008, 0.4638531260002, 1.011551749967, 0.9235878729944, 10.18045837718}},
     {64,
      200,
      0.0008,
      {1.0806346714637264e2, 1.1319730901220813e1, 2.5974354511582465e1, 2.3665622544678910e1, 2.5278963211748344e2},
      {4.2348416040525025, 4.4390282496995698e-1, 9.6692480136345650e-1, 8.8302063039765474e-1, 9.7379901770829278}},
     {102,
      200,
      0.0003,
      {1.4233597229287254e3, 9.9330522590150238e1, 3.5646025644535285e2, 3.2485447959084092e2, 3.2707541254659363e3},
      {5.2969847140936856e1, 4.4632896115670668, 1.3122573342210174e1, 1.2006925323559144e1, 1.2459576151035986e2}},
     {162,
      200,
      0.0001,
      {6239.8116551764615, 507.93239190423964, 1542.3530093013596, 1330.2387929291190, 11604.087428436455},
      {164.62008369091265, 11.497107903824313, 41.207446207461508, 37.087651059694167, 362.11053051841265}}}};

constexpr std::size_t components = flow::components;
constexpr int block =
    components * components;  // upper 5 x 5 block of a point, by columns, followed by its right-hand side
constexpr int kept_numbers = block + static_cast<int>(components);

// Factors of the Jacobians of convection, viscous friction and diffusion in the equations along a line.
struct Factors {
  double convection, friction, diffusion;  // dt / (2 h), dt / h^2, dt d / h^2
};

// State of a point, with the velocity along the line first.
struct Point {
  Lanes inverse, normal, second, third, kinetic, energy;  // 1 / density, velocities, kinetic and total energy per mass
};

[[gnu::always_inline]] inline Point point_at(const Lines& lines, std::int64_t i) {
  const std::int64_t at = i * lines.u_step;
  Point p;
  p.inverse = Lanes(1) / Lanes(lines.u[0] + at);
  p.normal = p.inverse * Lanes(lines.u[1] + at), p.second = p.inverse * Lanes(lines.u[2] + at),
  p.third = p.inverse * Lanes(lines.u[3] + at);
  p.kinetic = Lanes(0.5) * (p.normal * p.normal + p.second * p.second + p.third * p.third);
  p.energy = p.inverse * Lanes(lines.u[4] + at);
  return p;
}

using Matrix = Lanes[components][components];

// Off-diagonal block, which couples a point with a neighbour: c (Jacobian of convection) - Jacobian of friction -
// diffusion (RNR-94-007, section 3.5.3). Elements that are not set are 0: [0][2..4], [2][3..4], [3][2], [3][4].
[[gnu::always_inline]] inline void neighbour(const Point& p, Lanes c, const Factors& f, Matrix& m) {
  using namespace flow;
  const Lanes shear = Lanes(f.friction * k3 * k4) * p.inverse, stretch = Lanes(4.0 / 3) * shear,
              heat = Lanes(k1 * k5) * shear, d(f.diffusion);
  const Lanes carried = c * p.normal, pressed = Lanes(-k2) * carried;
  m[0][0] = -d, m[0][1] = c;
  m[1][0] = c * (Lanes(k2) * p.kinetic - p.normal * p.normal) + stretch * p.normal;
  m[1][1] = Lanes(2 - k2) * carried - stretch - d;
  m[1][2] = Lanes(-k2) * c * p.second, m[1][3] = Lanes(-k2) * c * p.third, m[1][4] = Lanes(k2) * c;
  m[2][0] = (shear - carried) * p.second, m[2][1] = c * p.second, m[2][2] = carried - shear - d;
  m[3][0] = (shear - carried) * p.third, m[3][1] = c * p.third, m[3][3] = m[2][2];
  const Lanes around = p.second * p.second + p.third * p.third;
  m[4][0] = carried * (Lanes(2 * k2) * p.kinetic - Lanes(k1) * p.energy) + (stretch - heat) * p.normal * p.normal +
            (shear - heat) * around + heat * p.energy;
  m[4][1] = c * (Lanes(k1) * p.energy - Lanes(k2) * (p.kinetic + p.normal * p.normal)) - (stretch - heat) * p.normal;
  m[4][2] = (pressed - (shear - heat)) * p.second, m[4][3] = (pressed - (shear - heat)) * p.third;
  m[4][4] = Lanes(k1) * carried - heat - d;
}

// Diagonal block of a point: 1 + 2 (Jacobian of friction) + 2 diffusion.
[[gnu::always_inline]] inline void own(const Point& p, const Factors& f, Matrix& m) {
  using namespace flow;
  const Lanes shear = Lanes(2 * f.friction * k3 * k4) * p.inverse, stretch = Lanes(4.0 / 3) * shear,
              heat = Lanes(k1 * k5) * shear;
  const Lanes one(1 + 2 * f.diffusion), zero(0.0);
  for (auto& row : m)
    for (Lanes& entry : row) entry = zero;
  m[0][0] = one;
  m[1][0] = -(stretch * p.normal), m[1][1] = one + stretch;
  m[2][0] = -(shear * p.second), m[2][2] = one + shear;
  m[3][0] = -(shear * p.third), m[3][3] = one + shear;
  const Lanes around = p.second * p.second + p.third * p.third;
  m[4][0] = -((stretch - heat) * p.normal * p.normal + (shear - heat) * around + heat * p.energy);
  m[4][1] = (stretch - heat) * p.normal, m[4][2] = (shear - heat) * p.second, m[4][3] = (shear - heat) * p.third;
  m[4][4] = one + heat;
}

// b -= m x.
[[gnu::always_inline]] inline void subtract_product(const Matrix& m, const double* x, Lanes (&b)[components]) {
  const Lanes x0(x), x1(x + Lanes::width), x2(x + 2 * Lanes::width), x3(x + 3 * Lanes::width), x4(x + 4 * Lanes::width);
  b[0] -= m[0][0] * x0 + m[0][1] * x1;
  b[1] -= m[1][0] * x0 + m[1][1] * x1 + m[1][2] * x2 + m[1][3] * x3 + m[1][4] * x4;
  b[2] -= m[2][0] * x0 + m[2][1] * x1 + m[2][2] * x2;
  b[3] -= m[3][0] * x0 + m[3][1] * x1 + m[3][3] * x3;
  b[4] -= m[4][0] * x0 + m[4][1] * x1 + m[4][2] * x2 + m[4][3] * x3 + m[4][4] * x4;
}

// x <- m^-1 x, with m factored into L and U; its diagonal holds the inverse pivots.
[[gnu::always_inline]] inline void solve(const Matrix& m, Lanes (&x)[components], double* to) {
#pragma GCC unroll 5
  for (std::size_t i = 0; i < components; ++i) {
#pragma GCC unroll 5
    for (std::size_t j = 0; j < i; ++j) x[i] -= m[i][j] * x[j];
  }
#pragma GCC unroll 5
  for (std::size_t up = 0; up < components; ++up) {
    const std::size_t i = components - 1 - up;
#pragma GCC unroll 5
    for (std::size_t j = i + 1; j < components; ++j) x[i] -= m[i][j] * x[j];
    x[i] *= m[i][i];
  }
#pragma GCC unroll 5
  for (std::size_t i = 0; i < components; ++i) x[i].store(to + i * Lanes::width);
}

// Eliminates a point, given its predecessor: computes C' and r' of x_i = r'_i - C'_i x_{i+1}.
[[gnu::always_inline]] inline void eliminate_point(const Lines& lines, std::int64_t i, const Point& before,
                                                   const Point& here, const Point& after, const Factors& f,
                                                   const double* last, double* next) {
  Matrix low, diagonal, high;
  neighbour(before, Lanes(-f.convection), f, low);
  own(here, f, diagonal);
#pragma GCC unroll 5
  for (std::size_t column = 0; column < components; ++column) {
    Lanes b[components];
#pragma GCC unroll 5
    for (std::size_t row = 0; row < components; ++row) b[row] = diagonal[row][column];
    subtract_product(low, last + column * components * Lanes::width, b);
#pragma GCC unroll 5
    for (std::size_t row = 0; row < components; ++row) diagonal[row][column] = b[row];
  }
  Lanes r[components];
#pragma GCC unroll 5
  for (std::size_t row = 0; row < components; ++row) r[row] = Lanes(lines.rhs[row] + i * lines.rhs_step);
  subtract_product(low, last + block * Lanes::width, r);
#pragma GCC unroll 5
  for (std::size_t pivot = 0; pivot < components; ++pivot) {
    diagonal[pivot][pivot] = Lanes(1) / diagonal[pivot][pivot];
#pragma GCC unroll 5
    for (std::size_t row = pivot + 1; row < components; ++row) {
      diagonal[row][pivot] *= diagonal[pivot][pivot];
#pragma GCC unroll 5
      for (std::size_t column = pivot + 1; column < components; ++column)
        diagonal[row][column] -= diagonal[row][pivot] * diagonal[pivot][column];
    }
  }
  neighbour(after, Lanes(f.convection), f, high);
  const Lanes zero(0.0);
  high[0][2] = high[0][3] = high[0][4] = high[2][3] = high[2][4] = high[3][2] = high[3][4] = zero;
#pragma GCC unroll 5
  for (std::size_t column = 0; column < components; ++column) {
    Lanes c[components];
#pragma GCC unroll 5
    for (std::size_t row = 0; row < components; ++row) c[row] = high[row][column];
    solve(diagonal, c, next + column * components * Lanes::width);
  }
  solve(diagonal, r, next + block * Lanes::width);
}

KIVIAT_EVERY_WIDTH
void eliminate_lines(const Lines& lines, const Factors& factors) {
  const double* last = lines.border;
  Point before = point_at(lines, -1), here = point_at(lines, 0);
  for (std::int64_t i = 0; i < lines.points; ++i) {
    const Point after = point_at(lines, i + 1);
    double* next = lines.kept + i * kept_numbers * Lanes::width;
    eliminate_point(lines, i, before, here, after, factors, last, next);
    last = next, before = here, here = after;
  }
  if (last != lines.border) std::copy_n(last, kept_numbers * Lanes::width, lines.border);
}

KIVIAT_EVERY_WIDTH
void substitute_lines(const Lines& lines) {
  Lanes x[components];
  for (std::size_t m = 0; m < components; ++m) x[m] = Lanes(lines.border + m * Lanes::width);
  for (std::int64_t i = lines.points; i-- > 0;) {
    const double* kept = lines.kept + i * kept_numbers * Lanes::width;
    Lanes next[components];
    for (std::size_t m = 0; m < components; ++m) next[m] = Lanes(kept + (block + m) * Lanes::width);
    for (std::size_t column = 0; column < components; ++column)
      for (std::size_t m = 0; m < components; ++m)
        next[m] -= Lanes(kept + (column * components + m) * Lanes::width) * x[column];
    for (std::size_t m = 0; m < components; ++m) x[m] = next[m], x[m].store(lines.rhs[m] + i * lines.rhs_step);
  }
  for (std::size_t m = 0; m < components; ++m) x[m].store(lines.border + m * Lanes::width);
}

// Reorders components so that the momentum along the line comes first, which makes the equations the same for all axes.
Lines as_seen_along(std::size_t axis, Lines lines) {
  std::swap(lines.u[1], lines.u[1 + axis]), std::swap(lines.rhs[1], lines.rhs[1 + axis]);
  return lines;
}

// Cost of each point in operations: 12 for point_at; 60 for each of two off-diagonal blocks, 30 for the diagonal block;
// 36 for the product of a block, which has 18 nonzero elements of 25, with each of 6 columns (a block and a vector); 75
// for the factorisation; 45 for each of the 6 columns solved. Reads the state and the right-hand side, writes the
// numbers kept for substitution.
constexpr Cost elimination = {.flops = 12 + 2 * 60 + 30 + 6 * 36 + 75 + 6 * 45,
                              .bytes = 8 * (2 * components + kept_numbers)};
// Cost of a point: one product of a matrix and a vector.
constexpr Cost substitution = {.flops = 2 * block, .bytes = 8 * (kept_numbers + components)};

double operations(const FlowProblem& problem) {
  const double n = problem.n;
  return problem.steps * (3478.8 * n * n * n - 17655.7 * n * n + 28023.7 * n);
}

}  // namespace

FlowProgram kiviat::npb::bt_program(const Trial& t) {
  const FlowProblem& problem = of_class(t, problems);
  const flow::Spacing spacing(problem.n);
  std::array<Factors, 3> factors;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double second = problem.dt * spacing.second();
    factors[axis] = {problem.dt * spacing.first(), second, second * flow::diffusion[axis]};
  }
  const auto eliminate = [factors](const Lines& lines, std::size_t axis) {
    eliminate_lines(as_seen_along(axis, lines), factors[axis]);
  };
  const auto substitute = [](const Lines& lines, std::size_t axis) { substitute_lines(as_seen_along(axis, lines)); };
  return {problem,
          {kept_numbers, kept_numbers, components, elimination, substitution, eliminate, substitute},
          operations(problem)};
}

static void bt(Trial& t) {
  FlowSteps steps(t, bt_program(t));
  t.study([&] { steps("bt"); });
}

BENCHMARK(bt,
          .summary = "NAS BT: flow in a cube by block-tridiagonal systems along lines; ranks in multipartition",
          .source = "NAS Parallel Benchmarks, BT; Bailey et al., RNR-94-007, 1994, section 3, and NAS-95-020, 1995",
          .aka = {"BT", "npb"},
          .sampling = Sampling::study,
          .ranks = squares(),
          .sized = false,
          .buffers = false,
          .reports = quantities_with_flops(),
          .nominal_s = 20,
          .axes = {class_axis()},
          .section = "programs",
          .place = 1,
          .tabled = false,
          .problem = ProblemSize{.counts = "class", .words = "class {}"},
          .phases = FlowSteps::phase_names());
