// Solves systems of equations along all lines of an axis, by elimination up the line and back substitution. Lines are
// divided among cells: at the end of its section, a rank sends the intermediate results to the rank of the next
// section. Lanes::width adjacent lines are solved at the same time.
#pragma once

#include <functional>

#include "bench/npb/flow_cells.hpp"
#include "bench/npb/outcome.hpp"
#include "kernels/simd.hpp"
#include "kernels/target_clones.hpp"
#include "platform/compute.hpp"

namespace kiviat::npb {

// Sections of several lines in a cell. Lane l of point i is at [i * step + l].
struct Lines {
  std::array<const double*, flow::components> u;
  std::int64_t u_step;
  std::array<double*, flow::components> rhs;
  std::int64_t rhs_step;
  double* kept;    // values of each point that elimination keeps for substitution: [point][value][lane]
  double* border;  // values received from the previous section, replaced by those for the next one: [value][lane]
  int points;
  std::int64_t below, above;  // number of points of the cube before the first and behind the last
};

// Transposes: rows of `points` numbers, Lanes::width of them, become columns of lanes.
KIVIAT_UP_TO_AVX2
static void rows_to_lanes(const double* rows, std::int64_t row, std::int64_t points, double* lanes) {
  for (std::int64_t i = 0; i < points; ++i)
    for (std::int64_t lane = 0; lane < Lanes::width; ++lane) lanes[i * Lanes::width + lane] = rows[lane * row + i];
}
KIVIAT_UP_TO_AVX2
static void lanes_to_rows(const double* lanes, std::int64_t points, double* rows, std::int64_t row,
                          std::int64_t count) {
  for (std::int64_t lane = 0; lane < count; ++lane)
    for (std::int64_t i = 0; i < points; ++i) rows[lane * row + i] = lanes[i * Lanes::width + lane];
}

// A solver for one kind of system.
struct Solver {
  int kept;                          // numbers kept for substitution, per point
  int forward;                       // numbers sent to the next section in elimination, per line
  int backward;                      // numbers sent to the previous section in substitution, per line
  Cost forward_cost, backward_cost;  // per point
  // In substitution along x, Lines has no state.
  std::function<void(const Lines&, std::size_t axis)> eliminate, substitute;
};

class Sweeps {
 public:
  // Collective.
  Sweeps(const Trial& t, const Multipartition& parts, const FlowCells& cells, const Solver& solver)
      : parts_(parts), cells_(cells), solver_(solver), comm_(t.comm()) {
    std::int64_t longest = 0, message = 0, kept = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      std::int64_t of_axis = 0, of_messages = 0;
      for (const FlowCell& cell : cells) {
        longest = std::max<std::int64_t>(longest, cell.inner(axis));
        of_messages += lines(cell, axis);
        of_axis += batches(cell, axis) * cell.inner(slice_axis(axis)) * cell.inner(axis);
      }
      message = std::max(message, of_messages), kept = std::max(kept, of_axis);
    }
    if (parts.sections() == 1) kept = longest;
    Trial::fitting(message * std::max(solver.forward, solver.backward) * 8, "bytes of a message");
    kept_ = pages_of(t, doubles(kept * solver.kept * Lanes::width));
    turned_ = pages_of(t, doubles(2 * flow::components * (longest + 2) * Lanes::width));
    if (parts.sections() == 1) return;
    // Each message of a sweep has its own memory, and there is room behind the last one for unused lanes.
    const std::int64_t most = message * std::max(solver.forward, solver.backward) + Lanes::width;
    in_ = pages_of(t, doubles(most)), out_ = pages_of(t, doubles(most));
  }

  // Returns the axis across which lines are grouped in slices: planes along z, but planes along y for lines along z.
  static constexpr std::size_t slice_axis(std::size_t axis) { return axis == 2 ? 1 : 2; }

  // Solves all lines of a slice if one rank has them whole. Along z, the last axis, adds the solution to the state.
  void slice(std::size_t axis, int at) const {
    const FlowCell& cell = cells_[0];
    for (int first = 0; first < cell.inner(lane_axis(axis)); first += Lanes::width) {
      alignas(64) double border[most_border * Lanes::width] = {};
      Part part(*this, cell, axis, at, first, border, kept_.as<double>());
      part.load(), solver_.eliminate(part.lines, axis);
      std::fill_n(border, solver_.backward * Lanes::width, 0.0);
      solver_.substitute(part.lines, axis), part.store();
    }
    if (axis == 2) add(cell, at);
  }
  Cost slice_cost(std::size_t axis) const {
    const double points =
        static_cast<double>(lines(cells_[0], axis)) / cells_[0].inner(slice_axis(axis)) * cells_[0].inner(axis);
    return {.flops = points * (solver_.forward_cost.flops + solver_.backward_cost.flops),
            .bytes = points * (solver_.forward_cost.bytes + solver_.backward_cost.bytes)};
  }

