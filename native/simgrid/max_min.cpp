// Replaces SimGrid's solver, which recomputes the rates of all flows whenever a flow begins or ends; with 512 ranks
// this takes three quarters of a simulation's time. This solver (simgrid/max_min.hpp) recomputes only rates that may
// change.
//
// SimGrid calls MaxMin::do_solve through a table that the dynamic linker fills by name, so a definition in a preloaded
// library replaces it. SimGrid installs no headers of the solver; the structures below have the layout of version 3.32.
// The original solver is used with other versions and for systems whose links are not simply shared. It also solves the
// first systems, for comparison, and all further systems if results differ. Rates of links must not change.
#include "simgrid/max_min.hpp"

#include <dlfcn.h>

#include <boost/intrusive/list.hpp>
#include <cmath>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "simgrid/choice.hpp"

namespace {

using Hook = boost::intrusive::list_member_hook<>;
template <class T, Hook T::* hook>
using List = boost::intrusive::list<T, boost::intrusive::member_hook<T, Hook, hook>>;

struct Constraint;
struct Variable;

// Use of a resource (constraint) by an activity (variable).
struct Element {
  Hook enabled, disabled, active;
  Constraint* constraint;
  Variable* variable;
  double weight, most_weight;
};

struct Constraint {
  enum class Policy { fatpipe, shared, nonlinear };
  Hook in_all, in_active, in_modified, in_saturated;
  List<Element, &Element::enabled> enabled;
  List<Element, &Element::disabled> disabled;
  List<Element, &Element::active> active;
  double remaining, usage, bound, dynamic_bound;
  int concurrency, most_concurrency;
  Policy policy;
  int rank;
  double lambda;  // unused by SimGrid 3.32; holds the number of the link plus one
  double new_lambda;
  void* light;
  std::function<double(double, int)> changes_bound;
};

struct Variable {
  Hook in_all, in_saturated;
  std::vector<Element> elements;
  double penalty, staged_penalty, bound, value;
  void* action;
  int rank;  // unique number
  unsigned visited;
  double mu;  // unused by SimGrid 3.32; holds the number of the flow plus one
};

struct System {
  void* table;
  bool modified;
  List<Variable, &Variable::in_all> variables;  // enabled variables (penalty > 0) come first
  List<Constraint, &Constraint::in_active> active;
  List<Variable, &Variable::in_saturated> saturated_variables;
  List<Constraint, &Constraint::in_saturated> saturated;
  const bool selective;
};

using kiviat::sim::MaxMin;

// The flows of one system at its last solution.
class Mirror {
 public:
  // Returns false if the system has a link that is not simply shared.
  bool follow(System& system) {
    ++stamp_;
    std::size_t met = 0;
    for (Variable& variable : system.variables) {
      if (!(variable.penalty > 0)) break;
      Flow* flow = known(variable);
      if (flow && !(flow->penalty == variable.penalty && flow->bound == variable.bound &&
                    flow->elements == variable.elements.size()))
        remove(static_cast<MaxMin::Number>(variable.mu) - 1), --live_, flow = nullptr;
      if (!flow) {
        if (!add(variable)) return false;
        flow = known(variable);
      }
      flow->stamp = stamp_, ++met;
    }
    if (met < live_)
      for (MaxMin::Number number = 0; number < flows_.size(); ++number)
        if (flows_[number].variable && flows_[number].stamp != stamp_) remove(number), --live_;
    return true;
  }

  template <class Visit>  // visit(variable, rate)
  void solve(Visit visit) {
    rates_.solve([&](MaxMin::Number flow) { visit(*flows_[flow].variable, rates_.rate(flow)); });
  }
  template <class Visit>
  void each(Visit visit) const {
    for (MaxMin::Number number = 0; number < flows_.size(); ++number)
      if (flows_[number].variable && flows_[number].elements > 0) visit(*flows_[number].variable, rates_.rate(number));
  }

