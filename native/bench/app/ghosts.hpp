// Ghosts are a rank's copies of neighbours' atoms; atoms that leave a subdomain migrate to another rank. A pair of
// atoms on two ranks belongs to the rank whose atom is the lower one along z; if both ranks have the same layer along
// z, along y; else along x. So a rank needs ghosts from half of the ranks around it only (half-shell method: K. Bowers,
// R. Dror, D. Shaw, "Overview of neutral territory methods for the parallel evaluation of pairwise particle
// interactions", J. Phys. Conf. Ser. 16, 2005). Ghosts are exchanged along one side after the other, z first (S.
// Plimpton, "Fast parallel algorithms for short-range molecular dynamics", J. Comput. Phys. 117, 1995, section 5): all
// atoms near the lower end of a side are sent down, and ghosts of earlier sides near the upper end are sent up. Forces
// on ghosts return the same way.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "bench/app/atoms.hpp"
#include "bench/app/subdomains.hpp"
#include "measure/trial.hpp"
#include "platform/compute.hpp"
#include "platform/node.hpp"

namespace kiviat::app {

class Ghosts {
 public:
  // `reach`: largest distance of a ghost from the subdomain.
  Ghosts(MPI_Comm comm, const Subdomain& domain, double reach)
      : comm_(comm), domain_(domain), reach_(reach), computed_(host::carries_payload()) {
    MPI_Comm_rank(comm, &rank_);
    for (const std::size_t side : order) {
      const int hops = static_cast<int>(
          std::ceil(reach_ / domain_.thickness(side)));  // more than one if a subdomain is thinner than `reach`
      for (int hop = 0; hop < hops; ++hop) {
        std::vector<Swap>& round = rounds_.emplace_back();
        for (const int step : {-1, 1}) {
          if (step > 0 && side == order[0]) continue;  // no ghosts go up along the first side
          const int to = domain_.neighbour(side, step), from = domain_.neighbour(side, -step);
          round.push_back({side, step, hop, to, from, domain_.shift(side, step)});
        }
      }
    }
  }

  std::size_t bytes() const {
    std::size_t sum = leaving_[0].bytes() + leaving_[1].bytes() + arriving_.bytes();
    for (const auto& round : rounds_)
      for (const Swap& swap : round) sum += swap.who.bytes() + swap.sent.bytes() + swap.received.bytes();
    return sum;
  }

  // Determines the ghosts and exchanges their positions; `atoms` must have no ghosts yet. All functions from here on
  // are collective.
  void find(Atoms& atoms) {
    const std::vector<Swap>* previous = nullptr;
    std::int64_t before = atoms.own;
    for (std::vector<Swap>& round : rounds_) {
      if (round[0].hop == 0) before = atoms.all;
      for (std::size_t i = 0; i < round.size(); ++i) {
        Swap& swap = round[i];
        if (swap.hop > 0)
          choose(swap, atoms, (*previous)[i].first, (*previous)[i].first + (*previous)[i].count);
        else
          choose(swap, atoms, swap.step < 0 ? 0 : atoms.own, before);
        pack(swap, atoms);
      }
      for (Swap& swap : round) start(swap.sent, swap.sent_count, swap.to, swap.step);
      for (Swap& swap : round) {
        swap.first = atoms.all;
        swap.count = swap.to == rank_ ? swap.sent_count : receive_any(swap.received, swap.from, swap.step);
        swap.received.make_room(swap.count);
        atoms.all += swap.count;
      }
      finish();
      atoms.make_room(atoms.all);
      for (const Swap& swap : round) unpack(swap, atoms);
      previous = &round;
    }
  }

  // Sends the current positions of the ghosts.
  void update(Atoms& atoms) {
    for (std::vector<Swap>& round : rounds_) {
      for (Swap& swap : round) receive(swap.received, swap.count, swap.from, swap.step);
      for (Swap& swap : round) {
        pack(swap, atoms);
        start(swap.sent, swap.sent_count, swap.to, swap.step);
      }
      finish();
      for (const Swap& swap : round) unpack(swap, atoms);
    }
  }

