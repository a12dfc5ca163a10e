// Get: each rank of the first half reads from the memory of its partner in the second half.
#include "bench/onesided/window.hpp"

using namespace kiviat;

static void get(Trial& t) {
  OneSided pairs(t);
  pairs.sample([](std::byte* mine, int count, int target, MPI_Aint there,
                  MPI_Win window) { MPI_Get(mine, count, MPI_BYTE, target, there, count, MPI_BYTE, window); },
               {[](const OneSided::Memory& m, std::uint64_t seed) {
                  if (m.origin)
                    payload::poison(m.mine, seed, m.partner);
                  else
                    payload::fill(m.exposed, seed, m.rank);
                },
                [](const OneSided::Memory& m, std::uint64_t seed) {
                  return !m.origin || payload::first_wrong(m.mine, seed, m.partner) == m.mine.size();
                }});
}

BENCHMARK(get,
          .summary = "half of the ranks read from the memory of the other half",
          .source = "OSU micro-benchmarks, osu_get_latency and osu_get_bw; Intel MPI Benchmarks, Unidir_get",
          .aka = {"osu_get_latency", "Unidir_get"},
          .ranks = pairs(),
          .bandwidth = true,
          .message_rate = true,
          .axes = onesided_axes());
