// LU, a simulated CFD application: symmetric successive over-relaxation, whose sweeps run through the grid as
// wavefronts with many small messages.
#include "bench/memory.hpp"
#include "bench/npb/lu_solver.hpp"
#include "bench/npb/outcome.hpp"
#include "bench/npb/problem_class.hpp"

using namespace kiviat;
using namespace kiviat::npb;

namespace {

struct Problem {
  std::int64_t points, iterations;
  double step;
};
constexpr PerClass<Problem> problems = {{{12, 50, 0.5}, {33, 300, 0.0015}, {64, 250, 2}, {102, 250, 2}, {162, 250, 2}}};

struct Published {
  flow::State residual, error;
  double integral;
};
constexpr PerClass<Published> published = {
    {{{1.6196343210976702e-2, 2.1976745164821318e-3, 1.5179927653399185e-3, 1.5029584435994323e-3,
       3.4264073155896461e-2},
      {6.4223319957960924e-4, 8.4144342047347926e-5, 5.8588269616485186e-5, 5.8474222595157350e-5,
       1.3103347914111294e-3},
      7.8418928865937083},
     {{12.36511638192, 1.317228477799, 2.550120713095, 2.326187750252, 28.26799444189},
      {0.4867877144216, 0.05064652880982, 0.09281818101960, 0.08570126542733, 1.084277417792},
      11.61399311023},
     {{7.7902107606689367e2, 6.3402765259692870e1, 1.9499249727292479e2, 1.7845301160418537e2, 1.8384760349464247e3},
      {2.9964085685471943e1, 2.8194576365003349, 7.3473412698774742, 6.7139225687777051, 7.0715315688392578e1},
      26.030925604886277},
     {{3.5532672969982736e3, 2.6214750795310692e2, 8.8333721850952190e2, 7.7812774739425265e2, 7.3087969592545314e3},
      {1.1401176380212709e2, 8.1098963655421574, 2.8480597317698308e1, 2.5905394567832939e1, 2.6054907504857413e2},
      47.887162703308227},
     {{1.03766980323537846e4, 8.92212458801008552e2, 2.56238814582660871e3, 2.19194343857831427e3,
       1.78078057261061185e4},
      {2.15986399716949279e2, 1.55789559239863600e1, 5.41318863077207766e1, 4.82262643154045421e1,
       4.55902910043250358e2},
      66.6404553572181300}}};

double operations(const Problem& problem) {
  const auto n = static_cast<double>(problem.points);
  return static_cast<double>(problem.iterations) * (1984.77 * n * n * n - 10923.3 * n * n + 27770.9 * n - 144010);
}

class Program {
 public:
  explicit Program(Trial& t)
      : t_(t),
        problem_(of_class(t, problems)),
        part_(ssor::Part::of(problem_.points, t.ranks(), t.rank())),
        pages_(memory(t, part_)),
        solver_(t.comm(), part_, problem_.step, {pages_.as<double>(), messages(), messages()}) {}

  void operator()() {
    solver_.prepare();
    solver_.start();
    solver_.iterate(1), solver_.residual();  // warm-up: touches code and memory, connects ranks
    solver_.start();
    solver_.phases().reset();
    flow::State residual{};
    const double time_s = t_.measured("lu", [&] {
      solver_.iterate(problem_.iterations);
      residual = solver_.residual();
    });
    tell_rate(t_, operations(problem_), time_s);
    const double inner = static_cast<double>(problem_.points) - 2;
    t_.report("flop_rate",
              ssor::Solver::flops_of_point * inner * inner * inner * static_cast<double>(problem_.iterations) / time_s);
    solver_.phases().tell(t_);

    const Published& expected = of_class(t_, published);
    const flow::State error = solver_.error();
    Verification verification(1e-8);
    for (std::size_t m = 0; m < flow::components; ++m) {
      const std::string component = " of component " + std::to_string(m + 1);
      verification.expect("the residual" + component, expected.residual[m], residual[m]);
      verification.expect("the error" + component, expected.error[m], error[m]);
    }
    verification.expect("the surface integral", expected.integral, solver_.surface_integral());
    verification.tell(t_);
  }

 private:
  static HugePages memory(const Trial& t, const ssor::Part& part) {
    const std::string size = "class=" + t.text("class");
    if (!ssor::Grid::of(t.ranks()).fits(part.n))
      throw Skip(size + " has " + std::to_string(part.n) + " points along an axis, fewer than 2 for each of the " +
                 std::to_string(ssor::Grid::of(t.ranks()).px) + " ranks on it: give fewer ranks, or a larger class");
    const std::int64_t bytes = ssor::Solver::elements(part) * static_cast<std::int64_t>(sizeof(double));
    refuse_more_than_available(t, size, static_cast<double>(bytes));
    return pages_of(t, static_cast<std::size_t>(bytes));
  }
  // Allocates a buffer for the messages to or from each neighbour.
  std::array<double*, 4> messages() {
    const auto bytes = static_cast<std::size_t>(ssor::Solver::message_elements(part_)) * sizeof(double);
    std::array<double*, 4> each;
    for (double*& message : each) message = reinterpret_cast<double*>(t_.buffer(bytes).next());
    return each;
  }

  Trial& t_;
  const Problem& problem_;
  ssor::Part part_;
  HugePages pages_;
  ssor::Solver solver_;
};

}  // namespace

static void lu(Trial& t) {
  t.refuse_rotation("the program");
  Program program(t);
  t.study(std::ref(program));
}

BENCHMARK(lu,
          .summary = "NAS LU: relaxation of a flow by sweeps through the grid; many small messages",
          .source = "NAS Parallel Benchmarks, LU; Bailey et al., RNR-94-007, 1994, section 3, and NAS-95-020, 1995, section 3.4",
          .aka = {"LU", "npb"},
          .sampling = Sampling::study,
          .ranks = at_least(1),
          .sized = false,
          .reports = quantities_with_flops(),
          .nominal_s = 10,
          .axes = {class_axis()},
          .section = "programs",
          .place = 6,
          .tabled = false,
          .problem = ProblemSize{.counts = "class", .words = "class {}"},
          .phases = ssor::Solver::phase_names());