  // Adds the forces on ghosts to the atoms that they copy, and clears them.
  void add_forces(Atoms& atoms) {
    for (auto round = rounds_.rbegin(); round != rounds_.rend(); ++round) {
      for (Swap& swap : *round) receive(swap.sent, swap.sent_count, swap.to, swap.step);
      for (Swap& swap : *round) {
        work::run({.bytes = copied * static_cast<double>(swap.count)}, [&] { take_forces(swap, atoms); });
        start(swap.received, swap.count, swap.from, swap.step);
      }
      finish();
      for (const Swap& swap : *round)
        work::run(
            {.flops = 3 * static_cast<double>(swap.sent_count), .bytes = copied * static_cast<double>(swap.sent_count)},
            [&] { give_forces(swap, atoms); });
    }
  }

  // Moves atoms that have left this rank's subdomain to a neighbour, at most one rank away along each side, and drops
  // all ghosts. Without payload, the number of migrating atoms is the expected flux of a gas through a plane in `time`,
  // with mean speed sqrt(temperature / (2 pi)) in one direction.
  void move_on(Atoms& atoms, double time, double temperature) {
    atoms.all = atoms.own;
    for (const std::size_t side : order) {
      std::array<std::int64_t, 2> leaving;
      const double way = time * std::sqrt(temperature / (2 * std::numbers::pi));
      leaving.fill(computed_ ? 0 : std::llround(static_cast<double>(atoms.own) * way / domain_.thickness(side)));
      work::run({.bytes = 8 * static_cast<double>(atoms.own)}, [&] { leaving = take_leaving(atoms, side); });
      if (domain_.grid.ranks[side] == 1) continue;
      for (const std::size_t up : {0, 1}) leaving_[up].make_room(leaving[up]);
      for (const std::size_t up : {0, 1})
        start(leaving_[up], leaving[up], domain_.neighbour(side, up ? 1 : -1), up ? 1 : -1);
      for (const std::size_t up : {0, 1}) {
        const std::int64_t count = receive_any(arriving_, domain_.neighbour(side, up ? -1 : 1), up ? 1 : -1);
        atoms.make_room(atoms.own + count);
        work::run({.bytes = 2 * copied * static_cast<double>(count)}, [&] {
          for (std::int64_t k = 0; k < count; ++k) {
            const auto& [position, velocity] = arriving_[k];
            const std::int64_t at = atoms.own + k;
            atoms.position[at] = {position[0], position[1], position[2]};
            atoms.velocity[at] = {velocity[0], velocity[1], velocity[2]};
          }
        });
        atoms.own += computed_ ? count : count - leaving[up];
      }
      finish();
    }
    atoms.all = atoms.own;
  }

 private:
  static constexpr std::array<std::size_t, 3> order = {2, 1, 0};
  static constexpr double copied = 24 + 32 + 32;  // bytes per atom: in a message, and read and written in memory

  struct Moving {
    Vector position, velocity;
  };
  // A message: positions are sent to `to` and received from `from`; forces go in the opposite direction.
  struct Swap {
    std::size_t side;
    int step, hop, to, from;
    double shift;                                       // added to sent positions, for the periodic box
    std::int64_t sent_count = 0, first = 0, count = 0;  // received ghosts have indices `first` to `first` + count - 1
    Grown<std::int32_t> who = {};                       // indices of the sent atoms
    Grown<Vector> sent = {}, received = {};
  };

