// Neighbor_allgather: every rank sends its block to all neighbours in a periodic grid.
#include "bench/neighbor/grid.hpp"

using namespace kiviat;

static void neighbor_allgather(Trial& t) {
  const int count = t.count();
  const auto bytes = static_cast<std::size_t>(t.bytes());
  const NeighbourGrid grid(t, "MPI_Neighbor_allgather");
  Buffer &out = t.buffer(bytes), &in = t.buffer(grid.ranks().size() * bytes);
  std::vector<Piece> pieces;
  for (const int neighbour : grid.ranks()) pieces.push_back({pieces.size() * bytes, bytes, neighbour});
  t.sends(out);
  t.expects(in, std::move(pieces));
  t.note("grid", grid.words());

  t.per_call([&](std::int64_t) {
    MPI_Neighbor_allgather(out.next(), count, MPI_BYTE, in.next(), count, MPI_BYTE, grid.comm());
  });
}

BENCHMARK(neighbor_allgather,
          .summary = "a block of every rank reaches its neighbours in a periodic grid",
          .source = "OSU micro-benchmarks 7, osu_neighbor_allgather",
          .aka = {"osu_neighbor_allgather"},
          .sampling = Sampling::per_call,
          .axes = grid_axes(),
          .section = "collective");
