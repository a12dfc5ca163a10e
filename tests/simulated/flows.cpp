// Ranks that send, access memory and compute at the same moment, as the arguments request. Each prints how long its
// acts took, and for how long messages of its own were in flight: between nodes, and within its node.
//   send FROM TO BYTES, memory RANK BYTES, compute RANK FLOPS
//   wait RANK SECONDS: delays the rank's following acts until this long after the start
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <simgrid/s4u/Actor.hpp>
#include <string>
#include <vector>

#include "platform/clock.hpp"
#include "platform/compute.hpp"
#include "platform/rank_group.hpp"
#include "simgrid/sent.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const kiviat::RankGroup all(MPI_COMM_WORLD);
  std::vector<char> buffer(1 << 26);
  auto& sent = *simgrid::s4u::this_actor::get_host()->get_data<kiviat::Sent>();
  sent.counted = true;
  for (int i = 1; i < argc;) {
    std::vector<MPI_Request> requests;
    kiviat::Cost cost;
    all.barrier();
    const double start_s = kiviat::clock::now();
    const double network_s = sent.network.until(start_s), node_s = sent.node.until(start_s);
    double took_s = 0;
    // All acts up to the next "then" belong to one round.
    for (; i < argc && std::string(argv[i]) != "then";) {
      const std::string act = argv[i];
      if (act == "send") {
        const int from = std::atoi(argv[i + 1]), to = std::atoi(argv[i + 2]), bytes = std::atoi(argv[i + 3]);
        if (rank == from) MPI_Isend(buffer.data(), bytes, MPI_BYTE, to, i, MPI_COMM_WORLD, &requests.emplace_back());
        if (rank == to)
          MPI_Irecv(buffer.data() + (1 << 25), bytes, MPI_BYTE, from, i, MPI_COMM_WORLD, &requests.emplace_back());
        i += 4;
      } else if (act == "wait") {
        if (rank == std::atoi(argv[i + 1])) kiviat::clock::wait_until(start_s + std::atof(argv[i + 2]));
        i += 3;
      } else {
        if (rank == std::atoi(argv[i + 1])) (act == "memory" ? cost.bytes : cost.flops) += std::atof(argv[i + 2]);
        i += 3;
      }
    }
    if (cost.bytes > 0 || cost.flops > 0) kiviat::work::run(cost, [] {});
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    took_s = kiviat::clock::now() - start_s;
    all.barrier();
    const double end_s = kiviat::clock::now(), far_s = sent.network.until(end_s) - network_s,
                 near_s = sent.node.until(end_s) - node_s;
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int one = 0; one < ranks; ++one, all.barrier())
      if (one == rank) std::printf("%.12g,%.12g,%.12g ", took_s, far_s, near_s), std::fflush(stdout);
    if (rank == 0) std::printf("\n"), std::fflush(stdout);
    all.barrier();
    ++i;
  }
  MPI_Finalize();
  return 0;
}
