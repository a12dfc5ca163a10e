// The common part of SP and BT: each time step computes a right-hand side and sweeps along each axis.
#pragma once

#include "bench/npb/flow_halo.hpp"
#include "bench/npb/flow_rhs.hpp"
#include "bench/npb/problem_class.hpp"
#include "bench/npb/sweeps.hpp"

namespace kiviat::npb {

struct FlowProblem {
  int n, steps;
  double dt;
  flow::State residual, error;  // published norms
};

// Parameters of BT or SP for a problem class.
struct FlowProgram {
  FlowProblem problem;
  Solver solver;
  double operations;  // of all steps
};
FlowProgram bt_program(const Trial& t);
FlowProgram sp_program(const Trial& t);

class FlowSteps {
 public:
  static PhaseNames phase_names() { return {{"right-hand side", "x", "y", "z"}, {"exchange", "pipeline"}}; }
  // Collective.
  FlowSteps(Trial& t, const FlowProgram& program)
      : t_(t),
        problem_(program.problem),
        operations_(program.operations),
        parts_(t.ranks(), t.rank(), fitting(t, problem_)),
        cells_(t, parts_, problem_.n),
        halo_(t, parts_, cells_),
        rhs_(t, cells_, problem_.dt),
        sweeps_(t, parts_, cells_, program.solver),
        flops_of_point_(RightHandSide::flops +
                        3 * (program.solver.forward_cost.flops + program.solver.backward_cost.flops) +
                        flow::components) {}

  void operator()(const char* name) {
    prepare();
    start(), step();  // warm-up
    start();
    phases_.reset();
    const double time_s =
        t_.measured(name, [&] { phases_.repeat(t_.comm(), problem_.steps, [&](std::int64_t) { step(); }); });
    tell_rate(t_, operations_, time_s);
    t_.report("flop_rate", flops_of_step() * problem_.steps / time_s);
    phases_.tell(t_);
    verify();
  }

  // Computes the forcing. To be called once, before anything else.
  void prepare() {
    work::run({}, [&] { cells_.solve(), rhs_.force(); });
  }
  void start() {
    work::run({}, [&] { cells_.start(); });
  }
  void step() {
    if (parts_.sections() == 1) return step_alone();
    evaluate();
    for (std::size_t axis = 0; axis < 3; ++axis) sweeps_.all(axis, phases_, x + static_cast<int>(axis), pipeline);
  }
  // Returns the norms of the right-hand side divided by the time step. Collective.
  flow::State residual() {
    evaluate();
    flow::State sums{};
    work::run({}, [&] { sums = cells_.squares_of_rhs(); });
    sums = flow::norms(sums, problem_.n, t_.comm());
    for (double& norm : sums) norm /= problem_.dt;
    return sums;
  }
  flow::State error() const {
    flow::State sums{};
    work::run({}, [&] { sums = cells_.squares_of_error(); });
    return flow::norms(sums, problem_.n, t_.comm());
  }

 private:
  enum Phase { right_hand_side, x, y, z, exchange, pipeline };

  static int fitting(const Trial& t, const FlowProblem& problem) {
    if (t.ranks() > problem.n * problem.n)
      throw Skip("class=" + t.text("class") + " has " + std::to_string(problem.n) + " points along an axis: at most " +
                 std::to_string(problem.n * problem.n) + " ranks, not " + std::to_string(t.ranks()));
    return problem.n;
  }

  // Floating-point operations of all ranks: the right-hand side, a sweep there and back along each axis, and the sum.
  double flops_of_step() const {
    const double inner = problem_.n - 2;
    return flops_of_point_ * inner * inner * inner;
  }

  void evaluate() {
    phases_(exchange, [&] { halo_(); });
    phases_(right_hand_side, [&] {
      const double points = cells_.inner_points();
      work::run({.flops = points * RightHandSide::flops, .bytes = points * RightHandSide::bytes}, [&] {
        for (std::size_t c = 0; c < parts_.cells().size(); ++c) rhs_.whole(c);
      });
    });
  }

  // A single rank has whole lines. It solves the lines of a plane right after the plane's right-hand side, which is
  // then in the cache.
  void step_alone() {
    const FlowCell& cell = cells_[0];
    const double points = static_cast<double>(cell.inner(0)) * cell.inner(1);
    for (int k = cell.begin[2]; k < cell.end[2]; ++k) {
      phases_(right_hand_side, [&] {
        work::run({.flops = points * RightHandSide::flops, .bytes = points * RightHandSide::bytes},
                  [&] { rhs_.plane(0, k); });
      });
      phases_(x, [&] { work::run(sweeps_.slice_cost(0), [&] { sweeps_.slice(0, k); }); });
      phases_(y, [&] { work::run(sweeps_.slice_cost(1), [&] { sweeps_.slice(1, k); }); });
    }
    for (int j = cell.begin[1]; j < cell.end[1]; ++j)
      phases_(z, [&] { work::run(sweeps_.slice_cost(2), [&] { sweeps_.slice(2, j); }); });
  }

  void verify() {
    const flow::State found = residual(), off = error();
    Verification verification(1e-8);
    for (std::size_t m = 0; m < flow::components; ++m) {
      const std::string of = " of component " + std::to_string(m + 1);
      verification.expect("the residual" + of, problem_.residual[m], found[m]);
      verification.expect("the error" + of, problem_.error[m], off[m]);
    }
    verification.tell(t_);
  }

  Trial& t_;
  FlowProblem problem_;
  double operations_;
  Multipartition parts_;
  FlowCells cells_;
  FlowHalo halo_;
  RightHandSide rhs_;
  Sweeps sweeps_;
  double flops_of_point_;
  Phases phases_{phase_names()};
};

}  // namespace kiviat::npb
