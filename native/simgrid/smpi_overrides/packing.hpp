// Time of copies inside collectives, which SMPI does not charge.
#pragma once

namespace kiviat::sim {

// Charges Bruck's alltoall, whichever selector chooses it, for each block that a rank packs into a message. To be
// called while the platform is loaded.
void charge_packing(double block_s, double s_per_byte);

}  // namespace kiviat::sim
