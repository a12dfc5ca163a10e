// Halo exchange of SP and BT: each cell receives two layers of points from the six neighbours of its rank, in one
// message per neighbour for all cells.
#pragma once

#include <cstring>
#include <numeric>

#include "bench/npb/flow_cells.hpp"
#include "platform/compute.hpp"

namespace kiviat::npb {

class FlowHalo {
 public:
  // Collective.
  FlowHalo(const Trial& t, const Multipartition& parts, const FlowCells& cells)
      : parts_(parts), cells_(cells), comm_(t.comm()) {
    // If cells are one point thin, the second layer belongs to the neighbour's neighbour and is exchanged in a second
    // round.
    layers_ = cells.n() / parts.sections() < FlowCells::halo ? 1 : FlowCells::halo;
    if (parts.sections() == 1) return;
    for (std::size_t side = 0; side < sides; ++side) {
      bytes_out_[side] = bytes(side, false), bytes_in_[side] = bytes(side, true);
      out_[side] = pages_of(t, static_cast<std::size_t>(bytes_out_[side]));
      in_[side] = pages_of(t, static_cast<std::size_t>(bytes_in_[side]));
    }
  }

  void operator()() const {
    if (parts_.sections() == 1) return;
    for (int round = 0; round < FlowCells::halo / layers_; ++round) exchange(round);
  }

 private:
  // Messages along x, y and z, upwards (side 2 axis) and downwards (side 2 axis + 1).
  static constexpr std::size_t sides = 6;

  // Calls `use` for each cell that sends to a side.
  template <class Use>
  void each(std::size_t side, const Use& use, bool receiving = false) const {
    const bool later = (side % 2 == 0) == receiving;
    for (int place = 0; place + 1 < parts_.sections(); ++place)
      use(cells_[parts_.cell_at(side / 2, later ? place + 1 : place)]);
  }

  std::int64_t face(const FlowCell& cell, std::size_t axis) const {
    const auto& points = cell.part.points;
    return std::int64_t{flow::components} * layers_ * points[(axis + 1) % 3] * points[(axis + 2) % 3];
  }

  // Size in bytes of the message sent to a side or, if `receiving`, of the message from the opposite side; they differ
  // if cells differ in size.
  int bytes(std::size_t side, bool receiving) const {
    std::int64_t doubles = 0;
    each(side, [&](const FlowCell& cell) { doubles += face(cell, side / 2); }, receiving);
    return Trial::fitting(doubles * static_cast<std::int64_t>(sizeof(double)), "bytes of a message");
  }

  void exchange(int round) const {
    MPI_Request requests[2 * sides];
    for (std::size_t side = 0; side < sides; ++side)
      MPI_Irecv(in_[side].as<double>(), bytes_in_[side], MPI_BYTE, parts_.neighbour(side / 2, side % 2 == 0 ? -1 : 1),
                static_cast<int>(side), comm_, &requests[side]);
    // Bytes moved by copying, which reads and writes.
    const auto twice = [](const std::array<int, sides>& each) {
      return Cost{.bytes = 2 * std::accumulate(each.begin(), each.end(), 0.0)};
    };
    work::run(twice(bytes_out_), [&] {
      for (std::size_t side = 0; side < sides; ++side) {
        double* next = out_[side].as<double>();
        each(side, [&](const FlowCell& cell) {
          const int points = cell.part.points[side / 2], depth = layers_ * (round + 1);
          copy(cell, side / 2, side % 2 == 0 ? points - depth : depth - layers_, [&](double* row, std::int64_t count) {
            std::memcpy(next, row, static_cast<std::size_t>(count) * sizeof(double)), next += count;
          });
        });
      }
    });
    for (std::size_t side = 0; side < sides; ++side)
      MPI_Isend(out_[side].as<double>(), bytes_out_[side], MPI_BYTE, parts_.neighbour(side / 2, side % 2 == 0 ? 1 : -1),
                static_cast<int>(side), comm_, &requests[sides + side]);
    MPI_Waitall(2 * static_cast<int>(sides), requests, MPI_STATUSES_IGNORE);
    work::run(twice(bytes_in_), [&] {
      for (std::size_t side = 0; side < sides; ++side) {
        const double* next = in_[side].as<double>();
        each(
            side,
            [&](const FlowCell& cell) {
              const int points = cell.part.points[side / 2], depth = layers_ * (round + 1);
              copy(cell, side / 2, side % 2 == 0 ? -depth : points + depth - layers_,
                   [&](double* row, std::int64_t count) {
                     std::memcpy(row, next, static_cast<std::size_t>(count) * sizeof(double)), next += count;
                   });
            },
            true);
      }
    });
  }

  // Calls `row` for each row of the layers that begin at `first` along an axis.
  template <class Row>
  void copy(const FlowCell& cell, std::size_t axis, int first, const Row& row) const {
    std::array<int, 3> begin{}, end = cell.part.points;
    begin[axis] = first, end[axis] = first + layers_;
    for (double* field : cell.u)
      for (int k = begin[2]; k < end[2]; ++k)
        for (int j = begin[1]; j < end[1]; ++j) row(field + cell.at(begin[0], j, k), end[0] - begin[0]);
  }

  const Multipartition& parts_;
  const FlowCells& cells_;
  MPI_Comm comm_;
  int layers_;
  std::array<int, sides> bytes_out_{}, bytes_in_{};
  std::array<HugePages, sides> out_, in_;
};

}  // namespace kiviat::npb
