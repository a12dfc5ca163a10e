// Neighbor_alltoall: every rank sends a different block to each neighbour in a periodic grid, like codes that update
// halos.
#include "bench/neighbor/grid.hpp"
#include "measure/payload.hpp"

using namespace kiviat;

namespace {

// The blocks of a rank are pieces of its payload, in their order.
class Halo {
 public:
  Halo(Trial& t, const NeighbourGrid& grid)
      : t_(t),
        grid_(grid),
        bytes_(static_cast<std::size_t>(t.bytes())),
        out(t.buffer(grid.ranks().size() * bytes_)),
        in(t.buffer(grid.ranks().size() * bytes_)) {}

  // Returns whether one call of `operation` moves each block to where it belongs on this rank.
  template <class Operation>
  bool arrives(Operation operation) {
    ++seed_;  // invalidates data left by the last check
    out.rewind(), in.rewind();
    payload::fill(out.first(), seed_, t_.rank());
    for (std::size_t i = 0; i < grid_.ranks().size(); ++i)
      payload::poison(block(i), seed_, grid_.ranks()[i], opposite(i) * bytes_);
    t_.together();
    operation();
    // A block sent upwards arrives from below (MPI 4.0, section 8.6). Before MPI 4, libraries could order the blocks of
    // a neighbour that is on several sides as they liked.
    std::vector<bool> come(grid_.ranks().size(), false);
    const auto comes = [&](std::size_t i) -> bool {
      for (std::size_t sent = 0; sent < come.size(); ++sent)
        if (!come[sent] && grid_.ranks()[opposite(sent)] == grid_.ranks()[i] && is(i, sent)) return come[sent] = true;
      return false;
    };
    bool right = true;
    for (std::size_t i = 0; i < come.size(); ++i) right = comes(i) && right;
    out.rewind(), in.rewind();
    return right;
  }

 private:
  static std::size_t opposite(std::size_t i) { return i ^ 1; }  // the other side along the same dimension
  std::span<std::byte> block(std::size_t i) { return in.first().subspan(i * bytes_, bytes_); }
  // Returns whether block `i` is block `sent` of the neighbour that it comes from.
  bool is(std::size_t i, std::size_t sent) {
    return payload::first_wrong(block(i), seed_, grid_.ranks()[i], sent * bytes_) == bytes_;
  }

  Trial& t_;
  const NeighbourGrid& grid_;
  std::size_t bytes_;
  std::uint64_t seed_ = t_.seed();

 public:
  Buffer &out, &in;
};

}  // namespace

static void neighbor_alltoall(Trial& t) {
  const int count = t.count();
  const NeighbourGrid grid(t, "MPI_Neighbor_alltoall");
  Halo halo(t, grid);
  t.note("grid", grid.words());
  const auto once = [&](std::int64_t) {
    MPI_Neighbor_alltoall(halo.out.next(), count, MPI_BYTE, halo.in.next(), count, MPI_BYTE, grid.comm());
  };
  if (t.bytes() > 0) t.check_by([&] { return halo.arrives([&] { once(0); }); });
  t.per_call(once);
}

BENCHMARK(neighbor_alltoall,
          .summary = "every rank sends a different block to each neighbour in a periodic grid",
          .source = "OSU micro-benchmarks 7, osu_neighbor_alltoall",
          .aka = {"osu_neighbor_alltoall"},
          .sampling = Sampling::per_call,
          .axes = grid_axes(),
          .section = "collective");
