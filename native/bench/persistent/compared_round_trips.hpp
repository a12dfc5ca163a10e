// Round trips of two ranks in several forms, such as persistent requests beside MPI_Isend: each is timed in turn, so
// that drift of the machine does not look like a difference between forms.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "measure/trial.hpp"
#include "results/statistics.hpp"

namespace kiviat {

inline Axis form_axis() {
  return {"form_ms", "10", "ms", "time for each form, in each of seven passes", milliseconds_bounds};
}

class ComparedRoundTrips {
 public:
  struct Form {
    std::string metric;           // half of the round-trip time in this form, in seconds
    Trial::Operation round_trip;  // of both ranks
  };

  ComparedRoundTrips(Trial& t, double form_s, std::vector<Form> forms)
      : t_(t), form_s_(form_s), forms_(std::move(forms)), calls_(forms_.size()), half_s_(forms_.size()) {}

  // Times all forms in all passes, and verifies each before and after. Collective.
  void operator()() {
    const int passes = t_.deterministic() ? 1 : most_passes;
    for (int pass = 0; pass < passes; ++pass) {
      for (std::size_t i = 0; i < forms_.size(); ++i) {
        const std::size_t form = pass % 2 == 0 ? i : forms_.size() - 1 - i;
        half_s_[form].push_back(half_s(form));
        t_.report(forms_[form].metric, half_s_[form].back());
      }
      t_.progressed((pass + 1.0) / passes);
    }
    for (const Form& form : forms_) verify(form);
  }

  // Half of the round-trip time of a form in each pass, in seconds.
  const std::vector<double>& half_s_of(std::size_t form) const { return half_s_[form]; }

 private:
  static constexpr int most_passes = 7;  // smallest number that gives an interval of the median

  double half_s(std::size_t form) {
    const Trial::Operation& once = forms_[form].round_trip;
    if (calls_[form] == 0) {
      verify(forms_[form]);
      calls_[form] = t_.calls_lasting(form_s_, 10'000'000, once);
    } else {
      once(0);  // one untimed round trip reloads the caches after other forms
    }
    return t_.seconds_of(calls_[form], once) / static_cast<double>(2 * calls_[form]);
  }

  void verify(const Form& form) {
    if (t_.bytes() > 0) t_.verify(form.round_trip);
  }

  Trial& t_;
  double form_s_;
  std::vector<Form> forms_;
  std::vector<std::int64_t> calls_;
  std::vector<std::vector<double>> half_s_;
};

}  // namespace kiviat
