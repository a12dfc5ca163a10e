// Location of this process, and traffic of its node's network interfaces. Needs no MPI.
#pragma once

#include <cstdint>
#include <string>

namespace kiviat::prof {

struct Location {
  // Host name, and host name with IPC namespace, which distinguishes emulated nodes on one host; `node` is a hash of
  // `node_name`.
  std::string host, node_name;
  std::uint64_t node;
  std::string cpus;
  // Socket on which this process may run; -1 if there are several, or it is unknown.
  std::int64_t socket;
  // Number of sockets of the node.
  int sockets;
};

Location location();
std::string program();
// Reads the bytes sent and received by all interfaces of this network namespace except loopback, since boot. Returns
// false if they cannot be read.
bool read_interfaces(std::uint64_t& sent, std::uint64_t& received);

}  // namespace kiviat::prof
