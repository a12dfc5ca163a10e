// Dense communication 3: one pair communicates in the first phase, and each phase adds a pair, up to P/2. With an odd
// number of ranks the last one is idle.
#include "bench/pattern/dense.hpp"

using namespace kiviat;

static void dense_cumulative(Trial& t) {
  const bool near = t.text("matching") == "near";
  const int pairs = t.ranks() / 2;
  Dense dense(t, pairs, [&](int phase) { return cumulative_phase(t.ranks(), phase, near, t.rank()); });
  t.study([&] {
    dense();
    if (pairs > 1) t.report("last_to_first", dense.bandwidth(pairs) / dense.bandwidth(1));
  });
}

BENCHMARK(dense_cumulative,
          .summary = "pairs exchange messages in both directions; each phase adds a pair",
          .source = "dense communication, cumulative pairwise exchange; the matching is Kiviat's",
          .aka = {"dense"},
          .sampling = Sampling::study,
          .sizes = study_sizes,
          .reports = dense_reports({{"last_to_first", "1", "higher", "bandwidth per process with all pairs, relative to one pair alone"}}),
          .nominal_s = 1,
          .axes = dense_axes({{"matching", "far", "", "far: rank r with r + P/2; near: 2r with 2r + 1", {"far", "near"}}}),
          .section = "dense",
          .place = 3,
          .tabled = false);
