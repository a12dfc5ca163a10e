// Halo exchange of a periodic grid, one side after the other, so that edges and corners arrive via neighbours without
// separate messages.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstring>

#include "bench/npb/grid_levels.hpp"
#include "platform/compute.hpp"

namespace kiviat::npb {

// The points of a box at one position of a side, including the halo of the sides exchanged before.
struct Face {
  // `position` is along `side`; `done`: number of sides exchanged before, which are 0 .. done - 1.
  Face(const Box& box, int side, int position, int done) : row(box.row), plane(box.plane) {
    std::array<int, sides> first{}, size = box.points;
    for (std::size_t other = 0; static_cast<int>(other) < done; ++other) first[other] = -1, size[other] += 2;
    first[static_cast<std::size_t>(side)] = position, size[static_cast<std::size_t>(side)] = 1;
    offset = first[0] + first[1] * row + first[2] * plane;
    run = size[0], rows = size[1], planes = size[2];
  }
  std::int64_t elements() const { return run * rows * planes; }

  template <class Move>
  void for_runs(Move move) const {
    for (std::int64_t z = 0; z < planes; ++z)
      for (std::int64_t y = 0; y < rows; ++y) move(offset + y * row + z * plane, (z * rows + y) * run);
  }
  void pack(const double* grid, double* message) const {
    for_runs([&](std::int64_t at, std::int64_t in_message) { std::copy_n(grid + at, run, message + in_message); });
  }
  void unpack(double* grid, const double* message) const {
    for_runs([&](std::int64_t at, std::int64_t in_message) { std::copy_n(message + in_message, run, grid + at); });
  }

  std::int64_t row, plane, offset, run, rows, planes;
};

// Fills the halo of a plane along x and y if this rank is its own neighbour there.
inline void close_plane(const Box& box, double* plane) {
  const std::int64_t x = box.points[0], y = box.points[1];
  for (double* row = plane; row < plane + y * box.row; row += box.row) row[-1] = row[x - 1], row[x] = row[0];
  std::copy_n(plane + (y - 1) * box.row - 1, x + 2, plane - box.row - 1);
  std::copy_n(plane - 1, x + 2, plane + y * box.row - 1);
}

class Halo {
 public:
  Halo(MPI_Comm comm, const RankBox& ranks, int rank) : comm_(comm), ranks_(ranks), me_(ranks.place_of(rank)) {}

  // Elements of the message buffers for boxes up to this one.
  static std::int64_t elements_of(const Box& largest) { return 4 * message_of(largest); }
  void use(double* memory, const Box& largest) {
    const std::int64_t each = message_of(largest);
    out_ = {memory, memory + each}, in_ = {memory + 2 * each, memory + 3 * each};
  }

  // True if a rank is its own neighbour along a side of a level.
  bool closed(const Level& level, int side) const { return size(side) == apart(level, side); }

  // Collective over the ranks that are active in the level. Skips the sides before `first_side`, whose halos are
  // complete.
  void exchange(const Level& level, double* grid, int first_side = 0) {
    for (int side = first_side; side < sides; ++side) {
      start(level, side, grid, grid);
      finish(level, side, grid, grid);
    }
  }
  // Starts the exchange along one side; the lowest and highest points may lie in different grids.
  void start(const Level& level, int side, const double* lowest, const double* highest) {
    if (closed(level, side)) return;
    const Box& box = level.box;
    const int points = box.points[static_cast<std::size_t>(side)], step = apart(level, side);
    const Face low(box, side, 0, side), high(box, side, points - 1, side);
    receive(below, low.elements(), neighbour(side, -step), upwards);
    receive(above, low.elements(), neighbour(side, step), downwards);
    moved(2 * low.elements(), [&] { low.pack(lowest, out_[below]), high.pack(highest, out_[above]); });
    send(below, low.elements(), neighbour(side, -step), downwards);
    send(above, low.elements(), neighbour(side, step), upwards);
  }
  void finish(const Level& level, int side, double* lowest, double* highest) {
    const Box& box = level.box;
    const int points = box.points[static_cast<std::size_t>(side)];
    const Face before(box, side, -1, side), behind(box, side, points, side);
    if (closed(level, side)) {
      moved(2 * before.elements(), [&] {
        const std::int64_t across = Face(box, side, points - 1, side).offset - before.offset;
        before.for_runs(
            [&](std::int64_t at, std::int64_t) { std::copy_n(highest + at + across, before.run, lowest + at); });
        behind.for_runs(
            [&](std::int64_t at, std::int64_t) { std::copy_n(lowest + at - across, behind.run, highest + at); });
      });
      return;
    }
    wait();
    moved(2 * before.elements(), [&] { before.unpack(lowest, in_[below]), behind.unpack(highest, in_[above]); });
  }

