#include "platform/steady_state.hpp"

namespace kiviat {

SteadyState::SteadyState(MPI_Comm comm, std::int64_t passes, std::int64_t, std::int64_t)
    : comm_(comm), passes_(passes), made_(passes) {}

void SteadyState::watch() {}

double SteadyState::account_for_skipped() { return 0; }

std::string SteadyState::words() const { return ""; }

}  // namespace kiviat
