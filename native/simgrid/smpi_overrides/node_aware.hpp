// Collectives as MPICH from 1.1 on makes them where several ranks share a node: barriers, reductions that commute, and
// short and medium broadcasts first within nodes and then between their first ranks, or the other way about. SMPI has
// such algorithms too, but its nodes are hosts, and ours are cores. Sizes and order of steps are those of MPICH 4.0.2
// with the device ch4 (src/mpid/ch4/src/ch4_coll_impl.h); 3.x differs in reductions of more than 2048 bytes, which go
// to the root's node as short ones do. Each step is the selector's algorithm on the ranks of a node, or on one of each;
// but for allreduce MPICH 4 has a rule that SMPI's selector does not know. MPICH's ranks of a node exchange data in
// memory that they share; here they send messages.
#pragma once

namespace kiviat::sim {

// From the beginning of the simulation on.
void make_collectives_node_aware();

}  // namespace kiviat::sim
