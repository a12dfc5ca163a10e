// EP, embarrassingly parallel: pairs of Gaussian deviates by Marsaglia's polar method, counted by square annuli around
// 0. Only sums are communicated.
#include <bit>
#include <numeric>

#include "bench/npb/outcome.hpp"
#include "bench/npb/problem_class.hpp"
#include "kernels/lcg.hpp"
#include "kernels/target_clones.hpp"
#include "platform/compute.hpp"

using namespace kiviat;
using namespace kiviat::npb;

namespace {

constexpr int annuli = 10;
constexpr std::int64_t pairs_at_once = 1024;
constexpr PerClass<int> log2_pairs = {24, 25, 28, 30, 32};
constexpr PerClass<std::array<double, 2>> published = {{{-3.247834652034740e3, -6.958407078382297e3},
                                                        {-2.863319731645753e3, -6.320053679109499e3},
                                                        {-4.295875165629892e3, -1.580732573678431e4},
                                                        {4.033815542441498e4, -2.660669192809235e4},
                                                        {4.764367927995374e4, -8.084072988043731e4}}};
// Operations per pair: two random numbers, a logarithm of 10 terms, two divisions and a square root.
constexpr double flops_of_pair = 45;

struct Sums {
  double x = 0, y = 0;
  double accepted = 0;  // pairs inside the unit circle
  double in_annulus[annuli] = {};
};

// Several streams for SIMD; each generates every `lanes`-th number.
constexpr int lanes = 16;
constexpr std::uint64_t all_lanes = Lcg::steps(lanes);

// Converts an integer below 2^52 to double, by placing it behind the leading bit of 2^52.
[[gnu::always_inline]] inline double exactly(std::uint64_t number) {
  constexpr std::uint64_t two_to_52 = 0x4330000000000000;
  return std::bit_cast<double>(number | two_to_52) - 0x1p52;
}

// Natural logarithm of a positive number t = 2^e m with m near 1: e ln 2 + 2 atanh((m - 1) / (m + 1)). It has no
// branches, so several are computed at once. The error is of the order of the last bit.
[[gnu::always_inline]] inline double logarithm(double t) {
  constexpr std::uint64_t root_of_half = 0x3fe6a09e667f3bcd, mantissa = 0x000fffffffffffff;
  // Adds 2048 to the exponent, to keep it positive.
  const std::uint64_t shifted = std::bit_cast<std::uint64_t>(t) - root_of_half + (std::uint64_t{2048} << 52);
  const double exponent = exactly((shifted >> 52) & 0xfff) - 2048;
  const double m = std::bit_cast<double>((shifted & mantissa) + root_of_half);
  const double s = (m - 1) / (m + 1), z = s * s;
  double series = 1.0 / 21;
  series = series * z + 1.0 / 19, series = series * z + 1.0 / 17, series = series * z + 1.0 / 15;
  series = series * z + 1.0 / 13, series = series * z + 1.0 / 11, series = series * z + 1.0 / 9;
  series = series * z + 1.0 / 7, series = series * z + 1.0 / 5, series = series * z + 1.0 / 3;
  constexpr double ln2_high = 0x1.62e42fefap-1, ln2_low = 0x1.cf79abc9e3b39p-40;
  return exponent * ln2_high + (2 * s + (2 * s * z * series + exponent * ln2_low));
}

// Adds the counts and sums of pairs [first, first + count) of the stream.
KIVIAT_EVERY_WIDTH
void add_pairs(std::int64_t first, std::int64_t count, Sums& sums) {
  alignas(64) double numbers[2 * pairs_at_once], size[pairs_at_once];
  alignas(64) std::uint64_t states[lanes];
  Lcg stream(Lcg::seed_of_ep(), 2 * static_cast<std::uint64_t>(first));
  for (std::uint64_t& state : states) stream(), state = stream.state();
  for (std::int64_t done = 0; done < count; done += pairs_at_once) {
    const std::int64_t now = std::min(pairs_at_once, count - done);
    for (std::int64_t i = 0; i < 2 * now; i += lanes)
      for (int lane = 0; lane < lanes; ++lane) {
        numbers[i + lane] = exactly(states[lane]) * 0x1p-45 - 1;
        states[lane] = states[lane] * all_lanes & Lcg::mask;
      }
    double x_sum = 0, y_sum = 0, accepted = 0;
#pragma omp simd reduction(+ : x_sum, y_sum, accepted)
    for (std::int64_t i = 0; i < now; ++i) {
      const double x = numbers[2 * i], y = numbers[2 * i + 1], t = x * x + y * y;
      const bool inside = t <= 1;
      const double radius = std::sqrt(-2 * logarithm(t) / t), factor = inside ? radius : 0;
      const double gauss_x = x * factor, gauss_y = y * factor;
      x_sum += gauss_x, y_sum += gauss_y, accepted += inside ? 1 : 0;
      size[i] = std::max(std::abs(gauss_x), std::abs(gauss_y));
    }
    sums.x += x_sum, sums.y += y_sum, sums.accepted += accepted;
    // Counts the pairs outside of each annulus, because hardly any lie beyond the first few.
    for (int annulus = 0; accepted > 0; ++annulus) {
      double beyond = 0;
#pragma omp simd reduction(+ : beyond)
      for (std::int64_t i = 0; i < now; ++i) beyond += size[i] >= annulus + 1 ? 1 : 0;
      sums.in_annulus[annulus] += accepted - beyond, accepted = beyond;
    }
  }
}

class Program {
 public:
  static PhaseNames phase_names() { return {{"pairs"}, {"sums"}}; }
  explicit Program(Trial& t) : t_(t) {
    const std::int64_t pieces = (std::int64_t{1} << of_class(t, log2_pairs)) / pairs_at_once;
    first_ = pieces * t.rank() / t.ranks() * pairs_at_once;
    count_ = pieces * (t.rank() + 1) / t.ranks() * pairs_at_once - first_;
  }

