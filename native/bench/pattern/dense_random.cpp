// Dense communication 4: all ranks exchange messages in pairs, which are shuffled for each phase by the seed of the
// case. With an odd number of ranks a random one is idle in each phase.
#include "bench/pattern/dense.hpp"

using namespace kiviat;

static void dense_random(Trial& t) {
  Dense dense(t, t.count_of("phases"), [&](int phase) {
    return random_phase(t.ranks(), t.seed() + static_cast<std::uint64_t>(phase), t.rank());
  });
  t.study(std::ref(dense));
}

BENCHMARK(dense_random,
          .summary = "all ranks exchange messages in both directions in pairs, which are shuffled for each phase",
          .source = "dense communication, random pairwise exchange",
          .aka = {"dense"},
          .sampling = Sampling::study,
          .sizes = study_sizes,
          .reports = dense_reports(),
          .nominal_s = 1,
          .axes = dense_axes({{"phases", "16", "phases", "shuffles", Bounds{1, 10'000}}}),
          .section = "dense",
          .place = 4,
          .tabled = false);
