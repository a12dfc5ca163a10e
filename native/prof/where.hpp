// Where this process runs, and what its node's network has carried. Without MPI.
#pragma once

#include <cstdint>
#include <string>

namespace kiviat::prof {

struct Where {
  // Host and namespace of shared memory: nodes, also emulated ones on one host.
  std::string host, node_name;
  std::uint64_t node;
  std::string cpus;
  // That of all processors it may run on; -1 if these are on several, or nobody knows.
  std::int64_t socket;
  // Of the node.
  int sockets;
};

Where where();
std::string program();
// Bytes of all interfaces of this network namespace but loopback; false where they cannot be read.
bool read_interfaces(std::uint64_t& sent, std::uint64_t& received);

}  // namespace kiviat::prof
