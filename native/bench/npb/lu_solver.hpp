// Symmetric successive over-relaxation of LU (RNR-94-007, section 3) on a grid divided along x and y. A sweep proceeds
// plane by plane: a rank computes its part of a plane when the edges from the preceding ranks along x and y have
// arrived, and then sends its own edges. So ranks work on different planes at the same time (wavefront).
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <vector>

#include "bench/npb/lu_part.hpp"
#include "bench/npb/lu_plane.hpp"
#include "bench/npb/outcome.hpp"
#include "platform/compute.hpp"

namespace kiviat::npb::ssor {

class Solver {
 public:
  static PhaseNames phase_names() { return {{"right-hand side", "lower sweep", "upper sweep"}, {"edges", "faces"}}; }
  // Number of doubles for the state, residual, forcing and intermediate planes.
  static std::int64_t elements(const Part& part) {
    const std::int64_t plane = part.shape().size();
    return components * plane * (part.n + 2 * part.planes() + 1) + 3 * of_beside * plane + 3 * Diagonals::slack;
  }
  // Number of doubles of one message to or from a neighbour in each direction.
  static std::int64_t message_elements(const Part& part) {
    return components * std::max(part.x.size(), part.y.size()) * Diagonals::around * part.planes();
  }
  struct Memory {
    double* values;                  // array of elements(part) doubles
    std::array<double*, 4> in, out;  // arrays of message_elements(part) doubles each
  };

  Solver(MPI_Comm comm, const Part& part, double step, const Memory& memory)
      : comm_(comm),
        part_(part),
        step_(step),
        memory_(memory),
        shape_(part.shape()),
        size_(shape_.size()),
        plane_(components * size_),
        state_(memory.values),
        rest_(state_ + plane_ * part.n + Diagonals::slack),
        forcing_(rest_ + plane_ * part.planes() + Diagonals::slack),
        before_(forcing_ + plane_ * part.planes() + Diagonals::slack),
        beside_(before_ + plane_),
        edge_x_(shape_.y().size()),
        edge_y_(shape_.x().size()),
        right_{shape_,
               Linear(part.n, flow::diffusion[0], part.inner_x().begin, part.inner_x().end, true),
               Linear(part.n, flow::diffusion[1], part.inner_y().begin, part.inner_y().end, false),
               {},
               spacing().first(),
               viscosity * spacing().second()} {}

  // Computes the forcing that makes the exact solution steady. Overwrites the state.
  void prepare() {
    work::run({}, [&] {
      std::fill_n(memory_.values, elements(part_), 1.0);
      std::fill_n(forcing_, plane_ * part_.planes(), 0.0);
      const Range i = around(part_.x), j = around(part_.y);
      for_each({std::max<std::int64_t>(i.begin, 0), std::min(i.end, part_.n)},
               {std::max<std::int64_t>(j.begin, 0), std::min(j.end, part_.n)}, {0, part_.n},
               [&](double* u, double x, double y, double z, bool) { set(u, flow::exact(x, y, z)); });
    });
    right_hand_side_of(1, part_.planes());
    work::run({}, [&] {
      for (std::int64_t at = 0; at < plane_ * part_.planes(); ++at) forcing_[at] = -rest_[at];
    });
  }

  // Sets the initial state and computes its right-hand side.
  void start() {
    work::run({}, [&] {
      for_each(part_.x, part_.y, {0, part_.n}, [&](double* u, double x, double y, double z, bool face) {
        set(u, face ? flow::exact(x, y, z) : flow::initial(x, y, z));
      });
    });
    evaluate();
  }