  // Sends the coarse points around their parts to ranks that are active in `fine` but not in `coarse`. Collective over
  // the ranks active in `fine`.
  void spread(const Level& fine, const Level& coarse, double* grid) {
    const Place& points = coarse.box.points;
    for (std::size_t side = 0; side < sides; ++side) {
      if (coarse.segments[side].apart == fine.segments[side].apart) continue;
      if (std::any_of(points.begin() + side + 1, points.end(), [](int count) { return count == 0; }))
        continue;  // inactive on this level
      const int s = static_cast<int>(side), step = fine.segments[side].apart;
      const int lower = neighbour(s, -step), upper = neighbour(s, step);
      if (points[side] > 0) {
        const Face mine(coarse.box, s, 0, sides);
        moved(mine.elements(), [&] { mine.pack(grid, out_[below]); });
        send(below, mine.elements(), lower, downwards);
        send(below, mine.elements(), upper, upwards);
        wait();
      } else {
        const Face before(coarse.box, s, -1, sides), behind(coarse.box, s, 0, sides);
        receive(below, before.elements(), lower, upwards);
        receive(above, behind.elements(), upper, downwards);
        wait();
        moved(2 * before.elements(), [&] { before.unpack(grid, in_[below]), behind.unpack(grid, in_[above]); });
      }
    }
  }

 private:
  enum End : std::size_t { below, above };
  enum Tag : int { downwards, upwards };

  static std::int64_t message_of(const Box& box) {
    const std::int64_t x = box.points[0] + 2, y = box.points[1] + 2, z = box.points[2] + 2;
    return (std::max({x * y, x * z, y * z}) + Box::line - 1) / Box::line * Box::line;
  }
  int size(int side) const { return ranks_.size[static_cast<std::size_t>(side)]; }
  static int apart(const Level& level, int side) { return level.segments[static_cast<std::size_t>(side)].apart; }
  int neighbour(int side, int step) const {
    Place place = me_;
    int& at = place[static_cast<std::size_t>(side)];
    at = (at + step + size(side)) % size(side);
    return ranks_.rank_at(place);
  }
  template <class Move>
  static void moved(std::int64_t elements, Move move) {
    work::run({.bytes = 24.0 * static_cast<double>(elements)}, move);  // bytes: read, fetched for writing, and written
  }

  void send(End end, std::int64_t elements, int to, Tag tag) {
    MPI_Isend(out_[end], static_cast<int>(elements * 8), MPI_BYTE, to, tag, comm_, &requests_[count_++]);
  }
  void receive(End end, std::int64_t elements, int from, Tag tag) {
    MPI_Irecv(in_[end], static_cast<int>(elements * 8), MPI_BYTE, from, tag, comm_, &requests_[count_++]);
  }
  void wait() {
    MPI_Waitall(static_cast<int>(count_), requests_.data(), MPI_STATUSES_IGNORE);
    count_ = 0;
  }

  MPI_Comm comm_;
  RankBox ranks_;
  Place me_;
  std::array<double*, 2> out_{}, in_{};
  std::array<MPI_Request, 4> requests_{};
  std::size_t count_ = 0;
};

}  // namespace kiviat::npb
