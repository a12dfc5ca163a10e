#include "measure/session.hpp"

#include <map>
#include <string>
#include <vector>

#include "platform/vendor.hpp"
#include "support/json.hpp"

namespace kiviat {

Session::Session(MPI_Comm comm, unsigned long domain, GlobalClock::Reading local)
    : world(comm),
      clock_cost_s(clock::cost()),
      global_clock(comm, domain, local),
      group(comm),
      processors_per_rank(host::processors_per_rank(comm)),
      oversubscribed(processors_per_rank < 1),
      cache_bytes(host::last_level_cache_bytes()),
      memory_share_bytes(host::memory_share_bytes(comm)) {
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  clock_cost_s =
      group.maximum(clock_cost_s);  // all ranks must use the same value, because it determines the length of batches
}

std::string Session::describe() const {
  host::Place mine = host::place();
  std::vector<host::Place> places(rank == 0 ? size : 0);
  group.gather(&mine, sizeof mine, places.data());

  int length;
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  MPI_Get_library_version(library, &length);
  int major, minor;
  MPI_Get_version(&major, &minor);
  int index = 0;
  std::map<std::string, int> nodes;  // numbered in order of appearance
  return json::Object()
      .field("event", "launch")
      .field("library", library)
      .field("mpi", vendor().name)
      .field("mpi_version", vendor().version)
      .field("standard", std::to_string(major) + "." + std::to_string(minor))
      .field("world", size)
      .field("compiler", KIVIAT_COMPILER)
      .field("flags", KIVIAT_FLAGS)
      .field("clock", clock::name())
      .field("clock_cost_s", clock_cost_s)
      .raw("ranks",
           json::array(places,
                       [&](const host::Place& place) {
                         return json::Object()
                             .field("rank", index++)
                             .field("host", place.host)
                             .field("node", nodes.try_emplace(place.node, static_cast<int>(nodes.size())).first->second)
                             .field("pid", place.pid)
                             .field("cpus", place.cpus)
                             .field("sockets", place.sockets)
                             .text();
                       }))
      .field("oversubscribed", oversubscribed)
      .text();
}

}  // namespace kiviat
