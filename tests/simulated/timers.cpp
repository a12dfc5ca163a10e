// Replaces the timers of the NAS programs' reference implementation: ranks start together, in no time (ideal.cpp), and
// when all have stopped, rank 0 prints time and messages of the last timer with all digits:
//
//     timed SECONDS                  time of the slowest rank
//     sent FROM TO MESSAGES BYTES    messages while the timer ran, including those of collectives
//
// Also replaces LU's exchange of faces by Kiviat's, since the definition leaves it open: to all neighbours at once,
// without the faces of the cube. This library is not privatized: static variables are shared by all ranks.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <utility>
#include <vector>

#include "simgrid/sent.hpp"

extern "C" int ideal_barrier(MPI_Comm comm);

namespace {

using simgrid::s4u::Host;
using Sent = std::vector<kiviat::Sent::Total>;

constexpr int most_timers = 64;
std::vector<Host*> places;
std::vector<std::vector<double>> elapsed_s, started_s;  // [rank][timer]
std::array<Sent, most_timers> before;                   // one per timer, because timers may be nested
std::array<double, most_timers> slowest_s;

std::pair<int, int> rank_of_all() {
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return {rank, ranks};
}

Sent sent() {
  Sent all;
  for (const Host* from : places)
    for (const Host* to : places) {
      const auto& by_place = from->get_data<kiviat::Sent>()->to;
      const auto found = by_place.find(to);
      all.push_back(found == by_place.end() ? kiviat::Sent::Total{} : found->second);
    }
  return all;
}

void start(int timer) {
  const auto [rank, ranks] = rank_of_all();
  const auto size = static_cast<std::size_t>(ranks);
  places.resize(size), elapsed_s.resize(size, std::vector<double>(most_timers)),
      started_s.resize(size, std::vector<double>(most_timers));
  places[rank] = simgrid::s4u::this_actor::get_host();
  places[rank]->get_data<kiviat::Sent>()->counted = true;
  ideal_barrier(MPI_COMM_WORLD);
  if (rank == 0) before[timer] = sent(), slowest_s[timer] = 0;
  ideal_barrier(MPI_COMM_WORLD);
  started_s[rank][timer] = simgrid::s4u::Engine::get_clock();
}

void stop(int timer) {
  const auto [rank, ranks] = rank_of_all();
  const double taken_s = simgrid::s4u::Engine::get_clock() - started_s[rank][timer];
  elapsed_s[rank][timer] += taken_s, slowest_s[timer] = std::max(slowest_s[timer], taken_s);
  ideal_barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("timed %.17g\n", slowest_s[timer]);
    const Sent now = sent();
    for (int from = 0; from < ranks; ++from)
      for (int to = 0; to < ranks; ++to) {
        const std::size_t pair = static_cast<std::size_t>(from * ranks + to);
        std::printf("sent %d %d %.0f %.0f\n", from, to, now[pair].messages - before[timer][pair].messages,
                    now[pair].bytes - before[timer][pair].bytes);
      }
    std::fflush(stdout);
  }
  ideal_barrier(MPI_COMM_WORLD);
}

void clear(int timer) {
  const auto [rank, ranks] = rank_of_all();
  if (std::cmp_less(rank, elapsed_s.size())) elapsed_s[rank][timer] = 0;
}

double read(int timer) { return elapsed_s[rank_of_all().first][timer]; }

// LU's exchange of the state of points, two deep, with up to four neighbours. KIVIAT_POINTS has the number of points
// along each axis.
void faces() {
  const auto [rank, ranks] = rank_of_all();
  const int n = std::atoi(std::getenv("KIVIAT_POINTS"));
  int down = 1;
  for (int divisor = 2; divisor * divisor <= ranks; ++divisor)
    if (ranks % divisor == 0) down = divisor;
  const int across = ranks / down, x = rank % across, y = rank / across;
  const auto bytes = [n](int of, int parts) { return 8 * 5 * 2 * (n * (of + 1) / parts - n * of / parts) * (n - 2); };
  struct Face {
    bool exists;
    int peer, bytes;
  };
  const Face all[] = {{x > 0, rank - 1, bytes(y, down)},
                      {x + 1 < across, rank + 1, bytes(y, down)},
                      {y > 0, rank - across, bytes(x, across)},
                      {y + 1 < down, rank + across, bytes(x, across)}};
  static std::vector<char> memory(1 << 24);
  std::vector<MPI_Request> requests;
  for (const Face& face : all)
    if (face.exists)
      MPI_Irecv(memory.data(), face.bytes, MPI_BYTE, face.peer, 99, MPI_COMM_WORLD, &requests.emplace_back());
  for (const Face& face : all)
    if (face.exists)
      MPI_Isend(memory.data(), face.bytes, MPI_BYTE, face.peer, 99, MPI_COMM_WORLD, &requests.emplace_back());
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

}  // namespace

extern "C" {

// Interface for C, and below for Fortran.
void timer_clear(int timer) { clear(timer); }
void timer_start(int timer) { start(timer); }
void timer_stop(int timer) { stop(timer); }
double timer_read(int timer) { return read(timer); }
int check_timer_flag() { return 0; }

void timer_clear_(const int* timer) { clear(*timer); }
void timer_start_(const int* timer) { start(*timer); }
void timer_stop_(const int* timer) { stop(*timer); }
double timer_read_(const int* timer) { return read(*timer); }
void check_timer_flag_(int* asked) { *asked = 0; }

// Called twice for each right-hand side, once for each axis.
void exchange_3_(void*, const int* axis) {
  if (*axis == 0) faces();
}
}
