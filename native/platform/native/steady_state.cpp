#include "platform/steady_state.hpp"

namespace kiviat {

Alike::Alike(MPI_Comm comm, std::int64_t passes, std::int64_t, std::int64_t)
    : comm_(comm), passes_(passes), made_(passes) {}

void Alike::watch() {}

double Alike::leave_out() { return 0; }

std::string Alike::words() const { return ""; }

}  // namespace kiviat
