// Put: each rank of the first half writes into the memory of its partner in the second half.
#include "bench/onesided/window.hpp"

using namespace kiviat;

static void put(Trial& t) {
  OneSided pairs(t);
  pairs.sample([](std::byte* mine, int count, int target, MPI_Aint there,
                  MPI_Win window) { MPI_Put(mine, count, MPI_BYTE, target, there, count, MPI_BYTE, window); },
               {[](const OneSided::Memory& m, std::uint64_t seed) {
                  if (m.origin)
                    payload::fill(m.mine, seed, m.rank);
                  else
                    payload::poison(m.exposed, seed, m.partner);
                },
                [](const OneSided::Memory& m, std::uint64_t seed) {
                  return m.origin || payload::first_wrong(m.exposed, seed, m.partner) == m.exposed.size();
                }});
}

BENCHMARK(put,
          .summary = "half of the ranks write into the memory of the other half",
          .source = "OSU micro-benchmarks, osu_put_latency and osu_put_bw; Intel MPI Benchmarks, Unidir_put",
          .aka = {"osu_put_latency", "Unidir_put"},
          .ranks = pairs(),
          .bandwidth = true,
          .message_rate = true,
          .axes = onesided_axes());