  // Solves all lines of an axis, passing intermediate results from rank to rank.
  void all(std::size_t axis, Phases& phases, int computing, int waiting) const {
    travel(axis, 1, phases, computing, waiting);
    travel(axis, -1, phases, computing, waiting);
  }

 private:
  static constexpr int most_border = 30;

  static constexpr std::size_t lane_axis(std::size_t axis) { return axis == 0 ? 1 : 0; }
  static std::size_t doubles(std::int64_t count) { return sizeof(double) * static_cast<std::size_t>(count); }
  static std::int64_t lines(const FlowCell& cell, std::size_t axis) {
    return std::int64_t{cell.inner(lane_axis(axis))} * cell.inner(slice_axis(axis));
  }
  // Number of batches of lines in each slice.
  static std::int64_t batches(const FlowCell& cell, std::size_t axis) {
    return (cell.inner(lane_axis(axis)) + Lanes::width - 1) / Lanes::width;
  }

  // A batch of at most Lanes::width lines of a slice.
  struct Part {
    Part(const Sweeps& sweeps, const FlowCell& cell, std::size_t along, int slice, int first, double* border,
         double* kept)
        : axis(along) {
      count = std::min(Lanes::width, cell.inner(lane_axis(axis)) - first);
      std::array<std::int64_t, 3> begin;
      begin[axis] = cell.begin[axis], begin[lane_axis(axis)] = cell.begin[lane_axis(axis)] + first,
      begin[slice_axis(axis)] = slice;
      const std::int64_t at = cell.at(begin[0], begin[1], begin[2]);
      for (std::size_t m = 0; m < flow::components; ++m) u[m] = cell.u[m] + at, rhs[m] = cell.rhs[m] + at;
      row = cell.strides[1];
      lines.points = cell.inner(axis), lines.border = border, lines.kept = kept;
      lines.below = cell.part.first[axis] + cell.begin[axis];
      lines.above = sweeps.cells_.n() - lines.below - lines.points;
      lines.u_step = lines.rhs_step = axis == 0 ? Lanes::width : cell.strides[axis];
      double* turned = sweeps.turned_.as<double>();
      const std::int64_t length = (lines.points + 2) * Lanes::width;
      for (std::size_t m = 0; m < flow::components; ++m) {
        lines.u[m] = axis == 0 ? turned + static_cast<std::int64_t>(m) * length + Lanes::width : u[m];
        lines.rhs[m] = axis == 0 ? turned + static_cast<std::int64_t>(flow::components + m) * length : rhs[m];
      }
    }
    // Unused lanes load the adjacent memory.
    void load() const {
      if (axis != 0) return;
      for (std::size_t m = 0; m < flow::components; ++m) {
        rows_to_lanes(u[m] - 1, row, lines.points + 2, const_cast<double*>(lines.u[m]) - Lanes::width);
        rows_to_lanes(rhs[m], row, lines.points, lines.rhs[m]);
      }
    }
    void store() const {
      if (axis != 0) return;
      for (std::size_t m = 0; m < flow::components; ++m) lanes_to_rows(lines.rhs[m], lines.points, rhs[m], row, count);
    }

    std::size_t axis;
    int count;
    std::array<const double*, flow::components> u;
    Fields rhs;
    std::int64_t row;
    Lines lines;
  };

