// MG: V cycles of multigrid for a Poisson equation on a periodic cube. After each operation every rank exchanges the
// surface of its part with its neighbours, on all grids: long messages on the finest, short ones between distant ranks
// on the coarsest. Operations are memory-bound, so successive operations are fused plane by plane while their planes
// are in the cache; only a few planes of the residual are then stored. If other ranks have neighbours of a plane along
// x or y, all residuals are computed first, because their halo arrives in one message.
#include <cmath>

#include "bench/memory.hpp"
#include "bench/npb/charges.hpp"
#include "bench/npb/halo.hpp"
#include "bench/npb/multigrid_kernels.hpp"
#include "bench/npb/outcome.hpp"
#include "bench/npb/planes.hpp"
#include "bench/npb/problem_class.hpp"

using namespace kiviat;
using namespace kiviat::npb;

namespace {

struct Size {
  int n, iterations;
};
constexpr PerClass<Size> sizes = {{{32, 4}, {128, 4}, {256, 4}, {256, 20}, {512, 20}}};
constexpr PerClass<double> published = {0.5307707005734e-4, 0.6467329375339e-5, 0.2433365309069e-5, 0.1800564401355e-5,
                                        0.5706732285740e-6};

// Weights of the negated operator, used for residuals, and of the smoother, an approximate inverse of the operator.
constexpr Weights minus_laplacian = {8.0 / 3, 0, -1.0 / 6, -1.0 / 12};
constexpr Weights smoother_sa = {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0}, smoother_bc = {-3.0 / 17, 1.0 / 33, -1.0 / 61, 0};
constexpr PerClass<Weights> smoothers = {smoother_sa, smoother_sa, smoother_sa, smoother_bc, smoother_bc};

// Cost per point of the (finer) grid. Flops: sums of planes and rows, and one product per weight. Bytes: grids read and
// written; a grid that is written without having been read is fetched first.
constexpr double apply_flops = 18, restrict_flops = 3.5, interpolate_flops = 4;

class Program {
 public:
  static PhaseNames phase_names() {
    return {{"finest grid", "coarser grids"}, {"exchange, finest grid", "exchange, coarser grids"}};
  }
  explicit Program(Trial& t)
      : t_(t),
        size_(of_class(t, sizes)),
        smoother_(of_class(t, smoothers)),
        ranks_(t.ranks()),
        halo_(t.comm(), ranks_, t.rank()) {
    if (std::ranges::max(ranks_.size) > size_.n)
      throw Skip("class=" + t.text("class") + " has " + std::to_string(size_.n) + " points a side, too few for " +
                 std::to_string(t.ranks()) + " ranks: give fewer ranks, or a larger class");
    levels_ = levels_of(size_.n, ranks_, t.rank());
    top_ = levels_.size() - 1;
  }

  void operator()() {
    const HugePages memory = allocate();
    const bool computed = host::carries_payload();
    if (computed) place(of_all(extremes_of(levels_[top_]), t_.comm()), levels_[top_], right_[top_]);
    cycle(), residual_norm();  // warm-up
    if (computed) std::fill_n(solution_[top_] - levels_[top_].box.origin, levels_[top_].box.elements, 0.0);
    phases_.reset();
    double norm = 0;
    const double time_s = t_.measured("mg", [&] {
      for (int i = 0; i < size_.iterations; ++i) cycle();
      norm = residual_norm();
    });
    tell_rate(t_, 58 * std::pow(size_.n, 3) * size_.iterations, time_s);
    phases_.tell(t_);
    Verification verification(1e-8);
    verification.expect("the norm of the residual", of_class(t_, published), norm);
    verification.tell(t_);
  }

 private:
  enum Phase { finest, coarser, exchange_finest, exchange_coarser };