 private:
  struct Flow {
    Variable* variable = nullptr;
    int rank = 0;
    double penalty = 0, bound = 0;
    std::size_t elements = 0, stamp = 0;
  };
  struct Link {
    Constraint* constraint;
    double bound;
  };

  Flow* known(const Variable& variable) {
    const auto number = static_cast<MaxMin::Number>(variable.mu);
    if (number == 0 || number > flows_.size()) return nullptr;
    Flow& flow = flows_[number - 1];
    return flow.variable == &variable && flow.rank == variable.rank ? &flow : nullptr;
  }
  void remove(MaxMin::Number number) {
    rates_.remove_flow(number);
    flows_[number].variable = nullptr;
  }
  bool add(Variable& variable) {
    uses_.clear();
    for (const Element& element : variable.elements)
      if (element.weight > 0) {
        const MaxMin::Number link = link_of(*element.constraint);
        if (link == MaxMin::none) return false;
        uses_.push_back({link, element.weight});
      }
    const MaxMin::Number number = rates_.add_flow(variable.penalty, variable.bound, uses_);
    if (number >= flows_.size()) flows_.resize(number + 1);
    flows_[number] = {&variable, variable.rank, variable.penalty, variable.bound, variable.elements.size(), stamp_};
    variable.mu = static_cast<double>(number + 1);
    ++live_;
    return true;
  }
  MaxMin::Number link_of(Constraint& constraint) {
    const auto number = static_cast<MaxMin::Number>(constraint.lambda);
    if (number > 0 && number <= links_.size() && links_[number - 1].constraint == &constraint)
      return links_[number - 1].bound == constraint.bound ? number - 1 : MaxMin::none;
    if (constraint.policy != Constraint::Policy::shared || !(constraint.bound > 0)) return MaxMin::none;
    links_.push_back({&constraint, constraint.bound});
    constraint.lambda = static_cast<double>(links_.size());
    return rates_.add_link(constraint.bound);
  }

  MaxMin rates_;
  std::vector<Flow> flows_;
  std::vector<Link> links_;
  std::vector<MaxMin::Use> uses_;
  std::size_t live_ = 0, stamp_ = 0;
};

using Solve = void(System*);

class Solver {
 public:
  Solver() : original_(reinterpret_cast<Solve*>(dlsym(RTLD_NEXT, "_ZN7simgrid6kernel3lmm6MaxMin8do_solveEv"))) {}

  void operator()(System& system) {
    if (system.selective) return original_(&system);
    Of& of = systems_[&system];
    if (of.mirror && !(choice_.usable && of.mirror->follow(system))) of.mirror.reset();
    if (!of.mirror) return fall_back(system);
    if (of.compared < to_compare) return compare(system, of);
    of.mirror->solve([](Variable& variable, double rate) { variable.value = rate; });
  }

 private:
  static constexpr int to_compare = 20;
  static constexpr double tolerance = 1e-4;  // the original ignores 1e-5 of a link

  struct Of {
    std::unique_ptr<Mirror> mirror = std::make_unique<Mirror>();  // null if the original solver must be used
    int compared = 0;
  };

  void fall_back(System& system) {
    choice_.fall_back("the system cannot be solved by Kiviat, or with another result");
    original_(&system);
  }

  void compare(System& system, Of& of) {
    of.mirror->solve([](Variable&, double) {});
    original_(&system);
    ++of.compared;
    bool equal = true;
    of.mirror->each([&](const Variable& variable, double rate) {
      equal = equal && std::abs(rate - variable.value) <= tolerance * variable.value;
    });
    if (!equal) of.mirror.reset();
  }

  Solve* original_;
  kiviat::sim::Choice choice_;
  std::unordered_map<System*, Of> systems_;
};

}  // namespace

extern "C" void kiviat_solve(System* system) asm("_ZN7simgrid6kernel3lmm6MaxMin8do_solveEv");
extern "C" void kiviat_solve(System* system) {
  static Solver solver;
  solver(*system);
}