  // Executes iterations; the right-hand side of the current state must be known.
  void iterate(std::int64_t iterations) {
    phases_.repeat(comm_, iterations, [&](std::int64_t done) {
      if (done > 0) phases_(faces, [&] { exchange(); });
      begin_sweep();
      for (std::int64_t k = 1; k <= part_.planes(); ++k) {
        if (done > 0 && k % planes_at_once == 1)
          phases_(right_hand_side, [&] { right_hand_side_of(k, planes_at_once); });
        phases_(edges, [&] { receive(part_.west, part_.south); });
        phases_(lower,
                [&] { work::run(cost(lower_flops, 0), [this, k] { lower_sweep(sweep_by(1), plane(k), rest(k)); }); });
        phases_(edges, [&] { send(part_.east, part_.north); });
      }
      begin_sweep();
      for (std::int64_t k = part_.planes(); k >= 1; --k) {
        phases_(edges, [&] { receive(part_.east, part_.north); });
        phases_(upper, [&] {
          work::run(cost(upper_flops, upper_bytes), [this, k] { upper_sweep(sweep_by(-1), plane(k), rest(k)); });
        });
        phases_(edges, [&] { send(part_.west, part_.south); });
      }
    });
    if (iterations > 0) evaluate();
  }

  // Norms of the right-hand side, and of the error of the state. Collective.
  flow::State residual() {
    flow::State sums{};
    work::run({.flops = 10 * points() * static_cast<double>(part_.planes())}, [&] {
      for (std::int64_t k = 1; k <= part_.planes(); ++k)
        for (std::size_t m = 0; m < flow::components; ++m)
          sums[m] += squares(rest(k) + static_cast<std::int64_t>(m) * size_);
    });
    return flow::norms(sums, part_.n, comm_);
  }
  flow::State error() {
    flow::State sums{};
    work::run({}, [&] {
      for_each(part_.inner_x(), part_.inner_y(), {1, part_.n - 1}, [&](double* u, double x, double y, double z, bool) {
        const flow::State exact = flow::exact(x, y, z);
        for (std::size_t m = 0; m < flow::components; ++m) {
          const double off = u[static_cast<std::int64_t>(m) * size_] - exact[m];
          sums[m] += off * off;
        }
      });
    });
    return flow::norms(sums, part_.n, comm_);
  }

  // Integral of the pressure over the faces of a box, by the trapezoidal rule. Collective.
  double surface_integral() {
    const std::array<Range, 3> box = {{{1, part_.n - 1}, {1, part_.n - 2}, {2, part_.n - 1}}};
    double sum = 0;
    work::run({}, [&] {
      const std::array<Range, 3> mine = {common(box[0], part_.x), common(box[1], part_.y), box[2]};
      for (std::int64_t k = mine[2].begin; k < mine[2].end; ++k)
        for (std::int64_t j = mine[1].begin; j < mine[1].end; ++j)
          for (std::int64_t i = mine[0].begin; i < mine[0].end; ++i) {
            const std::array<std::int64_t, 3> at = {i, j, k};
            // Along each axis, the number of cells with this point as a corner.
            std::array<double, 3> cells;
            for (std::size_t axis = 0; axis < 3; ++axis)
              cells[axis] = at[axis] == box[axis].begin || at[axis] == box[axis].end - 1 ? 1 : 2;
            double corners = 0;
            for (std::size_t axis = 0; axis < 3; ++axis)
              if (cells[axis] == 1) corners += cells[(axis + 1) % 3] * cells[(axis + 2) % 3];
            if (corners > 0) sum += corners * pressure(plane(k) + shape_.at(i - part_.x.begin, j - part_.y.begin));
          }
    });
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, comm_);
    return sum / 4 / spacing().second();
  }

  Phases& phases() { return phases_; }

 private:
  // Cost of a point, counted in the source. Planes that the next step uses again are assumed to be still in the cache.
  static constexpr double right_flops = 320, right_bytes = 3 * 40, lower_flops = 200, upper_flops = 210,
                          upper_bytes = 3 * 40;

 public:
  // Floating-point operations of an iteration for each inner point; points of a neighbour computed twice count once.
  static constexpr double flops_of_point = right_flops + lower_flops + upper_flops;

 private:
  static constexpr std::int64_t components = flow::components;
  static constexpr double over_relaxation = 1.2;
  // Number of planes whose right-hand side is computed ahead of the lower sweep; small enough for the cache.
  static constexpr std::int64_t planes_at_once = 4;
  enum Phase { right_hand_side, lower, upper, edges, faces };

