// Dense communication 2: P - 1 phases; in phase k pairs of ranks at distance k modulo P exchange messages in both
// directions. The middle phases have the farthest partners; in the last one they are neighbours again. Fatoohi, Saini
// and Ciotti (2006, section 3.3) found the first phase and the last alike, as they are if every rank meets both
// partners.
#include "bench/pattern/dense.hpp"

using namespace kiviat;

static void dense_pairwise(Trial& t) {
  const std::string name = t.text("matching");
  const Matching matching = name == "disjoint" ? Matching::disjoint
                            : name == "halves" ? Matching::halves
                                               : Matching::both;
  Dense dense(t, t.ranks() - 1, [&](int phase) { return pairwise_phase(t.ranks(), phase, matching, t.rank()); });
  t.study([&] {
    dense();
    dense.report_middle_to_first();
  });
}

BENCHMARK(dense_pairwise,
          .summary = "pairs at distance k exchange messages in both directions, phase by phase",
          .source = "dense communication, simple pairwise exchange; the matching is Kiviat's",
          .aka = {"dense"},
          .sampling = Sampling::study,
          .sizes = study_sizes,
          .reports = dense_reports({middle_to_first()}),
          .nominal_s = 1,
          .axes = dense_axes({{"matching", "halves", "",
                               "halves: two half-phases, one with either partner; both: with both partners at once; "
                               "disjoint: pairs that share no rank where there are such, else two half-phases",
                               {"disjoint", "halves", "both"}}}),
          .section = "dense",
          .place = 2,
          .tabled = false);