  HugePages allocate() {
    std::int64_t elements = 0, residual = 0;
    const auto take = [&](std::int64_t count) {
      const std::int64_t begin = elements;
      elements += (count + Box::line - 1) / Box::line * Box::line;
      return begin;
    };
    std::vector<std::int64_t> solutions, rights;
    for (const Level& level : levels_) {
      solutions.push_back(take(level.box.elements) + level.box.origin);
      rights.push_back(take(level.box.elements) + level.box.origin);
      residual = std::max(residual, flows(level) ? Planes::elements_of_some(level.box) : level.box.elements);
    }
    residual = take(residual);
    const std::int64_t messages = take(Halo::elements_of(levels_[top_].box));
    refuse_more_than_available(t_, "class=" + t_.text("class"), 8.0 * static_cast<double>(elements));
    HugePages memory = pages_of(t_, static_cast<std::size_t>(elements) * sizeof(double));
    double* const begin = memory.as<double>();
    for (const std::int64_t at : solutions) solution_.push_back(begin + at);
    for (const std::int64_t at : rights) right_.push_back(begin + at);
    residual_ = begin + residual;
    halo_.use(begin + messages, levels_[top_].box);
    return memory;
  }

  // --- a V cycle -----------------------------------------------------------------------------------

  void cycle() {
    restrict_residual();
    for (std::size_t i = top_ - 1; i > 0 && levels_[i - 1].active(); --i) {
      compute(i, {.flops = restrict_flops, .bytes = 10}, [&] { restrict_planes(i, 0, coarse_planes(i), right(i)); });
      exchange(i - 1, right_[i - 1]);
    }
    if (levels_[0].active()) {
      compute(0, {.flops = apply_flops, .bytes = 24}, [&] {
        std::fill_n(solution_[0] - levels_[0].box.origin, levels_[0].box.elements, 0.0);
        smooth(0, 0, planes(0), right(0));
      });
      exchange(0, solution_[0]);
    }
    // On coarse levels some ranks are inactive; they take part in finer ones again.
    for (std::size_t i = 1; i <= top_; ++i)
      if (levels_[i].active()) correct(i);
  }

  // Restricts the residual from the finest grid down to the coarsest.
  void restrict_residual() {
    const Planes residual = residual_of(top_);
    const int last = planes(top_) - 1;
    const bool coarse_too = levels_[top_ - 1].active();
    if (flows(levels_[top_])) {
      // Planes that neighbours wait for are computed first.
      compute(
          top_, {.flops = apply_flops, .bytes = 18},
          [&] { subtract(top_, 0, 1, residual), subtract(top_, last, last + 1, residual); }, 2);
      start_ends(top_, residual);
      compute(
          top_, {.flops = apply_flops + restrict_flops, .bytes = 18},
          [&] {
            for (int z = 1; z < last; z += 2) {
              subtract(top_, z, std::min(z + 2, last), residual);
              if (z + 1 < last) restrict_planes(top_, z / 2, z / 2 + 1, residual);
            }
          },
          last - 1);
      finish_ends(top_, residual);
      compute(top_, {.flops = 2 * restrict_flops}, [&] { restrict_planes(top_, last / 2, last / 2 + 1, residual); }, 1);
    } else {
      compute(top_, {.flops = apply_flops, .bytes = 32}, [&] { subtract(top_, 0, last + 1, residual); });
      exchange(top_, residual(0));
      if (coarse_too)
        compute(top_, {.flops = restrict_flops, .bytes = 10},
                [&] { restrict_planes(top_, 0, coarse_planes(top_), residual); });
    }
    if (coarse_too) exchange(top_ - 1, right_[top_ - 1]);
  }

