// SP, scalar pentadiagonal: each time step solves one system per axis. In characteristic variables, each system becomes
// five scalar pentadiagonal equations along every line. multipartition.hpp distributes the cells. T. Pulliam, D.
// Chaussee, "A diagonal form of an implicit approximate-factorization algorithm", J. Comp. Phys. 39, 1981.
#include "bench/npb/flow_steps.hpp"

using namespace kiviat;
using namespace kiviat::npb;

namespace {

constexpr PerClass<FlowProblem> problems = {
    {{12,
      100,
      0.015,
      {2.7470315451339479e-2, 1.0360746705285417e-2, 1.6235745065095532e-2, 1.5840557224455615e-2,
       3.4849040609362460e-2},
      {2.7289258557377227e-5, 1.0364446640837285e-5, 1.6154798287166471e-5, 1.5750704994480102e-5,
       3.4177666183390531e-5}},
     {36,
      400,
      0.0015,
      {1.893253733584e-3, 1.717075447775e-4, 2.778153350936e-4, 2.887475409984e-4, 3.143611161242e-3},
      {7.542088599534e-5, 6.512852253086e-6, 1.049092285688e-5, 1.128838671535e-5, 1.212845639773e-4}},
     {64,
      400,
      0.0015,
      {2.4799822399300195, 1.1276337964368832, 1.5028977888770491, 1.4217816211695179, 2.1292113035138280},
      {1.0900140297820550e-4, 3.7343951769282091e-5, 5.0092785406541633e-5, 4.7671093939528255e-5,
       1.3621613399213001e-4}},
     {102,
      400,
      0.001,
      {69.03293579998, 30.95134488084, 41.03336647017, 38.64769009604, 56.43482272596},
      {9.810006190188e-3, 1.022827905670e-3, 1.720597911692e-3, 1.694479428231e-3, 1.847456263981e-2}},
     {162,
      400,
      0.00067,
      {588.1691581829, 245.4417603569, 329.3829191851, 308.1924971891, 459.7223799176},
      {0.2598120500183, 0.02590888922315, 0.05132886416320, 0.04806073419454, 0.5483377491301}}}};

constexpr std::size_t components = flow::components;
// Waves along a line: three travel with the flow, one with and one against the sound. Each speed has its own pair of
// upper coefficients.
constexpr std::size_t waves = 3;
constexpr std::size_t wave_of[components] = {0, 0, 0, 1, 2};
// Numbers kept for each point: upper coefficients, then right-hand sides.
constexpr int right = 2 * static_cast<int>(waves), kept_numbers = right + static_cast<int>(components);

using Values = Lanes[components];

struct Factors {
  double convection, friction, diffusion,
      smoothing;  // dt / (2 h), dt k3 k4 / h^2, dt d / h^2, dt times the dissipation
};

// State of a point, as used by the equations along a line.
struct Point {
  Lanes speed, sound;  // speed of the flow along the line, speed of sound
  Lanes spread;        // diffusion plus the largest viscous coefficient of all components, that of heat
};

struct State {
  Lanes density, inverse, x, y, z, kinetic, sound_squared;
};

[[gnu::always_inline]] inline State state_at(const Lines& lines, std::int64_t i) {
  const std::int64_t at = i * lines.u_step;
  State s;
  s.density = Lanes(lines.u[0] + at), s.inverse = Lanes(1.0) / s.density;
  s.x = s.inverse * Lanes(lines.u[1] + at), s.y = s.inverse * Lanes(lines.u[2] + at),
  s.z = s.inverse * Lanes(lines.u[3] + at);
  s.kinetic = Lanes(0.5) * (s.x * s.x + s.y * s.y + s.z * s.z);
  s.sound_squared = Lanes(flow::k1 * flow::k2) * (s.inverse * Lanes(lines.u[4] + at) - s.kinetic);
  return s;
}

template <std::size_t axis>
[[gnu::always_inline]] inline Point point_of(const State& s, const Factors& f) {
  return {axis == 0   ? s.x
          : axis == 1 ? s.y
                      : s.z,
          s.sound_squared.root(), Lanes(f.diffusion) + Lanes(f.friction * flow::k1 * flow::k5) * s.inverse};
}

const double root_of_half = std::sqrt(0.5);

// Transforms to the characteristic variables of the x axis.
[[gnu::always_inline]] inline void enter_x(const State& s, Lanes sound, Values& r) {
  const Lanes pressed =
      Lanes(flow::k2) / s.sound_squared * (s.kinetic * r[0] - s.x * r[1] - s.y * r[2] - s.z * r[3] + r[4]);
  const Lanes scale = Lanes(root_of_half) * s.inverse, drift = scale * (s.x * r[0] - r[1]),
              wave = scale * sound * pressed;
  const Lanes turn_z = s.inverse * (r[3] - s.z * r[0]), turn_y = s.inverse * (s.y * r[0] - r[2]);
  r[0] = r[0] - pressed, r[1] = turn_z, r[2] = turn_y, r[3] = wave - drift, r[4] = wave + drift;
}
// Transforms from the variables of the x axis to those of y, and from those of y to those of z.
[[gnu::always_inline]] inline void turn_x_to_y(Values& r) {
  const Lanes sum = Lanes(0.5) * (r[3] + r[4]), difference = Lanes(root_of_half) * (r[3] - r[4]),
              third = Lanes(root_of_half) * r[2], first = r[0];
  r[0] = -r[1], r[1] = first, r[2] = difference, r[3] = sum - third, r[4] = sum + third;
}
[[gnu::always_inline]] inline void turn_y_to_z(Values& r) {
  const Lanes sum = Lanes(0.5) * (r[3] + r[4]), difference = Lanes(root_of_half) * (r[3] - r[4]),
              first = Lanes(root_of_half) * r[0], second = r[1];
  r[0] = difference, r[1] = -r[2], r[2] = second, r[3] = sum - first, r[4] = sum + first;
}
// Transforms back from the variables of the z axis.
[[gnu::always_inline]] inline void leave_z(const State& s, Values& r) {
  const Lanes sound = s.sound_squared.root(), scale = Lanes(root_of_half) * s.density;
  const Lanes wave = scale / sound * (r[3] + r[4]), mass = r[2] + wave, rise = scale * (r[3] - r[4]);
  const Lanes turn_x = s.density * r[1], turn_y = s.density * r[0];
  r[0] = mass, r[1] = s.x * mass - turn_x, r[2] = s.y * mass + turn_y, r[3] = s.z * mass + rise;
  r[4] = s.kinetic * mass - s.x * turn_x + s.y * turn_y + Lanes(1 / flow::k2) * s.sound_squared * wave + s.z * rise;
}

// Eliminates a point, given its two predecessors: computes c, d and r of x_i = r_i - c_i x_{i+1} - d_i x_{i+2}. `own`:
// weight of the point itself in the dissipation.
[[gnu::always_inline]] inline void eliminate_point(const Point& before, const Point& here, const Point& after,
                                                   double own, const Factors& f, const double* older,
                                                   const double* last, Values& r, double* next) {
  const Lanes convection(f.convection), outer(f.smoothing), inner(4 * f.smoothing);
  const Lanes low = -(convection * before.speed + before.spread + inner), low_sound = convection * before.sound;
  const Lanes high = convection * after.speed - after.spread - inner, high_sound = convection * after.sound;
  const Lanes diagonal = Lanes(1 + own * f.smoothing) + Lanes(2.0) * here.spread;
  const Lanes lows[waves] = {low, low - low_sound, low + low_sound},
              highs[waves] = {high, high + high_sound, high - high_sound};
  Lanes seconds[waves], pivots[waves];
#pragma GCC unroll 3
  for (std::size_t w = 0; w < waves; ++w) {
    const double* const c = last + 2 * w * Lanes::width;
    const double* const c_older = older + 2 * w * Lanes::width;
    seconds[w] = lows[w] - outer * Lanes(c_older);
    pivots[w] = Lanes(1.0) / (diagonal - outer * Lanes(c_older + Lanes::width) - seconds[w] * Lanes(c));
    (pivots[w] * (highs[w] - seconds[w] * Lanes(c + Lanes::width))).store(next + 2 * w * Lanes::width);
    (pivots[w] * outer).store(next + (2 * w + 1) * Lanes::width);
  }
#pragma GCC unroll 5
  for (std::size_t m = 0; m < components; ++m) {
    const std::size_t w = wave_of[m], at = (right + m) * Lanes::width;
    (pivots[w] * (r[m] - outer * Lanes(older + at) - seconds[w] * Lanes(last + at))).store(next + at);
  }
}

template <std::size_t axis>
[[gnu::always_inline]] inline void eliminate_along(const Lines& lines, const Factors& f) {
  constexpr std::int64_t numbers = kept_numbers * Lanes::width;
  const double *older = lines.border, *last = lines.border + numbers;
  State state = state_at(lines, 0);
  Point before = point_of<axis>(state_at(lines, -1), f), here = point_of<axis>(state, f);
  for (std::int64_t i = 0; i < lines.points; ++i) {
    const State next_state = state_at(lines, i + 1);
    const Point after = point_of<axis>(next_state, f);
    Values r;
#pragma GCC unroll 5
    for (std::size_t m = 0; m < components; ++m) {
      if (axis == 2)
        __builtin_prefetch(lines.u[m] + (i + 1) * lines.u_step + Lanes::width),
            __builtin_prefetch(lines.rhs[m] + i * lines.rhs_step + Lanes::width);
      r[m] = Lanes(lines.rhs[m] + i * lines.rhs_step);
    }
    if (axis == 0) enter_x(state, here.sound, r);
    const bool beside_face = lines.below + i == 1 || (lines.above == 1 && i == lines.points - 1);
    double* const next = lines.kept + i * numbers;
    eliminate_point(before, here, after, beside_face ? 5 : 6, f, older, last, r, next);
    older = last, last = next, before = here, here = after, state = next_state;
  }
  if (lines.points == 0) return;
  std::copy_n(older, numbers, lines.border);
  std::copy_n(last, numbers, lines.border + numbers);
}

template <std::size_t axis>
[[gnu::always_inline]] inline void substitute_along(const Lines& lines) {
  Values after, second;
  for (std::size_t m = 0; m < components; ++m)
    after[m] = Lanes(lines.border + m * Lanes::width),
    second[m] = Lanes(lines.border + (components + m) * Lanes::width);
  for (std::int64_t i = lines.points; i-- > 0;) {
    const double* const kept = lines.kept + i * kept_numbers * Lanes::width;
    Values x;
#pragma GCC unroll 5
    for (std::size_t m = 0; m < components; ++m) {
      const double* const c = kept + 2 * wave_of[m] * Lanes::width;
      x[m] = Lanes(kept + (right + m) * Lanes::width) - Lanes(c) * after[m] - Lanes(c + Lanes::width) * second[m];
      second[m] = after[m], after[m] = x[m];
    }
    if (axis == 0) turn_x_to_y(x);
    if (axis == 1) turn_y_to_z(x);
    if (axis == 2) leave_z(state_at(lines, i), x);
#pragma GCC unroll 5
    for (std::size_t m = 0; m < components; ++m) x[m].store(lines.rhs[m] + i * lines.rhs_step);
  }
  for (std::size_t m = 0; m < components; ++m)
    after[m].store(lines.border + m * Lanes::width), second[m].store(lines.border + (components + m) * Lanes::width);
}

KIVIAT_EVERY_WIDTH void eliminate_x(const Lines& lines, const Factors& f) { eliminate_along<0>(lines, f); }
KIVIAT_EVERY_WIDTH void eliminate_y(const Lines& lines, const Factors& f) { eliminate_along<1>(lines, f); }
KIVIAT_EVERY_WIDTH void eliminate_z(const Lines& lines, const Factors& f) { eliminate_along<2>(lines, f); }
KIVIAT_EVERY_WIDTH void substitute_x(const Lines& lines) { substitute_along<0>(lines); }
KIVIAT_EVERY_WIDTH void substitute_y(const Lines& lines) { substitute_along<1>(lines); }
KIVIAT_EVERY_WIDTH void substitute_z(const Lines& lines) { substitute_along<2>(lines); }

// Cost of each point in operations: 20 for derived quantities, 18 for coefficients, 13 for each wave, 5 for each
// component, and 10 (a third of 30) for the change to the variables of the x axis. Reads the state and the right-hand
// side, writes the numbers kept for substitution.
constexpr Cost elimination = {.flops = 20 + 18 + 13 * waves + 5 * components + 10,
                              .bytes = 8 * (2 * components + kept_numbers)};
// Operations: 4 for each component, and on average 22 for the changes of variables (8, 8, and 50 including those of the
// state).
constexpr Cost substitution = {.flops = 4 * components + 22, .bytes = 8 * (kept_numbers + components)};

double operations(const FlowProblem& problem) {
  const double n = problem.n;
  return problem.steps * (881.174 * n * n * n - 4683.91 * n * n + 11484.5 * n - 19272.4);
}

}  // namespace