  flow::Spacing spacing() const { return flow::Spacing(part_.n); }
  double points() const { return static_cast<double>(shape_.x().size() * shape_.y().size()); }  // in a plane
  Cost cost(double flops, double bytes) const { return {flops * points(), bytes * points()}; }
  double* plane(std::int64_t k) const { return state_ + k * plane_; }
  double* rest(std::int64_t k) const { return rest_ + (k - 1) * plane_; }
  double* beside(std::int64_t k) const { return beside_ + k % 3 * of_beside * size_; }
  Range around(Range own) const { return {own.begin - Diagonals::around, own.end + Diagonals::around}; }
  static Range common(Range a, Range b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }
  void set(double* u, const flow::State& value) const {
    for (std::int64_t m = 0; m < components; ++m) u[m * size_] = value[static_cast<std::size_t>(m)];
  }
  double pressure(const double* u) const {
    const double squares = u[size_] * u[size_] + u[2 * size_] * u[2 * size_] + u[3 * size_] * u[3 * size_];
    return flow::k2 * (u[4 * size_] - squares / (2 * u[0]));
  }
  double squares(const double* values) const {
    double sum = 0;
    for (std::int64_t s = shape_.diagonals().begin; s < shape_.diagonals().end; ++s)
      for (std::int64_t j = shape_.computed(s).begin; j < shape_.computed(s).end; ++j)
        sum += values[shape_.origin(s) + j] * values[shape_.origin(s) + j];
    return sum;
  }

  template <class Visit>
  void for_each(Range xs, Range ys, Range zs, Visit visit) {
    for (std::int64_t k = zs.begin; k < zs.end; ++k)
      for (std::int64_t j = ys.begin; j < ys.end; ++j)
        for (std::int64_t i = xs.begin; i < xs.end; ++i)
          visit(plane(k) + shape_.at(i - part_.x.begin, j - part_.y.begin), part_.coordinate(i), part_.coordinate(j),
                part_.coordinate(k), part_.on_face(i, j, k));
  }

  void evaluate() {
    phases_(faces, [&] { exchange(); });
    phases_(right_hand_side, [&] { right_hand_side_of(1, part_.planes()); });
  }

  // Computes up to `planes` planes from `first` on. Must be called in ascending order of planes.
  void right_hand_side_of(std::int64_t first, std::int64_t planes) {
    const std::int64_t end = std::min(first + planes, part_.planes() + 1);
    const auto number = static_cast<double>(end - first);
    work::run(cost(number * right_flops, number * right_bytes), [this, first, end] {
      for (std::int64_t k = first; k < end; ++k) right_hand_side_of(k);
    });
  }
  void right_hand_side_of(std::int64_t k) {
    if (k == 1) compute_beside(plane(0), beside(0), size_), compute_beside(plane(1), beside(1), size_);
    compute_beside(plane(k + 1), beside(k + 1), size_);
    right_.z = Linear::at(part_.n, flow::diffusion[2], k);
    // Planes outside of the grid have weight 0.
    const std::array<const double*, 5> state = {plane(std::max<std::int64_t>(k - 2, 0)), plane(k - 1), plane(k),
                                                plane(k + 1), plane(std::min(k + 2, part_.n - 1))};
    ssor::right_hand_side(right_, state, {beside(k - 1), beside(k), beside(k + 1)}, forcing_ + (k - 1) * plane_,
                          rest(k));
  }

  Sweep sweep_by(double direction) {
    const double flux = over_relaxation * step_ * spacing().first(),
                 second = over_relaxation * step_ * spacing().second();
    const std::array<double, 3>& d = flow::diffusion;
    const double both = 2 * step_ * spacing().second();
    return {shape_,
            edge_x_,
            edge_y_,
            before_,
            {1 + both * (d[0] + d[1] + d[2]), both * viscosity},
            {direction * flux, second * viscosity, {second * d[0], second * d[1], second * d[2]}},
            step_,
            1 / (over_relaxation * (2 - over_relaxation))};
  }