  // Selects those of atoms begin .. end - 1 that are near the end of the side towards which they are sent.
  void choose(Swap& swap, const Atoms& atoms, std::int64_t begin, std::int64_t end) {
    const double thickness = domain_.thickness(swap.side), depth = std::min(reach_ - swap.hop * thickness, thickness);
    const double candidates = static_cast<double>(end - begin);
    if (!computed_) swap.sent_count = std::llround(candidates * depth / thickness);
    work::run({.bytes = 8 * candidates}, [&] {
      const double low = domain_.low[swap.side] + reach_, high = domain_.high[swap.side] - reach_;
      swap.sent_count = 0;
      for (std::int64_t i = begin; i < end; ++i) {
        const double at = atoms.position[i][swap.side];
        if (!(swap.step < 0 ? at < low : at >= high)) continue;
        const std::int64_t next = swap.sent_count++;
        swap.who.make_room(next + 1);
        swap.who[next] = static_cast<std::int32_t>(i);
      }
    });
    swap.sent.make_room(swap.sent_count);
  }
  void pack(const Swap& swap, const Atoms& atoms) {
    work::run({.bytes = copied * static_cast<double>(swap.sent_count)}, [&] {
      Vector shift{};
      shift[swap.side] = swap.shift;
      for (std::int64_t k = 0; k < swap.sent_count; ++k) {
        const Four& at = atoms.position[swap.who[k]];
        swap.sent[k] = {at.x + shift[0], at.y + shift[1], at.z + shift[2]};
      }
    });
  }
  void unpack(const Swap& swap, const Atoms& atoms) {
    work::run({.bytes = copied * static_cast<double>(swap.count)}, [&] {
      const Vector* const in = (swap.to == rank_ ? swap.sent : swap.received).data();
      Four* const ghost = atoms.position.data() + swap.first;
      for (std::int64_t k = 0; k < swap.count; ++k) ghost[k] = {in[k][0], in[k][1], in[k][2]};
    });
  }
  void take_forces(const Swap& swap, const Atoms& atoms) {
    Four* const ghost = atoms.force.data() + swap.first;
    for (std::int64_t k = 0; k < swap.count; ++k) {
      swap.received[k] = {ghost[k].x, ghost[k].y, ghost[k].z};
      ghost[k] = {};
    }
  }
  void give_forces(const Swap& swap, const Atoms& atoms) {
    const Vector* const in = (swap.to == rank_ ? swap.received : swap.sent).data();
    for (std::int64_t k = 0; k < swap.sent_count; ++k) {
      Four& force = atoms.force[swap.who[k]];
      force.x += in[k][0], force.y += in[k][1], force.z += in[k][2];
    }
  }

  // Removes the atoms that have left at the lower and the upper end of a side, and returns their two numbers. The last
  // atoms fill the gaps.
  std::array<std::int64_t, 2> take_leaving(Atoms& atoms, std::size_t side) {
    std::array<std::int64_t, 2> leaving{};
    for (std::int64_t i = 0; i < atoms.own;) {
      Four &position = atoms.position[i], &velocity = atoms.velocity[i];
      const double was = position[side], at = domain_.wrapped(side, was);
      position[side] = at;
      if (domain_.grid.ranks[side] == 1 || !(at < domain_.low[side] || at >= domain_.high[side])) {
        ++i;
        continue;
      }
      const std::size_t up = was >= domain_.high[side] ? 1 : 0;
      const std::int64_t place = leaving[up]++;
      leaving_[up].make_room(place + 1);
      leaving_[up][place] = {{position.x, position.y, position.z}, {velocity.x, velocity.y, velocity.z}};
      --atoms.own;
      position = atoms.position[atoms.own], velocity = atoms.velocity[atoms.own];
    }
    return leaving;
  }

  // --- messages, as bytes, so that a profiler can tell them from those of the harness; none to this rank itself ---

  static int tag(int step) { return step < 0 ? 0 : 1; }
  template <class T>
  void start(const Grown<T>& from, std::int64_t count, int to, int step) {
    if (to == rank_) return;
    const int bytes = Trial::fitting(count * static_cast<std::int64_t>(sizeof(T)), "B of a message");
    MPI_Isend(from.data(), bytes, MPI_BYTE, to, tag(step), comm_, &requests_.emplace_back());
  }
  template <class T>
  void receive(const Grown<T>& into, std::int64_t count, int from, int step) {
    if (from == rank_) return;
    const int bytes = static_cast<int>(count * static_cast<std::int64_t>(sizeof(T)));
    MPI_Irecv(into.data(), bytes, MPI_BYTE, from, tag(step), comm_, &requests_.emplace_back());
  }
  // Exchanges messages whose length the receiver does not know.
  template <class T>
  std::int64_t receive_any(Grown<T>& into, int from, int step) {
    MPI_Status status;
    int bytes;
    MPI_Probe(from, tag(step), comm_, &status);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    const auto count = bytes / static_cast<std::int64_t>(sizeof(T));
    into.make_room(count);
    MPI_Recv(into.data(), bytes, MPI_BYTE, from, tag(step), comm_, MPI_STATUS_IGNORE);
    return count;
  }
  void finish() {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    requests_.clear();
  }

  MPI_Comm comm_;
  Subdomain domain_;
  double reach_;
  bool computed_;
  int rank_ = 0;
  std::vector<std::vector<Swap>> rounds_;
  std::array<Grown<Moving>, 2> leaving_;
  Grown<Moving> arriving_;
  std::vector<MPI_Request> requests_;
};

}  // namespace kiviat::app