  void operator()() {
    // Warm-up.
    add_pairs(0, pairs_at_once, sums_);
    MPI_Allreduce(MPI_IN_PLACE, &sums_, sizeof sums_ / sizeof(double), MPI_DOUBLE, MPI_SUM, t_.comm());
    const double time_s = t_.measured("ep", [&] { tabulate(); });
    tell_rate(t_, std::ldexp(2, of_class(t_, log2_pairs)), time_s);
    phases_.tell(t_);
    Verification verification(1e-8);
    verification.expect("the sum of X", of_class(t_, published)[0], sums_.x);
    verification.expect("the sum of Y", of_class(t_, published)[1], sums_.y);
    verification.expect("pairs in all annuli", sums_.accepted,
                        std::accumulate(sums_.in_annulus, sums_.in_annulus + annuli, 0.0));
    verification.tell(t_);
  }

 private:
  void tabulate() {
    Sums mine;
    phases_(0, [&] {
      work::run({.flops = flops_of_pair * static_cast<double>(count_)}, [&] { add_pairs(first_, count_, mine); });
    });
    phases_(1, [&] { MPI_Allreduce(&mine, &sums_, sizeof mine / sizeof(double), MPI_DOUBLE, MPI_SUM, t_.comm()); });
  }

  Trial& t_;
  std::int64_t first_, count_;
  Sums sums_;
  Phases phases_{phase_names()};
};

}  // namespace

static void ep(Trial& t) {
  Program program(t);
  t.study(std::ref(program));
}

BENCHMARK(ep,
          .summary = "NAS EP: Gaussian pairs, tabulated; hardly any communication",
          .source = "NAS Parallel Benchmarks, EP; Bailey et al., RNR-94-007, 1994, section 2.2",
          .aka = {"EP"},
          .sampling = Sampling::study,
          .ranks = at_least(1),
          .sized = false,
          .buffers = false,
          .reports = quantities(),
          .nominal_s = 5,
          .axes = {class_axis()},
          .section = "programs",
          .place = 3,
          .tabled = false,
          .problem = ProblemSize{.counts = "class", .words = "class {}"},
          .phases = Program::phase_names());