  void begin_sweep() {
    work::run({}, [this] { std::fill_n(before_, plane_, 0.0); });
  }
  // Without a neighbour the contributions are 0.
  void receive(int from_x, int from_y) {
    receive(edge_x_, from_x, memory_.in[0]), receive(edge_y_, from_y, memory_.in[1]);
  }
  void receive(Edge& edge, int from, double* message) {
    if (from == MPI_PROC_NULL) return edge.clear();
    MPI_Recv(message, bytes(edge.packed()), MPI_BYTE, from, edge_tag, comm_, MPI_STATUS_IGNORE);
    edge.unpack(message);
  }
  void send(int to_x, int to_y) { send(edge_x_, to_x, memory_.out[0]), send(edge_y_, to_y, memory_.out[1]); }
  void send(Edge& edge, int to, double* message) {
    if (to == MPI_PROC_NULL) return;
    edge.pack(message);
    MPI_Send(message, bytes(edge.packed()), MPI_BYTE, to, edge_tag, comm_);
  }

  // Exchanges the halo of the state, two points deep.
  void exchange() {
    const std::int64_t nx = part_.x.size(), ny = part_.y.size(), deep = Diagonals::around;
    struct Face {
      int peer;
      Range x, y, beyond_x, beyond_y;  // ranges to send, and ranges of the halo to receive
    };
    const Range all_x = {0, nx}, all_y = {0, ny};
    const std::array<Face, 4> all = {{{part_.west, {0, deep}, all_y, {-deep, 0}, all_y},
                                      {part_.east, {nx - deep, nx}, all_y, {nx, nx + deep}, all_y},
                                      {part_.south, all_x, {0, deep}, all_x, {-deep, 0}},
                                      {part_.north, all_x, {ny - deep, ny}, all_x, {ny, ny + deep}}}};
    const auto elements = [&](const Face& face) { return components * face.x.size() * face.y.size() * part_.planes(); };
    std::array<MPI_Request, 8> requests;
    requests.fill(MPI_REQUEST_NULL);
    for (std::size_t f = 0; f < all.size(); ++f)
      if (all[f].peer != MPI_PROC_NULL)
        MPI_Irecv(memory_.in[f], bytes(elements(all[f])), MPI_BYTE, all[f].peer, face_tag, comm_, &requests[f]);
    for (std::size_t f = 0; f < all.size(); ++f)
      if (all[f].peer != MPI_PROC_NULL) {
        work::run({}, [&] { each_of(all[f].x, all[f].y, [to = memory_.out[f]](double& u) mutable { *to++ = u; }); });
        MPI_Isend(memory_.out[f], bytes(elements(all[f])), MPI_BYTE, all[f].peer, face_tag, comm_, &requests[4 + f]);
      }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (std::size_t f = 0; f < all.size(); ++f)
      if (all[f].peer != MPI_PROC_NULL)
        work::run({}, [&] {
          each_of(all[f].beyond_x, all[f].beyond_y, [from = memory_.in[f]](double& u) mutable { u = *from++; });
        });
  }
  template <class Visit>
  void each_of(Range x, Range y, Visit visit) {
    for (std::int64_t k = 1; k <= part_.planes(); ++k)
      for (std::int64_t m = 0; m < components; ++m)
        for (std::int64_t j = y.begin; j < y.end; ++j)
          for (std::int64_t i = x.begin; i < x.end; ++i) visit(plane(k)[m * size_ + shape_.at(i, j)]);
  }

  static int bytes(std::int64_t elements) {
    return static_cast<int>(elements * static_cast<std::int64_t>(sizeof(double)));
  }
  static constexpr int edge_tag = 1, face_tag = 2;

  MPI_Comm comm_;
  Part part_;
  double step_;
  Memory memory_;
  Diagonals shape_;
  std::int64_t size_, plane_;  // elements per component of a plane, and per plane
  double *state_, *rest_, *forcing_, *before_, *beside_;
  Edge edge_x_, edge_y_;
  RightHandSide right_;
  Phases phases_{phase_names()};
};

}  // namespace kiviat::npb::ssor
