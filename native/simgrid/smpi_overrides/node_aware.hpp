// Node-aware collectives as in MPICH since 1.1: barriers, commutative reductions, and short and medium broadcasts run
// within nodes and among their leaders (first ranks). SMPI's own node-aware algorithms treat a host as a node, but here
// a host is a core. Thresholds and order of steps follow MPICH 4.0.2 with device ch4
// (src/mpid/ch4/src/ch4_coll_impl.h); 3.x differs for reductions of more than 2048 bytes, which go to the root's node
// as short ones do. Each step uses the selector's algorithm on the ranks of a node or on the leaders, except that
// allreduce follows MPICH 4, whose rule SMPI's selector lacks. Within a node MPICH uses shared memory; here ranks send
// messages, unless the machine gives its costs (shared_memory.hpp).
#pragma once

namespace kiviat::sim {

// Installs the collectives for the whole simulation, with the allreduce of this version of MPICH (3: that of SMPI's
// selector). To be called while the platform is loaded.
void make_collectives_node_aware(int version);

}  // namespace kiviat::sim
