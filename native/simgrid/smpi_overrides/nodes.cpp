#include "simgrid/smpi_overrides/nodes.hpp"

#include <map>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Host.hpp>
#include <string>
#include <utility>

namespace {

namespace s4u = simgrid::s4u;
using kiviat::sim::Nodes;
using simgrid::smpi::Comm;

Nodes nodes_of_ranks(Comm& comm) {
  Nodes nodes;
  std::map<std::string, int> numbers;
  std::vector<std::vector<int>> on;
  std::vector<int> all;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const char* name = s4u::Actor::by_pid(comm.group()->actor(rank))->get_host()->get_property("node");
    const auto [found, first] = numbers.emplace(name, static_cast<int>(on.size()));
    if (first) on.emplace_back();
    auto& here = on[static_cast<std::size_t>(found->second)];
    nodes.node_of.push_back(found->second), nodes.local_of.push_back(static_cast<int>(here.size()));
    here.push_back(rank), all.push_back(rank);
  }
  nodes.all = kiviat::sim::part(comm, all);
  if (on.size() == 1) nodes.on.push_back(nodes.all);
  if (on.size() == 1 || on.size() == nodes.node_of.size()) return nodes;
  std::vector<int> firsts;
  for (const auto& ranks : on) nodes.on.push_back(kiviat::sim::part(comm, ranks)), firsts.push_back(ranks.front());
  nodes.leaders = kiviat::sim::part(comm, firsts);
  return nodes;
}

const Nodes& nodes_of(Comm& comm) {
  static std::map<std::vector<int>, Nodes> known;
  std::vector<int> actors = kiviat::sim::actors_of(comm);
  auto found = known.find(actors);
  if (found == known.end()) found = known.emplace(std::move(actors), nodes_of_ranks(comm)).first;
  return found->second;
}

}  // namespace

kiviat::sim::View kiviat::sim::view(Comm& comm) {
  if (comm.is_smp_comm()) return {&comm, nullptr, 0, 0, 0};
  const Nodes& nodes = nodes_of(comm);
  if (!nodes.leaders) return {nodes.all, nullptr, 0, 0, 0};
  const auto rank = static_cast<std::size_t>(comm.rank());
  return {nodes.all, &nodes, comm.rank(), nodes.node_of[rank], nodes.local_of[rank]};
}

bool kiviat::sim::on_one_node(Comm& comm) { return nodes_of(comm).on.size() == 1; }
