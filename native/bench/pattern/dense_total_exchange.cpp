// Dense communication 1: total exchange without congestion at the receivers. In phase k of P - 1 every rank sends to
// rank + k and receives from rank - k, so that each has one message in either direction.
#include "bench/pattern/dense.hpp"

using namespace kiviat;

static void dense_total_exchange(Trial& t) {
  Dense dense(t, t.ranks() - 1, [&](int phase) { return total_exchange_phase(t.ranks(), phase, t.rank()); });
  t.study([&] {
    dense();
    dense.report_middle_to_first();
  });
}

BENCHMARK(dense_total_exchange,
          .summary = "every rank sends to rank + k and receives from rank - k, phase by phase",
          .source = "dense communication, congestion-controlled all-to-all personalised exchange",
          .aka = {"dense"},
          .sampling = Sampling::study,
          .sizes = study_sizes,
          .reports = dense_reports({middle_to_first()}),
          .nominal_s = 1,
          .axes = dense_axes(),
          .section = "dense",
          .place = 1,
          .tabled = false);