  // Interpolates the solution of the next coarser grid, then applies the smoother to the residual.
  void correct(std::size_t i) {
    phases_(i == top_ ? exchange_finest : exchange_coarser,
            [&] { halo_.spread(levels_[i], levels_[i - 1], solution_[i - 1]); });
    const Planes residual = residual_of(i);
    const int last = planes(i) - 1;
    if (flows(levels_[i])) {
      compute(
          i, {.flops = apply_flops + 3 * interpolate_flops, .bytes = 26},
          [&] {
            interpolate(i, -1, 2), interpolate(i, last - 1, last + 2);
            subtract(i, 0, 1, residual), subtract(i, last, last + 1, residual);
          },
          2);
      start_ends(i, residual);
      compute(
          i, {.flops = 2 * apply_flops + interpolate_flops, .bytes = 25},
          [&] {
            for (int z = 1; z < last; ++z) {
              if (z + 1 < last - 1) interpolate(i, z + 1, z + 2);
              subtract(i, z, z + 1, residual);
              if (z > 1) smooth(i, z - 1, z, residual);
            }
            smooth(i, last - 1, last, residual);
          },
          last - 1);
      finish_ends(i, residual);
      compute(
          i, {.flops = apply_flops, .bytes = 24},
          [&] { smooth(i, 0, 1, residual), smooth(i, last, last + 1, residual); }, 2);
    } else {
      compute(i, {.flops = apply_flops + interpolate_flops, .bytes = 41}, [&] {
        interpolate(i, -1, 1);
        for (int z = 0; z <= last; ++z) interpolate(i, z + 1, z + 2), subtract(i, z, z + 1, residual);
      });
      exchange(i, residual(0));
      compute(i, {.flops = apply_flops, .bytes = 24}, [&] { smooth(i, 0, last + 1, residual); });
    }
    exchange(i, solution_[i], flows(levels_[i]) ? 2 : 0);
  }

  double residual_norm() {
    const Planes residual = residual_of(top_);
    double mine = 0, all = 0;
    compute(top_, {.flops = apply_flops + 2, .bytes = 16}, [&] {
      for (int z = 0; z < planes(top_); ++z) {
        subtract(top_, z, z + 1, residual);
        mine += squares_of_plane(residual(z), plane_size(levels_[top_].box));
      }
    });
    phases_(exchange_finest, [&] { MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, t_.comm()); });
    return std::sqrt(all / std::pow(size_.n, 3));
  }

  // --- operations of a V cycle, on planes first .. end - 1 of level i ------------------------------

  // residual = right-hand side - operator applied to the solution
  void subtract(std::size_t i, int first, int end, const Planes& residual) const {
    const Box& box = levels_[i].box;
    for (int z = first; z < end; ++z) {
      const double *const right = right_[i] + z * box.plane, *const middle = solution_[i] + z * box.plane;
      apply_to_plane(minus_laplacian, residual(z), right, {middle - box.plane, middle, middle + box.plane},
                     plane_size(box));
      if (flows(levels_[i])) close_plane(box, residual(z));
    }
  }

  // solution += smoother applied to the residual
  void smooth(std::size_t i, int first, int end, const Planes& residual) const {
    const Box& box = levels_[i].box;
    for (int z = first; z < end; ++z) {
      double* const solution = solution_[i] + z * box.plane;
      apply_to_plane(smoother_, solution, solution, {residual(z - 1), residual(z), residual(z + 1)}, plane_size(box));
      if (flows(levels_[i])) close_plane(box, solution);
    }
  }

  // Restricts planes to level i - 1; planes are numbered on level i - 1.
  void restrict_planes(std::size_t i, int first, int end, const Planes& from) const {
    const Box &fine = levels_[i].box, &coarse = levels_[i - 1].box;
    const Place offset = offset_to(i);
    for (int z = first; z < end; ++z) {
      const int at = 2 * z + offset[2];
      double* const to = right_[i - 1] + z * coarse.plane;
      restrict_to_plane(to, plane_size(coarse), {from(at - 1), from(at), from(at + 1)}, fine.row, offset[0], offset[1]);
    }
  }

  // Adds the interpolated solution of level i - 1, also to the halo. On all grids but the finest the solution is 0
  // before.
  void interpolate(std::size_t i, int first, int end) const {
    const Box &fine = levels_[i].box, &coarse = levels_[i - 1].box;
    const Place offset = offset_to(i);
    for (int z = first; z < end; ++z) {
      double* const to = solution_[i] + z * fine.plane;
      if (i < top_) std::fill_n(to - fine.row - 1, fine.plane - fine.row + fine.points[0] + 2, 0.0);
      const double* const lower = solution_[i - 1] + ((z - offset[2]) >> 1) * coarse.plane;
      const double* const upper = solution_[i - 1] + ((z - offset[2] + 1) >> 1) * coarse.plane;
      add_interpolated(to, plane_size(fine), lower, upper, coarse.row, offset[0], offset[1]);
    }
  }

