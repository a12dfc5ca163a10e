// Location of this process, and traffic of its node's network. Works without MPI.
#pragma once

#include <cstdint>
#include <string>

namespace kiviat::prof {

struct Where {
  // Host and namespace of shared memory: nodes, also emulated ones on one host.
  std::string host, node_name;
  std::uint64_t node;
  std::string cpus;
  // Socket of all processors on which this process may run; -1 if there are several, or it is unknown.
  std::int64_t socket;
  // Of the node.
  int sockets;
};

Where where();
std::string program();
// Bytes of all interfaces of this network namespace but loopback; false where they cannot be read.
bool read_interfaces(std::uint64_t& sent, std::uint64_t& received);

}  // namespace kiviat::prof