FlowProgram kiviat::npb::sp_program(const Trial& t) {
  const FlowProblem& problem = of_class(t, problems);
  const flow::Spacing spacing(problem.n);
  std::array<Factors, 3> factors;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double second = problem.dt * spacing.second();
    factors[axis] = {problem.dt * spacing.first(), second * flow::k3 * flow::k4, second * flow::diffusion[axis],
                     problem.dt * flow::dissipation};
  }
  const auto eliminate = [factors](const Lines& lines, std::size_t axis) {
    constexpr std::array along = {eliminate_x, eliminate_y, eliminate_z};
    along[axis](lines, factors[axis]);
  };
  const auto substitute = [](const Lines& lines, std::size_t axis) {
    constexpr std::array along = {substitute_x, substitute_y, substitute_z};
    along[axis](lines);
  };
  return {problem,
          {kept_numbers, 2 * kept_numbers, 2 * components, elimination, substitution, eliminate, substitute},
          operations(problem)};
}

static void sp(Trial& t) {
  FlowSteps steps(t, sp_program(t));
  t.study([&] { steps("sp"); });
}

BENCHMARK(sp,
          .summary = "NAS SP: flow in a cube by scalar pentadiagonal systems along lines; ranks in multipartition",
          .source = "NAS Parallel Benchmarks, SP; Bailey et al., RNR-94-007, 1994, section 3, and NAS-95-020, 1995",
          .aka = {"SP", "npb"},
          .sampling = Sampling::study,
          .ranks = squares(),
          .sized = false,
          .buffers = false,
          .reports = quantities_with_flops(),
          .nominal_s = 15,
          .axes = {class_axis()},
          .section = "programs",
          .place = 8,
          .tabled = false,
          .problem = ProblemSize{.counts = "class", .words = "class {}"},
          .phases = FlowSteps::phase_names());