  // --- levels ------------------------------------------------------------------------------------------

  int planes(std::size_t i) const { return levels_[i].box.points[2]; }
  int coarse_planes(std::size_t i) const { return levels_[i - 1].box.points[2]; }
  Place offset_to(std::size_t i) const {
    const auto &fine = levels_[i].segments, &coarse = levels_[i - 1].segments;
    return {offset_of(fine[0], coarse[0]), offset_of(fine[1], coarse[1]), offset_of(fine[2], coarse[2])};
  }
  // Returns whether the rank's neighbours on other ranks are only below and above, and operations can be fused.
  bool flows(const Level& level) const {
    return halo_.closed(level, 0) && halo_.closed(level, 1) && level.box.points[2] >= Planes::least_for_some;
  }
  static PlaneSize plane_size(const Box& box) { return {box.points[0], box.points[1], box.row}; }
  Planes residual_of(std::size_t i) const {
    const Box& box = levels_[i].box;
    return flows(levels_[i]) ? Planes::some(residual_, box) : Planes::all(residual_ + box.origin, box);
  }
  Planes right(std::size_t i) const { return Planes::all(right_[i], levels_[i].box); }

  // `cost` is per point; the kernel computes `of_planes` planes.
  template <class Kernel>
  void compute(std::size_t i, const Cost& cost, Kernel kernel, int of_planes) {
    const double points = static_cast<double>(levels_[i].box.points[0]) * levels_[i].box.points[1] * of_planes;
    const Cost all{.flops = cost.flops * points, .bytes = cost.bytes * points};
    phases_(i == top_ ? finest : coarser, [&] { work::run(all, kernel); });
  }
  template <class Kernel>
  void compute(std::size_t i, const Cost& cost, Kernel kernel) {
    compute(i, cost, kernel, planes(i));
  }

  void exchange(std::size_t i, double* grid, int first_side = 0) {
    phases_(i == top_ ? exchange_finest : exchange_coarser, [&] { halo_.exchange(levels_[i], grid, first_side); });
  }
  // Starts the exchange of the lowest and the highest plane.
  void start_ends(std::size_t i, const Planes& of) {
    phases_(i == top_ ? exchange_finest : exchange_coarser,
            [&] { halo_.start(levels_[i], 2, of(0), from_highest(i, of)); });
  }
  void finish_ends(std::size_t i, const Planes& of) {
    phases_(i == top_ ? exchange_finest : exchange_coarser,
            [&] { halo_.finish(levels_[i], 2, of(0), from_highest(i, of)); });
  }
  // Returns the address of plane 0 of a grid whose highest plane is the given one.
  double* from_highest(std::size_t i, const Planes& of) const {
    return of(planes(i) - 1) - (planes(i) - 1) * levels_[i].box.plane;
  }

  Trial& t_;
  Size size_;
  Weights smoother_;
  RankBox ranks_;
  Halo halo_;
  std::vector<Level> levels_;
  std::size_t top_ = 0;
  std::vector<double*> solution_, right_;  // address of point (0, 0, 0) of each level
  double* residual_ = nullptr;             // memory of the residual
  Phases phases_{phase_names()};
};

}  // namespace

static void mg(Trial& t) {
  Program program(t);
  t.study(std::ref(program));
}

BENCHMARK(mg,
          .summary = "NAS MG: V cycles of multigrid in three dimensions; exchange of surfaces, long and short, near and far",
          .source = "NAS Parallel Benchmarks, MG; Bailey et al., RNR-94-007, 1994, section 2.3",
          .aka = {"MG", "npb"},
          .sampling = Sampling::study,
          .ranks = powers_of_two(),
          .sized = false,
          .buffers = false,
          .reports = quantities(),
          .nominal_s = 3,
          .axes = {class_axis()},
          .section = "programs",
          .place = 7,
          .tabled = false,
          .problem = ProblemSize{.counts = "class", .words = "class {}"},
          .phases = Program::phase_names());