  // Visits all cells of this rank in ascending (step 1) or descending (step -1) order.
  void travel(std::size_t axis, int step, Phases& phases, int computing, int waiting) const {
    const int values = step > 0 ? solver_.forward : solver_.backward;
    const Cost& cost = step > 0 ? solver_.forward_cost : solver_.backward_cost;
    const int sections = parts_.sections();
    // Messages of different lengths are exchanged between the same two ranks, so each has its own tag; none is a tag of
    // FlowHalo.
    const auto tag = [&](int cell) { return 6 + (static_cast<int>(2 * axis) + (step > 0 ? 0 : 1)) * sections + cell; };
    std::vector<MPI_Request> requests(static_cast<std::size_t>(2 * sections), MPI_REQUEST_NULL);
    std::vector<std::int64_t> begins;  // offset of the message into each cell, in numbers
    std::int64_t next = 0;
    for (int i = 0; i < sections; ++i) {
      const std::int64_t length = values * lines(cell_of(axis, step, i), axis);
      begins.push_back(next);
      if (i > 0)
        MPI_Irecv(in_.as<double>() + next, static_cast<int>(length * 8), MPI_BYTE, parts_.neighbour(axis, -step),
                  tag(i), comm_, &requests[static_cast<std::size_t>(i)]);
      next += length;
    }
    for (int i = 0; i < sections; ++i) {
      const std::size_t c = index_of(axis, step, i);
      const FlowCell& cell = cells_[c];
      const double points = static_cast<double>(cell.inner(0)) * cell.inner(1) * cell.inner(2);
      phases(waiting, [&] { MPI_Wait(&requests[static_cast<std::size_t>(i)], MPI_STATUS_IGNORE); });
      const std::int64_t at = begins[static_cast<std::size_t>(i)];
      phases(computing, [&] {
        work::run({.flops = points * cost.flops, .bytes = points * cost.bytes}, [&] {
          pass(c, axis, step, values, i > 0 ? in_.as<double>() + at : nullptr, out_.as<double>() + at);
        });
      });
      if (i + 1 < sections)
        phases(waiting, [&] {
          MPI_Isend(out_.as<double>() + at, static_cast<int>(values * lines(cell, axis) * 8), MPI_BYTE,
                    parts_.neighbour(axis, step), tag(i + 1), comm_, &requests[static_cast<std::size_t>(sections + i)]);
        });
    }
    phases(waiting, [&] { MPI_Waitall(2 * sections, requests.data(), MPI_STATUSES_IGNORE); });
  }

  std::size_t index_of(std::size_t axis, int step, int i) const {
    return parts_.cell_at(axis, step > 0 ? i : parts_.sections() - 1 - i);
  }
  const FlowCell& cell_of(std::size_t axis, int step, int i) const { return cells_[index_of(axis, step, i)]; }

  // Processes one cell. A message has, for each batch, each value of all lines side by side.
  void pass(std::size_t c, std::size_t axis, int step, int values, const double* in, double* out) const {
    const FlowCell& cell = cells_[c];
    double* kept = kept_.as<double>();
    for (std::size_t before = 0; before < c; ++before)
      kept += batches(cells_[before], axis) * cells_[before].inner(slice_axis(axis)) * cells_[before].inner(axis) *
              solver_.kept * Lanes::width;
    for (int slice = cell.begin[slice_axis(axis)]; slice < cell.end[slice_axis(axis)]; ++slice) {
      for (int first = 0; first < cell.inner(lane_axis(axis)); first += Lanes::width) {
        alignas(64) double border[most_border * Lanes::width] = {};
        const Part part(*this, cell, axis, slice, first, border, kept);
        if (in)
          for (int v = 0; v < values; ++v, in += part.count) std::copy_n(in, part.count, border + v * Lanes::width);
        if (step > 0) {
          part.load(), solver_.eliminate(part.lines, axis);
        } else {
          solver_.substitute(part.lines, axis), part.store();
        }
        for (int v = 0; v < values; ++v, out += part.count) std::copy_n(border + v * Lanes::width, part.count, out);
        kept += std::int64_t{part.lines.points} * solver_.kept * Lanes::width;
      }
      if (axis == 2 && step < 0) add(cell, slice);
    }
  }

  // Adds the solution to the state in a plane across y.
  static void add(const FlowCell& cell, int j) {
    for (std::size_t m = 0; m < flow::components; ++m)
      for (int k = cell.begin[2]; k < cell.end[2]; ++k) {
        double* const u = cell.u[m] + cell.at(0, j, k);
        const double* const change = cell.rhs[m] + cell.at(0, j, k);
        for (int i = cell.begin[0]; i < cell.end[0]; ++i) u[i] += change[i];
      }
  }

  const Multipartition& parts_;
  const FlowCells& cells_;
  Solver solver_;
  MPI_Comm comm_;
  HugePages kept_, turned_, in_, out_;
};

}  // namespace kiviat::npb
